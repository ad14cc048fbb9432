"""Nights in processes of their own: they end well, are killed, stopped or orphaned, and the one who serves goes on."""

import http.client
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from sqlmodel import col, select

import app
from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from consumer.facts.tables.inbox import Event
from consumer.facts.tables.jobs import Tick
from consumer.jobs import processes, ticks
from consumer.jobs.schedule import Job, run_due
from reconcile.tables.runs import Run
from sandbox.remote import TEST_KEY, Steer
from sandbox.serve import RunningSandbox
from tests.ports import free_port
from tests.proof.senders import SECRET, deliver

NIGHT = "nightly:main"
# A morning after the second day of the sandbox's trade, and the next one.
FIRST, SECOND = datetime(2026, 10, 3, 12, tzinfo=UTC), datetime(2026, 10, 4, 12, tzinfo=UTC)
TWO_DAYS = 2 * 24 * 60 * 60
PATIENCE = 300.0


def until(is_so: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < deadline, f"not within {PATIENCE:.0f} s: {what}"
        time.sleep(0.2)


def nights_of(pid: int) -> list[int]:
    """List the processes that work at a night below this one."""
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):
            for child in map(int, (task / "children").read_text().split()):
                is_night = b"work_for_parent" in Path(f"/proc/{child}/cmdline").read_bytes()
                found += [child] if is_night else nights_of(child)
    return found


def is_there(pid: int) -> bool:
    """Return True unless the process has ended, waited for or not."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


@pytest.fixture
def provider() -> Iterator[RunningSandbox]:
    with RunningSandbox("quiet", seed=1) as running:
        yield running


@pytest.fixture
def steer(provider: RunningSandbox) -> Iterator[Steer]:
    """Two days of trade, whose lists are slow to answer until that is switched off."""
    with Steer(provider.url) as steer:
        steer.advance(TWO_DAYS)
        steer.switch_on("slow", seconds=5, path="/v1/")
        yield steer


@pytest.fixture
def installation(
    provider: RunningSandbox, migrated_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Installation]:
    """An installation whose settings stand in the environment, in a folder with an app.py that is none of ours."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app.py").write_text("raise AssertionError('a stranger')", encoding="utf-8")
    for name, value in {
        "PROVIDER_URL": provider.url,
        "API_KEY": TEST_KEY,
        "COUNTRY": "cl",
        "WEBHOOK_SECRETS": SECRET.decode(),
        "DATABASE_URL": migrated_url,
        "DATA_DIR": str(tmp_path / "instance"),
        "SECRET_KEY": "a key that only tests know",
        "RATE_LIMIT": "1000",
    }.items():
        monkeypatch.setenv(f"CUADRE_{name}", value)
    installation = app.open_installation()
    yield installation
    installation.store.close()


def night_of(installation: Installation) -> Job:
    return {job.name: job for job in app.job_table(installation)}[NIGHT]


@pytest.fixture
def job(installation: Installation) -> Job:
    return night_of(installation)


def tick_of(installation: Installation) -> Tick:
    """Return the newest tick of the night."""
    with installation.store.reading() as session:
        newest = select(Tick).where(Tick.job == NIGHT).order_by(col(Tick.planned_at).desc()).limit(1)
        return session.exec(newest).one()


def has_events(installation: Installation) -> bool:
    with installation.store.reading() as session:
        return session.exec(select(Event.id).limit(1)).first() is not None


def test_nights_asked_for_run_in_processes_of_their_own(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `processes:2` a night by hand is a child too; its answer and its tick are those of a night."""
    monkeypatch.setenv("CUADRE_ENGINE", "processes:2")
    opened = app.open_installation()
    (answer,) = app.run_nights(opened, [(opened.settings.connection("main"), date(2026, 10, 1))])
    opened.store.close()

    assert any("main: reconcile: run 1, " in line for line in answer.lines)
    with installation.store.reading() as session:
        assert session.exec(select(Tick.job)).one() == "nightly:main by hand"


def test_a_killed_night_is_failed_and_the_next_one_is_whole(installation: Installation, job: Job, steer: Steer) -> None:
    """The tick says how its process ended, and the night after reads what is missing and publishes its run."""
    begun = threading.Thread(
        target=run_due, args=(job, installation.store), kwargs={"worker": "w", "clock": lambda: FIRST}
    )
    begun.start()
    until(lambda: has_events(installation) or not begun.is_alive(), "the first events are in")
    (night,) = nights_of(os.getpid())
    command = Path(f"/proc/{night}/cmdline").read_text().split("\0")
    assert command[-4:-1] == ["nightly", "main", "2026-10-02"]
    assert not run_due(job, installation.store, worker="another", clock=lambda: FIRST)
    os.kill(night, signal.SIGKILL)
    begun.join(PATIENCE)
    killed = tick_of(installation)
    steer.switch_off()
    assert run_due(job, installation.store, worker="w", clock=lambda: SECOND)
    ended = tick_of(installation)

    assert (killed.state, killed.outcome) == (
        "failed",
        'jobs.killed {"signal":9}',
    )
    assert ended.outcome is not None
    assert "2 of 2 payouts explained to the peso" in ended.outcome
    with installation.store.reading() as session:
        assert [run.as_of.isoformat() for run in session.exec(select(Run))] == ["2026-10-03"]


def test_a_night_that_cannot_begin_says_why(installation: Installation, job: Job, tmp_path: Path) -> None:
    """Settings that were broken since the worker began fail the night with their sentence."""
    (tmp_path / "cuadre.toml").write_text("[tariff]\nvat_bps = 'much'\n", encoding="utf-8")
    run_due(job, installation.store, worker="w", clock=lambda: FIRST)
    tick = tick_of(installation)
    assert (tick.state, "vat_bps" in (tick.outcome or "")) == ("failed", True)


@pytest.mark.usefixtures("steer")
def test_a_night_ends_with_its_worker(installation: Installation) -> None:
    """Where the worker dies the other end of the pipe closes, and its night is over at once."""
    command = [*processes._COMMAND, "nightly", "main", "2026-10-02"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as night:
        until(lambda: has_events(installation), "the first events are in")
        assert night.stdin is not None
        night.stdin.close()
        assert night.wait(PATIENCE) == 1


def test_who_serves_answers_while_a_night_runs_and_takes_it_down_when_stopped(
    installation: Installation, steer: Steer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Webhooks and pages are answered beside it; stopped, the night is given back, and the next worker ends it."""
    now = utc_now()
    long_ago, due = now - timedelta(days=30), now - timedelta(minutes=2)
    assert ticks.claim(installation.store, NIGHT, long_ago, worker="w", now=long_ago)
    monkeypatch.setenv("CUADRE_NIGHTLY_AT", f"{due.astimezone(ZoneInfo('America/Santiago')):%H:%M}")
    port = free_port()
    command = [sys.executable, "-P", "-m", "cuadre", "serve", "--port", str(port)]
    with (tmp_path / "serve.log").open("wb") as log, subprocess.Popen(command, stderr=log) as serving:
        until(lambda: nights_of(serving.pid) and has_events(installation), "a night has begun")
        (night,) = nights_of(serving.pid)
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)) as connection:
            answered = deliver(connection, b'{"id": "evt_beside", "type": "made.up", "mode": "test", "data": {}}')
            connection.request("GET", "/login")
            page = connection.getresponse().status
        running = tick_of(installation)
        serving.terminate()
    until(lambda: not is_there(night), "the night has ended")
    given_back = tick_of(installation)
    steer.switch_off()
    again = app.open_installation()
    taken = run_due(night_of(again), again.store, worker="next")
    again.store.close()
    ended = tick_of(installation)

    assert (answered[0], answered[1], page, running.state) == (200, {"status": "stored"}, 200, "running")
    assert (serving.returncode, given_back.state, given_back.lease_until < utc_now()) == (0, "running", True)
    assert (taken, ended.planned_at, ended.worker) == (True, running.planned_at, "next")
    assert "main: reconcile: run 1, " in (ended.outcome or "")
