"""How late events come, measured both ways, and the overlap that follows from it."""

import json
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from prometheus_client import CollectorRegistry, generate_latest

from consumer.facts.completeness import Percentiles, Way, percentiles
from consumer.facts.installation import Installation
from consumer.facts.settings import Settings
from consumer.facts.store import Store
from consumer.facts.tables.inbox import Event
from consumer.facts.tables.types import core_of
from consumer.health.disk import Verdict
from consumer.health.doctor import check_lateness
from consumer.inbox.record import read_arrival, record_all
from consumer.provider.client import Provider
from consumer.sync.backfill import read_log
from consumer.sync.lateness import measure_webhooks, overlap, record_list_lateness
from consumer.sync.reach import MirrorGauges

pytestmark = pytest.mark.both_databases

NOW = datetime(2026, 10, 1, 3, tzinfo=UTC)
TODAY = date(2026, 10, 1)
HOUR = timedelta(hours=1)


def note(store: Store, seconds: list[int], *, on: date = TODAY) -> None:
    with store.connection() as connection:
        record_list_lateness(connection, "main", seconds, on=on)


def measured(store: Store, way: Way = Way.LIST) -> Percentiles | None:
    with store.reading() as session:
        return percentiles(session, "main", way, now=NOW)


def wanted(store: Store) -> timedelta:
    with store.reading() as session:
        return overlap(session, "main", floor=HOUR, now=NOW)


def test_percentiles_are_the_worst_of_their_step(store: Store) -> None:
    """Of 990 events in time, nine a little and one very late, each percentile names a lateness that was seen."""
    note(store, [0] * 900)
    note(store, [0] * 90 + [3, 4, 4, 4, 4, 4, 4, 4, 4, 5_000])
    assert measured(store) == Percentiles(events=1_000, p50=0, p95=0, p99=0, p999=4, worst=5_000)
    note(store, [4_000])
    assert measured(store) == Percentiles(events=1_001, p50=0, p95=0, p99=4, p999=5_000, worst=5_000)


def test_a_percentile_is_a_whole_share_of_the_events(store: Store) -> None:
    """Of twenty events one is late: nineteen are 95 %, and half of them are no more late than the first ten."""
    note(store, [0] * 10 + [1] * 9 + [60])
    assert measured(store) == Percentiles(events=20, p50=0, p95=1, p99=60, p999=60, worst=60)


def test_what_is_older_than_a_month_no_longer_counts(store: Store) -> None:
    """A bad night of August does not widen the overlap of October."""
    note(store, [7_000], on=date(2026, 8, 20))
    assert measured(store) is None
    assert wanted(store) == HOUR


@pytest.mark.parametrize(
    ("late", "expected"),
    [(60, HOUR), (3_000, timedelta(seconds=6_000)), (900_000, timedelta(days=2))],
    ids=["never below the setting", "twice what was measured", "never above two days"],
)
def test_the_overlap_is_twice_the_measured_tail(store: Store, late: int, expected: timedelta) -> None:
    """Between the setting and two days the next run reads back twice the 99.9th percentile."""
    note(store, [late])
    assert wanted(store) == expected


def test_webhooks_are_measured_by_day_and_never_twice(store: Store, settings: Settings) -> None:
    """Arrival minus the event's own time; a second look at the same days finds the same numbers."""
    connection = settings.connection("main")
    with store.connection() as writing:
        for number, late in enumerate((1, 2, 400)):
            at = NOW - timedelta(hours=2)
            body = f'{{"id": "evt_{number}", "created_at": "{at.isoformat()}"}}'.encode()
            received_at = at + timedelta(seconds=late)
            record_all(writing, [read_arrival(body, connection=connection, source="webhook", received_at=received_at)])
    for _ in range(2):
        with store.connection() as writing:
            measure_webhooks(writing, "main", now=NOW)
    assert measured(store, Way.WEBHOOK) == Percentiles(events=3, p50=2, p95=400, p99=400, p999=400, worst=400)


def listed_at(installation: Installation, number: int) -> datetime | None:
    with installation.store.reading() as session:
        found: datetime | None = session.execute(
            sa.select(core_of(Event).c.listed_at).where(core_of(Event).c.id == f"evt_{number}")
        ).scalar_one()
        return found


def test_an_event_known_by_webhook_is_measured_when_the_list_shows_it(
    installation: Installation, provider: Provider, log_server: Any, settings: Settings
) -> None:
    """The list shows it 45 minutes behind what was complete: nothing was lost, and it counts all the same."""
    read_log(installation, provider)
    at = datetime(2026, 10, 1, 2, 14, tzinfo=UTC)
    log_server.add(100, at)
    late = log_server.events.pop()
    body = json.dumps(late).encode()
    arrival = read_arrival(body, connection=settings.connection("main"), source="webhook", received_at=at)
    with installation.store.connection() as connection:
        record_all(connection, [arrival])
    assert listed_at(installation, 100) is None
    log_server.events.append(late)
    log_server.now += timedelta(hours=1)
    assert read_log(installation, provider).complete
    assert listed_at(installation, 100) is not None
    with installation.store.reading() as session:
        found = percentiles(session, "main", Way.LIST, now=datetime.now(UTC))
    assert found == Percentiles(events=1, p50=2_700, p95=2_700, p99=2_700, p999=2_700, worst=2_700)


def test_an_event_listed_once_is_not_measured_again(
    installation: Installation, provider: Provider, log_server: Any
) -> None:
    """What the overlap reads again was shown in time, and says nothing about lateness."""
    read_log(installation, provider)
    log_server.now += timedelta(hours=1)
    assert read_log(installation, provider).complete
    assert measured(installation.store) is None


def test_the_doctor_and_prometheus_tell_the_percentiles(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line names what was measured and the overlap that follows; a tail beyond the bound is a warning."""
    monkeypatch.setattr("consumer.facts.patience.ANSWER_SECONDS", 60.0)
    today = datetime.now(UTC).date()
    note(installation.store, [2_700], on=today)
    with installation.store.reading() as session:
        check = check_lateness(session, "main", floor=HOUR)
    shown = "list p50 45 minutes, p95 45 minutes, p99 45 minutes, p99.9 45 minutes, worst 45 minutes of 1 events"
    assert check.found == f"{shown}; the next backfill reads 1 hour 30 minutes again"
    assert check.verdict is Verdict.OK
    registry = CollectorRegistry()
    registry.register(MirrorGauges(installation))
    line = 'cuadre_lateness_seconds{connection="main",quantile="0.999",way="list"} 2700.0'
    assert line in generate_latest(registry).decode()
    note(installation.store, [90_000], on=today)
    with installation.store.reading() as session:
        assert check_lateness(session, "main", floor=HOUR).verdict is Verdict.WARNING
