"""Alarms: each state is one line in the log when it begins and one when it ends, and the same in metric and doctor."""

import json
import threading
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
import structlog
from prometheus_client import CollectorRegistry

from consumer import doctor
from consumer.disk import Verdict
from consumer.doctor import Alarms, check_inbox
from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from consumer.facts.tables.inbox import Event
from consumer.facts.tables.jobs import Tick
from consumer.inbox.record import read_arrival, record_all
from consumer.inbox.watch import InboxGauges
from consumer.jobs import worker

# The gauges know only the real time.
NOW = utc_now()
TROUBLE = "main: webhook endpoint: disabled by the provider; cuadre webhook update"


@pytest.fixture
def alarms(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> Iterator[Alarms]:
    monkeypatch.setattr("consumer.facts.patience.ANSWER_SECONDS", 60.0)
    yield Alarms(installation, now=lambda: NOW)
    installation.store.close()


def receive(installation: Installation, event_id: str, at: datetime, **changes: Any) -> None:
    event = {"id": event_id, "type": "refund.succeeded", "mode": "test", "data": {"id": "re_1"}}
    body = json.dumps(event | {"created_at": at.isoformat()} | changes).encode()
    with installation.store.connection() as connection:
        main = installation.settings.connection("main")
        record_all(connection, [read_arrival(body, connection=main, source="webhook", received_at=at)])


def look_at_the_endpoint(installation: Installation, minute: int, state: str, outcome: str) -> None:
    at = NOW + timedelta(minutes=minute)
    row = Tick(job="endpoint:main", planned_at=at, state=state, worker="w", started_at=at, lease_until=at)
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
            receive(installation, f"evt_{week}", NOW - timedelta(weeks=week, minutes=5), type="nothing.known")
        receive(installation, "evt_5", NOW - timedelta(hours=3), type="nothing.known")
    else:
        look_at_the_endpoint(installation, 0, "incomplete", TROUBLE)


def end(installation: Installation, what: str) -> None:
    if what == "silence":
        receive(installation, "evt_6", NOW, type="nothing.known")
    elif what == "webhook endpoint":
        look_at_the_endpoint(installation, 60, "complete", "enabled and subscribed to every type")
    else:
        with installation.store.transaction() as session:
            event = session.get(Event, ("main", "evt_1"))
            assert event is not None
            event.state = "applied"


@pytest.mark.parametrize(
    ("what", "metric", "found"),
    [
        ("inbox", "lag_seconds", "an event waits since 20"),
        ("quarantine", "quarantined", "1 events"),
        ("silence", "silent_seconds", "no webhook for 3 hours, which is unusual"),
        ("webhook endpoint", "endpoint_trouble", TROUBLE),
    ],
)
def test_a_state_is_said_once_when_it_begins_and_once_when_it_ends(
    alarms: Alarms, installation: Installation, what: str, metric: str, found: str
) -> None:
    """However often one looks there is a line at each change; meanwhile metric and doctor say the same."""
    metrics = CollectorRegistry()
    metrics.register(InboxGauges(installation))
    with structlog.testing.capture_logs() as lines:
        alarms.look()
        begin(installation, what)
        alarms.look()
        alarms.look()
        raised = metrics.get_sample_value(f"cuadre_inbox_{metric}", {"connection": "main"})
        with installation.store.reading() as session:
            checks = {check.check: check.found for check in check_inbox(session, "main", now=NOW)}
        end(installation, what)
        alarms.look()
        alarms.look()

    said = [(line["log_level"], line["event"], line["connection"], line["check"]) for line in lines]
    assert said == [("warning", "alarm", "main", what), ("info", "alarm over", "main", what)]
    assert lines[0]["found"].startswith(found)
    assert raised is not None
    assert raised >= 1
    assert what == "webhook endpoint" or checks[what] == lines[0]["found"]


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
def test_nothing_is_said_of_a_quiet_inbox(alarms: Alarms, installation: Installation) -> None:
    """Where all is well there is no line, and every check of the inbox is ok."""
    with structlog.testing.capture_logs() as lines:
        alarms.look()
    with installation.store.reading() as session:
        verdicts = {check.check: check.verdict for check in check_inbox(session, "main", now=NOW)}

    assert lines == []
    assert verdicts == dict.fromkeys(("inbox", "silence", "quarantine", "conflicts"), Verdict.OK)


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
def test_a_look_that_fails_is_logged_and_the_next_one_comes(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever goes wrong in one look, the thread is there for the next."""
    looks, over = [], threading.Event()

    def look(_alarms: Alarms) -> None:
        looks.append(1)
        if len(looks) == 1:
            raise KeyError("a fault of our own")
        # By the third look the second has said that it went well.
        if len(looks) == 3:
            over.set()

    monkeypatch.setattr(Alarms, "look", look)
    monkeypatch.setattr(doctor, "ALARM_SECONDS", 0.01)
    monkeypatch.setattr(worker, "FAILED_SECONDS", 0.01)
    until = threading.Event()
    with structlog.testing.capture_logs() as lines:
        doctor.start_alarms(installation, until=until)
        assert over.wait(120)
    until.set()

    assert [(line["event"], line["thread"]) for line in lines] == [
        ("the worker could not work", "alarms"),
        ("the worker works again", "alarms"),
    ]
