"""Two quiet days through the whole product, once delivered by webhook and once lost and read back: the same rows."""

from collections.abc import Callable

import pytest
from sqlmodel import func, select

import app
from consumer.facts.tables.inbox import Event
from tests.golden import check_golden

pytestmark = pytest.mark.both_databases


def sources() -> dict[str, int]:
    installation = app.open_installation()
    with installation.store.reading() as session:
        counted = session.exec(select(Event.source, func.count()).group_by(Event.source)).all()
    installation.store.close()
    return dict(counted)


@pytest.mark.parametrize(
    ("lost", "by_source"),
    [(0.0, {"webhook": 7, "backfill": 8}), (1.0, {"backfill": 15})],
    ids=["delivered by webhook", "dropped and backfilled"],
)
def test_two_quiet_days_end_in_the_same_rows(
    live_two_days: Callable[[str, float], int],
    cuadre: Callable[..., bytes],
    database_url: str,
    lost: float,
    by_source: dict[str, int],
) -> None:
    """However the events came, the reports are the same bytes, written down here."""
    live_two_days(database_url, lost)

    assert sources() == by_source
    for name in ("payout-summary", "payout-detail", "exceptions"):
        written = cuadre("report", name, "--as-of", "2026-10-02", "--out", "-")
        check_golden(f"journeys/{name}.csv", written)
