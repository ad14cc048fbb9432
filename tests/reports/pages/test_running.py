"""A run that a person starts on a page: how far it is, that there is one at a time, and how it is canceled."""

import threading
from collections.abc import Callable, Iterator
from datetime import date

import pytest
from flask import Flask
from flask.testing import FlaskClient
from structlog.testing import capture_logs

from consumer.errands import errands
from consumer.facts.clock import utc_now
from consumer.facts.installation import Connection, Installation
from consumer.facts.messages import Message
from consumer.jobs import ticks
from consumer.jobs.processes import Answer
from reports.access.people import Role, add_user, to_user

Csrf = Callable[..., str]
JOB = "reconcile:main"


class SlowRun:
    """Stands for the process of a run: begins, and ends when it may."""

    def __init__(self) -> None:
        self.days: list[date] = []
        self.begun, self.may_end = threading.Event(), threading.Event()
        self.answer = Message("run.unchanged", {"number": 42})

    def __call__(self, installation: Installation, connection: Connection, on: date) -> Answer:
        self.days.append(on)
        ticks.note_progress(installation.store, f"reconcile:{connection.name}", "run.keeping")
        self.begun.set()
        assert self.may_end.wait(120)
        return Answer(complete=True, lines=[self.answer.to_text()])


@pytest.fixture
def slow() -> Iterator[SlowRun]:
    run = SlowRun()
    yield run
    run.may_end.set()


@pytest.fixture
def client(
    reconciled: Installation, make_app: Callable[..., Flask], login: Callable[..., FlaskClient], slow: SlowRun
) -> FlaskClient:
    with reconciled.store.transaction() as session:
        add_user(session, to_user("vera@tienda.test", "otra clave larga", Role.VIEWER, now=utc_now()))
    return login(make_app(reconciled, errands=errands(reconciled, slow)))


def press(client: FlaskClient, csrf: Csrf, path: str = "/reconcile/main") -> str:
    data = {"csrf_token": csrf(client, "/reconcile/main")}
    return client.post(path, data=data, follow_redirects=True).get_data(as_text=True)


def wait_for_the_end(installation: Installation) -> None:
    until = threading.Event()
    while ticks.find_running(installation.store, JOB) is not None:
        until.wait(0.01)


def test_a_run_is_started_watched_and_ends(
    client: FlaskClient, csrf: Csrf, slow: SlowRun, reconciled: Installation
) -> None:
    """The page says which step it is at, loads itself again without scripts, and at the end says what came of it."""
    press(client, csrf)
    assert slow.begun.wait(120)
    page = client.get("/reconcile/main").get_data(as_text=True)
    assert "Guardando las entradas" in page
    assert '<noscript><meta http-equiv="refresh" content="2"></noscript>' in page
    slow.may_end.set()
    wait_for_the_end(reconciled)
    page = client.get("/reconcile/main").get_data(as_text=True)
    assert "Nada cambió desde la conciliación 42." in page
    assert "http-equiv" not in page
    # The day of the newest run: on any later one its data would not be complete.
    assert slow.days == [date(2026, 10, 8)]


def test_who_comes_second_sees_the_run_under_way(client: FlaskClient, csrf: Csrf, slow: SlowRun) -> None:
    """Two people who press at once get one run."""
    press(client, csrf)
    assert slow.begun.wait(120)
    assert "Ya hay una conciliación en curso: es esta." in press(client, csrf)
    assert len(slow.days) == 1


def test_a_run_is_canceled(client: FlaskClient, csrf: Csrf, slow: SlowRun, reconciled: Installation) -> None:
    """It is over at once for the page, who did it is said, and another may begin; a second press finds it over."""
    press(client, csrf)
    assert slow.begun.wait(120)
    with capture_logs() as said:
        assert "ana@tienda.test canceló la conciliación: no se publicó nada." in press(
            client, csrf, "/reconcile/main/cancel"
        )
    assert [line for line in said if line["event"].startswith("job")] == [
        {"event": "job canceled", "log_level": "info", "job": JOB, "by": "ana@tienda.test"}
    ]
    assert ticks.find_running(reconciled.store, JOB) is None
    assert "La conciliación ya había terminado." in press(client, csrf, "/reconcile/main/cancel")
    assert "Conciliar ahora</button>" in client.get("/reconcile/main").get_data(as_text=True)


def test_a_viewer_starts_and_cancels_nothing(
    client: FlaskClient, csrf: Csrf, slow: SlowRun, login: Callable[..., FlaskClient]
) -> None:
    """The page shows how a run fares; its buttons are for finance."""
    viewer = login(client.application, "vera@tienda.test", "otra clave larga")
    assert "Conciliar ahora</button>" not in viewer.get("/reconcile/main").get_data(as_text=True)
    token = {"csrf_token": csrf(viewer, "/payouts")}
    assert viewer.post("/reconcile/main", data=token).status_code == 403
    assert viewer.post("/reconcile/main/cancel", data=token).status_code == 403
    assert slow.days == []
