"""The event log read in windows, against a list server that misbehaves as asked."""

from datetime import UTC, datetime

from sqlmodel import select

from consumer.facts.house import House
from consumer.facts.tables.inbox import Event
from consumer.facts.terminal import Exit
from consumer.provider.client import Provider
from consumer.sync.backfill import read_log
from consumer.sync.windows import complete_until, unclosed_windows


def stored(house: House) -> set[str]:
    with house.store.reading() as session:
        return set(session.exec(select(Event.id)))


def everything(count: int) -> set[str]:
    return {f"evt_{number}" for number in range(count)}


def test_a_first_run_reads_back_to_the_end_of_the_log(house: House, provider: Provider) -> None:
    """A first run from an empty database keeps every event and is complete up to the settled moment."""
    outcome = read_log(house, provider)
    assert outcome.status is Exit.DONE, outcome.lines
    assert stored(house) == everything(40)
    with house.store.reading() as session:
        assert complete_until(session, "main", "events") == datetime(2026, 10, 1, 2, 59, tzinfo=UTC)
        assert unclosed_windows(session) == []
