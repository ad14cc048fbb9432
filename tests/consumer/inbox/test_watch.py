"""Watching the inbox: lag, what is set aside, unusual silence, and the gauges that show them."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from consumer.facts.installation import Installation
from consumer.facts.store import Store
from consumer.inbox.record import Arrival
from consumer.inbox.watch import InboxGauges, look, silence
from tests.consumer.conftest import record

Deliver = Callable[..., Arrival]
Make = Callable[..., dict[str, Any]]
NOW = datetime(2026, 10, 5, 12, 5, tzinfo=UTC)


def test_what_waits_and_what_is_set_aside_is_counted(store: Store, deliver: Deliver, make_event: Make) -> None:
    """The lag is the age of the oldest event that is not applied; quarantine and conflicts are counted."""
    record(
        store,
        deliver(make_event("evt_1")),
        deliver(make_event("evt_2"), received_at=NOW),
        deliver(make_event("evt_3", mode="live")),
        deliver(make_event("evt_3")),
    )

    with store.reading() as session:
        inbox = look(session, "main", now=NOW)
        other = look(session, "mexico", now=NOW)
    assert (inbox.waiting, inbox.failed, inbox.quarantined, inbox.conflicts) == (2, 0, 1, 1)
    assert inbox.lag(NOW) == timedelta(minutes=5)
    assert (other.waiting, other.lag(NOW)) == (0, timedelta())


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("hours_ago", "source", "expected"),
    [
        (0.5, "webhook", None),
        (3.9, "webhook", None),
        (4.1, "webhook", timedelta(hours=4.1)),
        (4.1, "backfill", timedelta(hours=28)),
    ],
)
def test_silence_is_measured_against_the_same_hour_of_past_weeks(
    store: Store, deliver: Deliver, make_event: Make, hours_ago: float, source: str, expected: timedelta | None
) -> None:
    """Two quiet hours are usual here, so more than four are alarming; what backfill found is no sign of webhooks."""
    last = [deliver(make_event("evt_last", created_at=(NOW - timedelta(hours=hours_ago)).isoformat()), source=source)]
    usual = [NOW - timedelta(weeks=week, hours=2) for week in range(1, 5)] + [NOW - timedelta(hours=28)]
    past = [deliver(make_event(f"evt_{place}", created_at=at.isoformat())) for place, at in enumerate(usual)]
    record(store, *past, *last)

    with store.reading() as session:
        assert silence(session, "main", now=NOW) == expected


def test_without_a_history_no_silence_is_unusual(store: Store, deliver: Deliver, make_event: Make) -> None:
    """In the first weeks nothing is usual yet, so nothing is said."""
    record(store, deliver(make_event(created_at="2026-09-30T00:00:00Z")))

    with store.reading() as session:
        assert silence(session, "main", now=NOW) is None


@pytest.fixture
def gauges(installation: Installation) -> Iterator[CollectorRegistry]:
    registry = CollectorRegistry()
    registry.register(InboxGauges(installation))
    yield registry
    installation.store.close()


def test_the_gauges_are_read_from_the_database(
    gauges: CollectorRegistry, store: Store, deliver: Deliver, make_event: Make
) -> None:
    """Each number is shown as the database has it when asked."""
    assert gauges.get_sample_value("cuadre_inbox_quarantined", {"connection": "main"}) == 0
    record(store, deliver(make_event(mode="live")), deliver(make_event("evt_2")))

    assert gauges.get_sample_value("cuadre_inbox_quarantined", {"connection": "main"}) == 1
    assert gauges.get_sample_value("cuadre_inbox_waiting", {"connection": "main"}) == 1
    lag = gauges.get_sample_value("cuadre_inbox_lag_seconds", {"connection": "main"})
    assert lag is not None
    assert lag > 0
