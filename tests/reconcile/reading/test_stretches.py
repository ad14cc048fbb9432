"""Tables are read a stretch of rows at a time, and parsed beside the reading."""

from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa

from consumer.facts.installation import Installation
from consumer.facts.settings import Connection
from reconcile.reading import queries
from reconcile.reading.frames import read_inputs

pytestmark = pytest.mark.both_databases

if TYPE_CHECKING:
    from tests.reconcile.conftest import World

AS_OF = date(2026, 9, 11)
NOW = datetime(2026, 9, 11, 15, tzinfo=UTC)


def test_rows_of_every_stretch_are_read_once(
    world: "World", installation: Installation, main: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows at the edges of stretches, after stretches without a row, and before the last one are all there."""
    monkeypatch.setattr(queries, "STRETCH", 2)
    for number in range(1, 13):
        world.payment(f"pi_{number:02}", number)
    world.payout("po_1", 90, *(("payment_intent", f"pi_{number:02}", number) for number in range(1, 13)))
    with installation.store.connection() as database:
        gone = ", ".join(f"'pi_{number:02}'" for number in range(4, 10))
        for table, column in (("payout_item", "resource_id"), ("payment_intent", "id")):
            database.execute(sa.text(f"DELETE FROM {table} WHERE {column} IN ({gone})"))  # noqa: S608 - made up here
    with installation.store.reading() as session:
        items = read_inputs(session, main, installation.settings, as_of=AS_OF, now=NOW).items
    assert items["resource_id"].tolist() == ["pi_01", "pi_02", "pi_03", "pi_10", "pi_11", "pi_12"]
    assert items["amount"].tolist() == [1, 2, 3, 10, 11, 12]


def test_a_piece_that_cannot_be_parsed_stops_the_reading(
    world: "World", installation: Installation, main: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What fails in the other thread is not lost: no frame lacks rows."""

    def refuse(*_: object) -> None:
        raise ValueError("a piece that is no CSV")

    world.payment("pi_1", 100)
    monkeypatch.setattr(queries, "parse", refuse)
    with installation.store.reading() as session, pytest.raises(ValueError, match="no CSV"):
        read_inputs(session, main, installation.settings, as_of=AS_OF, now=NOW)
