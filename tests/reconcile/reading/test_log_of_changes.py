"""A log of changes that does not tell of the tables as they are is not believed, and it does not grow for ever."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa

from consumer.config import Connection
from consumer.facts.house import House
from reconcile.reading import memories
from reconcile.reading.large_tables import LARGE
from reconcile.runs import run
from tests.reconcile.remembering import AS_OF, compare, remember

if TYPE_CHECKING:
    from tests.reconcile.conftest import World

EVERYTHING = sorted(LARGE)


@pytest.fixture
def write(house: House, world: "World") -> Callable[[str], object]:
    """Writes SQL by hand; there is a charge and a payment."""
    world.charge("ch_1", 90)
    world.payment("pi_1", 1000)

    def by_hand(statement: str) -> object:
        with house.store.connection() as database:
            answer = database.execute(sa.text(statement))
            return answer.scalar() if answer.returns_rows else None

    return by_hand


@pytest.mark.parametrize("is_before", [True, False])
def test_a_table_made_anew_under_its_name_is_read(
    house: House, main: Connection, write: Callable[[str], object], monkeypatch: pytest.MonkeyPatch, *, is_before: bool
) -> None:
    """Triggers stay with the table that was given another name; the one in its place is watched by nobody."""
    if is_before:
        remember(house, main)
    write("ALTER TABLE charge RENAME TO charge_before")
    write("CREATE TABLE charge AS SELECT * FROM charge_before")
    run(house, main, as_of=AS_OF)
    write("UPDATE charge SET amount = 91")
    assert sorted(compare(house, main, monkeypatch)) == EVERYTHING


@pytest.mark.parametrize("database_kind", ["sqlite"])
def test_a_log_that_counts_from_one_again_is_not_believed(
    house: House, main: Connection, write: Callable[[str], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers below what was seen say nothing of what came after it."""
    remember(house, main)
    write("DELETE FROM sqlite_sequence WHERE name = 'fact_change'")
    write("UPDATE charge SET amount = 91")
    assert sorted(compare(house, main, monkeypatch)) == EVERYTHING
    remember(house, main)
    assert compare(house, main, monkeypatch) == []


def test_the_log_of_few_rows_that_alter_often_goes(
    house: House, main: Connection, write: Callable[[str], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two rows never are many, however often they alter: the log goes by its own length."""
    monkeypatch.setattr("reconcile.reading.recall._FEW", 2)
    remember(house, main)
    for length, kept in ((20, 20), (1, 0)):
        for number in range(length):
            write(f"UPDATE charge SET amount = {length + number}")  # noqa: S608 - numbers
        run(house, main, as_of=AS_OF)
        assert write("SELECT count(*) FROM fact_change") == kept
    assert compare(house, main, monkeypatch) == []


@pytest.mark.usefixtures("write")
def test_replaced_tables_that_cannot_be_removed_fail_no_run(
    house: House, main: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process may be removing them too: what the database names from here on stays, and is believed."""

    def fail(*_given: object, **_named: object) -> None:
        raise FileNotFoundError(2, "No such file or directory")

    with monkeypatch.context() as patched:
        patched.setattr(memories, "sweep", fail)
        assert run(house, main, as_of=AS_OF).is_new
    assert compare(house, main, monkeypatch) == []
