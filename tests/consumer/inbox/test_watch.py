"""Watching the inbox: lag, what is set aside, unusual silence, and the gauges that show them."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from consumer.facts.installation import Installation
from consumer.facts.settings import Settings
from consumer.facts.store import Store
from consumer.inbox.record import Arrival
from consumer.inbox.watch import InboxGauges, look, silence
from tests.consumer.conftest import record

Deliver = Callable[..., Arrival]
Make = Callable[..., dict[str, Any]]
NOW = datetime(2026, 10, 5, 12, 5, tzinfo=UTC)


def test_what_waits_and_what_is_set_aside_is_counted(
    store: Store, settings: Settings, deliver: Deliver, make_event: Make
) -> None:
    """The lag is the age of the oldest event that is not applied; quarantine and conflicts are counted."""
    record(
        store,
        deliver(make_event("evt_1")),
        deliver(make_event("evt_2"), received_at=NOW),
        deliver(make_event("evt_3", mode="live")),
        deliver(make_event("evt_3")),
    )

    mexico = settings.connection("main").model_copy(update={"name": "mexico"})
    with store.reading() as session:
        inbox = look(session, settings.connection("main"), now=NOW)
        other = look(session, mexico, now=NOW)
    assert (inbox.waiting, inbox.failed, inbox.quarantined, inbox.conflicts) == (2, 0, 1, 1)
    assert inbox.lag(NOW) == timedelta(minutes=5)
    assert (other.waiting, other.lag(NOW)) == (0, timedelta())


def trade(deliver: Deliver, make_event: Make, *moments: datetime, source: str = "webhook") -> list[Arrival]:
    return [
        deliver(make_event(f"evt_{source}_{at.isoformat()}", created_at=at.isoformat()), source=source)
        for at in moments
    ]


def each_week(*hours: float) -> list[datetime]:
    """The moments so many hours from now in each of the last four weeks."""
    return [NOW - timedelta(weeks=week) + timedelta(hours=hour) for week in range(1, 5) for hour in hours]


@pytest.mark.both_databases
@pytest.mark.parametrize(
    ("last", "expected"),
    [
        ((14, "webhook"), None),
        ((59, "webhook"), None),
        ((61, "webhook"), timedelta(minutes=61)),
        ((61, "backfill"), timedelta(hours=5)),
    ],
)
def test_silence_is_measured_against_this_hour_of_past_weeks(
    store: Store, settings: Settings, deliver: Deliver, make_event: Make, last: tuple[int, str], expected: object
) -> None:
    """Twenty quiet minutes are usual here, so more than an hour is not; what backfill found is no sign of webhooks."""
    usual, (minutes, source) = each_week(*(place / 3 for place in range(-12, 13))), last
    record(store, *trade(deliver, make_event, *usual, NOW - timedelta(hours=5)))
    record(store, *trade(deliver, make_event, NOW - timedelta(minutes=minutes), source=source))

    with store.reading() as session:
        assert silence(session, settings.connection("main"), now=NOW) == expected


def test_a_night_without_trade_is_usual(store: Store, settings: Settings, deliver: Deliver, make_event: Make) -> None:
    """Where no week has trade at this hour, a long silence is as long as ever."""
    record(store, *trade(deliver, make_event, *each_week(-10, 4), NOW - timedelta(hours=10)))

    with store.reading() as session:
        assert silence(session, settings.connection("main"), now=NOW) is None


@pytest.mark.parametrize(("day", "expected"), [(5, timedelta(hours=42)), (12, None)])
def test_a_holiday_is_compared_with_sundays(
    store: Store, settings: Settings, deliver: Deliver, make_event: Make, day: int, expected: timedelta | None
) -> None:
    """A shop without trade on Sundays may be silent on Monday 12 October too, which is a holiday in Chile."""
    noon = datetime(2026, 10, day, 15, tzinfo=UTC)
    saturdays = [noon - timedelta(weeks=week, hours=42) for week in range(6)]
    mondays = [noon - timedelta(weeks=week, minutes=10 * place) for week in range(1, 6) for place in range(-12, 13)]
    record(store, *trade(deliver, make_event, *saturdays, *mondays))

    with store.reading() as session:
        assert silence(session, settings.connection("main"), now=noon) == expected


@pytest.mark.parametrize("weeks", [0, 1, 3])
def test_without_a_history_no_silence_is_unusual(
    store: Store, settings: Settings, deliver: Deliver, make_event: Make, weeks: int
) -> None:
    """In the first four weeks nothing is usual yet, so nothing is said."""
    moments = [NOW - timedelta(weeks=week, minutes=minute) for week in range(1, weeks + 1) for minute in range(-90, 90)]
    record(store, *trade(deliver, make_event, *moments, NOW - timedelta(days=3)))

    with store.reading() as session:
        assert silence(session, settings.connection("main"), now=NOW) is None


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
