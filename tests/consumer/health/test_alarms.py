"""What raises alarms: each state is a line in the log when it begins and when it ends, as in metric and doctor."""

import json
import threading
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
import structlog
from prometheus_client import CollectorRegistry
from sqlmodel import select

from consumer.facts.alarms import raises_none
from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from consumer.facts.tables.alarms import Alarm
from consumer.facts.tables.inbox import Event
from consumer.facts.tables.jobs import Tick
from consumer.facts.tables.sync import Window
from consumer.health import causes
from consumer.health.causes import RefusalWatch, Watch
from consumer.health.disk import Check, Verdict
from consumer.health.doctor import check_inbox
from consumer.inbox.record import read_arrival, record_all
from consumer.inbox.watch import InboxGauges
from consumer.jobs import worker
from consumer.webhooks.blueprint import RefusalLog

# The gauges know only the real time.
NOW = utc_now()
TROUBLE = "main: webhook endpoint: disabled by the provider; cuadre webhook update"
CLOCK = "main: clock: 7 minutes from the provider's; set the machine's clock"


@pytest.fixture
def alarms(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watch]:
    monkeypatch.setattr("consumer.facts.patience.ANSWER_SECONDS", 60.0)
    yield Watch(installation, now=lambda: NOW)
    installation.store.close()


def receive(installation: Installation, event_id: str, at: datetime, **changes: Any) -> None:
    event = {"id": event_id, "type": "refund.succeeded", "mode": "test", "data": {"id": "re_1"}}
    body = json.dumps(event | {"created_at": at.isoformat()} | changes).encode()
    with installation.store.connection() as connection:
        main = installation.settings.connection("main")
        record_all(connection, [read_arrival(body, connection=main, source="webhook", received_at=at)])


def end_tick(installation: Installation, minute: int, state: str, outcome: str, *, job: str = "endpoint:main") -> None:
    at = NOW + timedelta(minutes=minute)
    row = Tick(job=job, planned_at=at, state=state, worker="w", started_at=at, lease_until=at)
    row.finished_at, row.outcome = at, outcome
    with installation.store.transaction() as session:
        session.add(row)


def begin(installation: Installation, what: str) -> None:
    if what == "inbox":
        receive(installation, "evt_1", NOW - timedelta(minutes=6))
    elif what == "quarantine":
        receive(installation, "evt_1", NOW, mode="live")
    elif what == "silence":
        for week in range(1, 5):
            for minutes in range(-150, 150, 20):
                at = NOW - timedelta(weeks=week, minutes=minutes)
                receive(installation, f"evt_{week}_{minutes}", at, type="nothing.known")
        receive(installation, "evt_5", NOW - timedelta(hours=3), type="nothing.known")
    else:
        end_tick(installation, 0, "incomplete", TROUBLE)


def end(installation: Installation, what: str) -> None:
    if what == "silence":
        receive(installation, "evt_6", NOW, type="nothing.known")
    elif what == "webhook_endpoint":
        end_tick(installation, 60, "complete", "enabled and subscribed to every type")
    else:
        with installation.store.transaction() as session:
            event = session.get(Event, ("main", "evt_1"))
            assert event is not None
            event.state = "applied"


@pytest.mark.both_databases
@pytest.mark.parametrize(
    ("what", "metric", "found"),
    [
        ("inbox", "lag_seconds", "an event waits since 20"),
        ("quarantine", "quarantined", "1 events"),
        ("silence", "silent_seconds", "no webhook for 3 hours, which is unusual"),
        ("webhook_endpoint", "endpoint_trouble", TROUBLE),
    ],
)
def test_a_state_is_logged_once_when_it_begins_and_once_when_it_ends(
    alarms: Watch, installation: Installation, what: str, metric: str, found: str
) -> None:
    """However often one looks there is a line at each change; meanwhile metric and doctor say the same."""
    main = installation.settings.connection("main")
    metrics = CollectorRegistry()
    metrics.register(InboxGauges(installation))
    with structlog.testing.capture_logs() as lines:
        alarms.look()
        begin(installation, what)
        alarms.look()
        Watch(installation, now=lambda: NOW + timedelta(seconds=1)).look()
        raised = metrics.get_sample_value(f"cuadre_inbox_{metric}", {"connection": "main"})
        with installation.store.reading() as session:
            checks = {check.check: check.found for check in check_inbox(session, main, now=NOW)}
        end(installation, what)
        Watch(installation, now=lambda: NOW + timedelta(seconds=2)).look()
        Watch(installation, now=lambda: NOW + timedelta(seconds=3)).look()

    said = [(line["log_level"], line["event"], line["connection"], line["cause"]) for line in lines]
    assert said == [("warning", "alarm", "main", what), ("info", "alarm over", "main", what)]
    assert lines[0]["found"].startswith(found)
    assert raised is not None
    assert raised >= 1
    assert what == "webhook_endpoint" or checks[what] == lines[0]["found"]


def test_nothing_is_said_of_a_quiet_inbox(alarms: Watch, installation: Installation) -> None:
    """Where all is well there is no line, and every check of the inbox is ok."""
    with structlog.testing.capture_logs() as lines:
        alarms.look()
    with installation.store.reading() as session:
        main = installation.settings.connection("main")
        verdicts = {check.check: check.verdict for check in check_inbox(session, main, now=NOW)}

    assert lines == []
    assert verdicts == dict.fromkeys(("inbox", "silence", "quarantine", "conflicts"), Verdict.OK)


def standing(installation: Installation) -> set[tuple[str, str, str, int]]:
    with installation.store.reading() as session:
        rows = session.exec(select(Alarm)).all()
    return {(row.connection, row.cause, row.severity, row.count) for row in rows if row.ended_at is None}


@pytest.mark.parametrize(
    ("job", "minute", "state", "expected"),
    [
        ("nightly:main", 0, "failed", ("main", "night", "high", 1)),
        ("nightly:main", 0, "missed", ("main", "night", "high", 1)),
        ("nightly:main", 0, "running", ("main", "night", "high", 1)),
        ("nightly:main", 0, "incomplete", ("main", "night", "medium", 1)),
        ("nightly:main", -27 * 60, "complete", ("main", "night", "high", 1)),
        ("nightly:main", -25 * 60, "complete", None),
        ("nightly:main by hand", 0, "failed", None),
        ("retention", 0, "failed", ("", "job:retention", "high", 1)),
        ("fiscal:main", 0, "incomplete", None),
        ("endpoint:main", 0, "failed", ("main", "webhook_endpoint", "high", 1)),
    ],
)
def test_the_last_tick_of_a_job_raises_what_it_says(
    installation: Installation, job: str, minute: int, state: str, expected: tuple[str, str, str, int] | None
) -> None:
    """A night that failed, died, was missed or is a day late is high, an incomplete one medium; others fail or not."""
    end_tick(installation, minute - 1, state, "", job=job)
    Watch(installation, now=lambda: NOW).look()

    assert standing(installation) == (set() if expected is None else {expected})


def test_a_clock_that_is_far_off_has_a_cause_of_its_own(installation: Installation) -> None:
    """The hourly look says it before the endpoint, since a wrong clock refuses every webhook."""
    end_tick(installation, 0, "incomplete", CLOCK)
    Watch(installation, now=lambda: NOW).look()

    assert standing(installation) == {("main", "clock", "high", 1)}


@pytest.mark.parametrize(
    ("state", "hours", "count"), [("failed", 0, 1), ("open", 1, 0), ("open", 27, 1), ("closed", 27, 0)]
)
def test_a_window_that_failed_or_stays_open_is_an_alarm(
    installation: Installation, state: str, hours: int, count: int
) -> None:
    """A window that a backfill is at is none; one that failed, or is open longer than a night takes, is."""
    opened_at = NOW - timedelta(hours=hours)
    window = Window(connection="main", stream="payouts", until=NOW, state=state, opened_at=opened_at)
    with installation.store.transaction() as session:
        session.add(window)
    Watch(installation, now=lambda: NOW).look()

    assert standing(installation) == ({("main", "gaps", "medium", 1)} if count else set())


def test_a_disk_that_fills_becomes_graver(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    """Little room is medium, hardly any is high."""
    verdicts = iter((Verdict.WARNING, Verdict.FAILURE))
    monkeypatch.setattr(
        causes, "check_space", lambda _installation: [Check("", "disk space", next(verdicts), "0.1 GB are free")]
    )
    watch = Watch(installation, now=lambda: NOW)
    watch.look()
    assert standing(installation) == {("", "disk_space", "medium", 1)}
    watch.look()
    assert standing(installation) == {("", "disk_space", "high", 1)}


@pytest.mark.parametrize(("forged", "stored", "count"), [(4, 0, None), (5, 95, 5), (5, 96, None), (30, 0, 30)])
def test_webhooks_that_prove_nothing_are_an_alarm(
    installation: Installation, forged: int, stored: int, count: int | None
) -> None:
    """Five in ten minutes and one in twenty of all are, added up over two receivers; every worker judges alike."""
    receivers, at = [RefusalLog(), RefusalLog()], [NOW]
    watches = [RefusalWatch(installation, one, now=lambda: at[0]) for one in receivers]
    receivers[0].forged, receivers[0].judged = forged - 2, forged - 2
    receivers[1].forged, receivers[1].judged = 2, stored + 2
    workers = [Watch(installation, now=lambda: at[0]) for _ in range(2)]
    for look in [one.look for one in (*watches, *watches)] + [one.look for one in workers]:
        look()
    assert standing(installation) == (set() if count is None else {("", "signatures", "high", count)})

    at[0] += timedelta(minutes=11)
    workers[0].look()
    assert standing(installation) == set()


def test_a_look_that_fails_is_logged_and_the_next_one_comes(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever goes wrong in one look, the thread is there for the next."""
    looks, over = [], threading.Event()

    def look(_watch: Watch) -> None:
        looks.append(1)
        if len(looks) == 1:
            raise KeyError("a fault of our own")
        # By the third look the second has said that it went well.
        if len(looks) == 3:
            over.set()

    monkeypatch.setattr(Watch, "look", look)
    monkeypatch.setattr(causes, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(worker, "FAILED_SECONDS", 0.01)
    until = threading.Event()
    with structlog.testing.capture_logs() as lines:
        causes.start_alarms(installation, until=until, signals=raises_none)
        assert over.wait(120)
    until.set()

    assert [(line["event"], line["thread"]) for line in lines] == [
        ("the worker could not work", "alarms"),
        ("the worker works again", "alarms"),
    ]


def test_a_database_that_is_away_is_logged_once(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that cannot ask says so once, and once when it can again."""
    watch = Watch(installation, now=lambda: NOW)
    with structlog.testing.capture_logs() as lines, monkeypatch.context() as patched:
        patched.setattr("consumer.health.disk.check_database", _refuse)
        watch.look()
        watch.look()
    with structlog.testing.capture_logs() as after:
        watch.look()

    assert [(line["event"], line["cause"], line["found"]) for line in lines] == [("alarm", "away", "OperationalError")]
    assert [(line["event"], line["cause"]) for line in after] == [("alarm over", "away")]


def _refuse(_store: object) -> Check:
    raise sa.exc.OperationalError("SELECT 1", {}, Exception("gone"))


@pytest.mark.parametrize(("folder", "expected"), [(None, set()), ("backups", {("", "backup", "high", 1)})])
def test_where_backups_are_nightly_their_want_is_an_alarm(
    installation: Installation, tmp_path: Path, folder: str | None, expected: set[tuple[str, str, str, int]]
) -> None:
    """Who keeps backups otherwise is not woken for them."""
    more = {} if folder is None else {"backup_dir": tmp_path / folder}
    nightly = Installation(installation.settings.model_copy(update=more), installation.store)
    Watch(nightly, now=lambda: NOW).look()

    assert standing(nightly) == expected
