"""Up to when a stream is complete: windows closed without a break from the first that was asked for."""

from datetime import UTC, datetime, timedelta

import pytest

from consumer.facts.completeness import complete_until
from consumer.facts.store import Store
from consumer.facts.tables.sync import Window

NOON = datetime(2026, 10, 8, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)


def keep(store: Store, since: datetime | None, until: datetime, state: str) -> None:
    with store.transaction() as session:
        window = Window(connection="main", stream="events", since=since, until=until, state=state, opened_at=NOON)
        session.add(window)


@pytest.mark.parametrize(
    ("since", "until", "state", "expected"),
    [
        (NOON, NOON + HOUR, "open", NOON),
        (NOON - HOUR, NOON + HOUR, "open", NOON),
        (NOON - 3 * HOUR, NOON - 2 * HOUR, "failed", NOON - 3 * HOUR),
        (NOON + HOUR, NOON + 2 * HOUR, "closed", NOON),
        (NOON, NOON + HOUR, "closed", NOON + HOUR),
        (None, NOON - 3 * HOUR, "open", NOON),
        (None, NOON - 3 * HOUR, "failed", None),
    ],
    ids=[
        "one still open",
        "read again",
        "a gap inside",
        "one beyond a hole",
        "the next one",
        "read anew",
        "a gap from the beginning",
    ],
)
def test_complete_means_closed_without_a_break(
    store: Store, since: datetime | None, until: datetime, state: str, expected: datetime | None
) -> None:
    """The log is whole up to the first window that failed, or to a hole between those that were read to their end."""
    keep(store, None, NOON, "closed")
    keep(store, since, until, state)
    with store.reading() as session:
        assert complete_until(session, "main", "events") == expected


def test_what_was_never_read_is_not_complete(store: Store) -> None:
    """Nothing is claimed of another stream or another connection."""
    keep(store, None, NOON, "closed")
    with store.reading() as session:
        assert complete_until(session, "main", "payouts") is None
        assert complete_until(session, "other", "events") is None
