"""Work by hand whose server is killed, whose lock is lost or whose disk is full: nothing is done twice or half."""

import signal
import sys
import threading
from collections.abc import Callable
from datetime import UTC, date, datetime

import pytest
import sqlalchemy as sa
from flask import Flask
from flask.testing import FlaskClient

from consumer.errands import errands
from consumer.facts.installation import Connection, Installation
from consumer.facts.messages import Message
from consumer.facts.settings import Settings
from consumer.facts.store import Store
from consumer.facts.tables.jobs import Tick
from consumer.jobs import processes, ticks
from consumer.jobs.processes import Answer
from reconcile.runs.ordered_closing import carry_out
from reconcile.runs.run import run
from reconcile.tables.closing import ClosedFigure, ClosingOrder, Period
from reconcile.tables.runs import Run
from tests.merchant import environ_of, start_apart
from tests.reconcile.conftest import World
from tests.reports.conftest import close_here
from tests.reports.pages.looking import kept

Csrf = Callable[..., str]
Login = Callable[..., FlaskClient]
FORM = {"connection": "main", "until": "2026-09-10", "reason": "cierre del mes"}
JOB = "closing:main"


def wait_until(is_so: Callable[[], bool]) -> None:
    pause = threading.Event()
    while not is_so():
        pause.wait(0.05)


@pytest.fixture
def shop(settings: Settings, ana: Store) -> Installation:
    """A day of trade that was reconciled, and can be closed."""
    world = World(ana)
    world.payment("pi_1", 1190)
    world.payout("po_1", 1174, ("payment_intent", "pi_1", 1190))
    world.invoice("7", 1190, due_date=date(2026, 10, 30))
    world.complete(datetime(2026, 9, 12, 6, tzinfo=UTC))
    made = Installation(settings=settings, store=ana)
    run(made, settings.connection("main"), as_of=date(2026, 9, 11))
    return made


# What reconciles may write no file of more than some bytes, which the system refuses as it does where a disk is full.
FULL = """
import resource, app
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
app.work_for_parent()
"""
# What closes dies with the server that started it, once every row of the period is written and nothing is committed.
DYING = """
import os, signal, app
from reconcile.closing import periods
inner = periods.close
def close(session, *given, **more):
    inner(session, *given, **more)
    session.flush()
    os.kill(os.getppid(), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)
periods.close = close
app.work_for_parent()
"""
# A server with the errands of pages, of which a person asks for a closing.
SERVER = f"""
import sys, threading
from datetime import date
from consumer.facts.clock import utc_now
from consumer.errands import errands
from consumer.jobs import processes
import app
from reconcile.runs import ordered_closing
from reconcile.tables.closing import ClosingOrder
processes._children = processes.Children((sys.executable, "-P", "-c", {DYING!r}), grace=5)
installation = app.open_installation()
wanted = ClosingOrder(connection="main", until=date(2026, 9, 10), as_of=date(2026, 9, 11), reason="cierre del mes",
                      author="ana@tienda.test", ordered_at=utc_now(), state="ordered")
def order():
    with installation.store.transaction() as session:
        ordered_closing.order(session, wanted)
close = errands(installation, None, processes.run_in_child("closing")).close
close(installation.settings.connection("main"), order, "ana@tienda.test")
threading.Event().wait()
"""


@pytest.mark.both_databases
def test_a_closing_killed_with_its_server_is_over_at_once(
    shop: Installation, make_app: Callable[..., Flask], login: Login, csrf: Csrf
) -> None:
    """Killed in the transaction that closes: the page says at once that nothing was closed; the next press closes."""
    store = shop.store
    url = store.engine.url.render_as_string(hide_password=False)
    server = start_apart("-P", "-c", SERVER, database_url=url, data_dir=shop.settings.data_dir)
    try:
        assert server.wait(120) == -signal.SIGKILL
    finally:
        server.kill()
    client = login(make_app(shop, errands=close_here(shop)))
    # A database hears from the system that a session is gone, within a moment.
    wait_until(lambda: "no se cerró nada" in client.get("/books/closing/main").text)
    assert (kept(shop, Period), kept(shop, ClosedFigure)) == ([], [])
    answer = client.post("/books/close", data={**FORM, "csrf_token": csrf(client, "/books/periods")})
    assert answer.status_code == 302
    page = client.get("/books/closing/main", follow_redirects=True).text
    assert [one.until for one in kept(shop, Period)] == [date(2026, 9, 10)], page
    assert kept(shop, ClosedFigure) != []
    assert [(one.state, one.outcome) for one in kept(shop, Tick)] == [("failed", "note.worker_stopped")]
    assert [one.state for one in kept(shop, ClosingOrder)] == ["refused", "done"]


@pytest.mark.both_databases
def test_a_closing_that_counts_as_over_closes_nothing(
    shop: Installation, make_app: Callable[..., Flask], login: Login, csrf: Csrf
) -> None:
    """Its lock is lost while it is at work (a database was restarted): the next press closes, and it does not."""
    store = shop.store
    is_freezing, may_go_on, is_refused = threading.Event(), threading.Event(), threading.Event()

    def close(installation: Installation, connection: Connection, _on: date) -> Answer:
        own = ticks.find_running(store, JOB)
        assert own is not None
        is_first = not is_freezing.is_set()

        def watch(step: Message) -> None:
            if step.code == "closing.freezing" and is_first:
                is_freezing.set()
                assert may_go_on.wait(120)

        try:
            words = carry_out(installation, connection, watch, lambda session: ticks.seal(session, JOB, own))
        except ticks.CanceledError:
            is_refused.set()
            return Answer(complete=False, lines=[])
        return Answer(complete=True, lines=[words.to_text()])

    client = login(make_app(shop, errands=errands(shop, close=close)))
    data = {**FORM, "csrf_token": csrf(client, "/books/periods")}
    client.post("/books/close", data=data)
    assert is_freezing.wait(120)
    assert "Puede salir de esta página" in client.get("/books/closing/main").text
    if store.is_sqlite:
        next(shop.settings.data_dir.parent.glob("*-work-*")).unlink()
    else:
        with store.connection() as connection:
            connection.execute(
                sa.text("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2")
            )
    wait_until(lambda: "no se cerró nada" in client.get("/books/closing/main").text)
    client.post("/books/close", data=data)
    wait_until(lambda: ticks.find_running(store, JOB) is None)
    assert "cierre del mes" in client.get("/books/closing/main", follow_redirects=True).text
    may_go_on.set()
    assert is_refused.wait(120)
    assert [one.until for one in kept(shop, Period)] == [date(2026, 9, 10)]
    assert [one.state for one in kept(shop, ClosingOrder)] == ["refused", "done"]
    assert sorted(one.state for one in kept(shop, Tick)) == ["complete", "failed"]


@pytest.mark.both_databases
def test_a_run_that_finds_the_disk_full_says_so_and_the_next_one_works(
    shop: Installation, make_app: Callable[..., Flask], login: Login, csrf: Csrf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page says it in the reader's words, nothing of the run is left, and once there is room a press is enough."""
    World(shop.store).invoice("8", 90, due_date=date(2026, 10, 30))
    url = shop.store.engine.url.render_as_string(hide_password=False)
    more = {"database_url": url, "data_dir": str(shop.settings.data_dir), "secret_key": "a key that only tests know"}
    for name, value in environ_of("http://provider.test", shop.settings.data_dir, **more).items():
        monkeypatch.setenv(name, value)
    client = login(make_app(shop, errands=errands(shop, processes.run_in_child("reconcile"))))
    form = {"csrf_token": csrf(client, "/reconcile/main")}
    before = _files_of_runs(shop)
    said = []
    for program in (FULL, "import app; app.work_for_parent()"):
        children = processes.Children((sys.executable, "-P", "-c", program), grace=5)
        monkeypatch.setattr(processes, "_children", children)
        client.post("/reconcile/main", data=form)
        wait_until(lambda: ticks.find_running(shop.store, "reconcile:main") is None)
        said.append(client.get("/reconcile/main").text)
        if program == FULL:
            assert _files_of_runs(shop) == before
            assert len(kept(shop, Run)) == 1
    full = "no se puede escribir nada: el disco está lleno o es de solo lectura; libere espacio y empiece de nuevo"
    assert f"{full} (ana@tienda.test)" in said[0].lower(), said[0]
    assert len(kept(shop, Run)) == 2
    assert full not in said[1].lower()


def _files_of_runs(shop: Installation) -> list[str]:
    return sorted(str(path) for path in (shop.settings.data_dir / "runs").rglob("*"))
