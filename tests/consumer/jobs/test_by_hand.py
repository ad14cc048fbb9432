"""Work that a person asked for: one at a time, seen among the jobs, and its failure too."""

import os
import subprocess
import sys
import threading
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

import pytest
from sqlalchemy.exc import IntegrityError
from sqlmodel import select

from consumer.facts.clock import utc_now
from consumer.facts.store import Store
from consumer.facts.tables.jobs import Tick, TickState
from consumer.facts.work import ErrandRefusedError
from consumer.jobs import by_hand, liveness, ticks
from consumer.jobs.schedule import Job, run_due

NOW = datetime(2026, 10, 5, 9, 0, tzinfo=UTC)


def ticks_of(store: Store) -> list[tuple[str, str, str | None]]:
    with store.reading() as session:
        return [(tick.job, tick.state, tick.outcome) for tick in session.exec(select(Tick).order_by(Tick.job))]


def test_a_job_says_how_it_ended(store: Store) -> None:
    """Done, incomplete and failed are distinguished, and a failure goes on to the caller."""
    with by_hand.keep_tick(store, "a", worker="w", clock=lambda: NOW) as end:
        end(True, "6 read")
    with by_hand.keep_tick(store, "b", worker="w", clock=lambda: NOW) as end:
        end(False, "page 2 failed")
    with pytest.raises(ValueError, match="no such day"), by_hand.keep_tick(store, "c", worker="w", clock=lambda: NOW):
        raise ValueError("no such day")
    assert ticks_of(store) == [
        ("a", "complete", "6 read"),
        ("b", "incomplete", "page 2 failed"),
        ("c", "failed", "ValueError: no such day"),
    ]


@pytest.mark.both_databases
def test_the_same_job_runs_once_at_a_time(store: Store) -> None:
    """A second click while the first works is refused, another job is not, and afterwards it may run again."""
    go, begun = threading.Event(), threading.Event()

    def wait() -> tuple[bool, str]:
        begun.set()
        go.wait(120)
        return True, "done"

    first = by_hand.start(store, "pull:main:payouts", wait, worker="w", clock=lambda: NOW)
    assert begun.wait(120)
    with pytest.raises(ErrandRefusedError, match="pull:main:payouts is running already"):
        by_hand.start(store, "pull:main:payouts", wait, worker="w", clock=lambda: NOW)
    by_hand.start(store, "pull:main:refunds", lambda: (True, ""), worker="w", clock=lambda: NOW).join(120)
    go.set()
    first.join(120)
    later = NOW + timedelta(seconds=1)
    by_hand.start(store, "pull:main:payouts", lambda: (True, ""), worker="w", clock=lambda: later).join(120)


@pytest.mark.both_databases
def test_of_many_who_ask_at_once_one_begins(store: Store) -> None:
    """Clicks that fall together, each at a moment of its own, start the job once, again and again."""
    go, rounds, many = threading.Event(), range(5), range(6)
    together = threading.Barrier(len(many))
    begun: list[threading.Thread] = []
    refused: list[str] = []

    def work() -> tuple[bool, str]:
        go.wait(120)
        return True, "done"

    def ask(number: int) -> None:
        at = NOW + timedelta(microseconds=number)
        for one in rounds:
            together.wait(120)
            try:
                begun.append(by_hand.start(store, f"pull:{one}", work, worker=f"w{number}", clock=lambda: at))
            except ErrandRefusedError as error:
                refused.append(str(error))

    asking = [threading.Thread(target=ask, args=(number,)) for number in many]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join(120)
    go.set()
    for thread in begun:
        thread.join(120)
    assert sorted(refused) == [
        f"pull:{one} is running already: see the jobs" for one in (0, 1, 2, 3, 4) for _ in many[1:]
    ]
    assert ticks_of(store) == [(f"pull:{one}", "complete", "done") for one in (0, 1, 2, 3, 4)]


def test_a_job_whose_process_died_is_failed_and_may_begin_again(store: Store) -> None:
    """Until its lease is past it keeps others out; then the next one says that it died, and runs."""
    for job in ("backfill:main", "nightly:main by hand"):
        assert ticks.claim(store, job, NOW, worker="dead", now=NOW)
    soon, late = NOW + timedelta(minutes=14), NOW + timedelta(minutes=16)
    with pytest.raises(ErrandRefusedError):
        by_hand.start(store, "backfill:main", lambda: (True, ""), worker="w", clock=lambda: soon)
    by_hand.start(store, "backfill:main", lambda: (True, "done"), worker="w", clock=lambda: late).join(120)
    with by_hand.keep_tick(store, "nightly:main by hand", worker="w", clock=lambda: late) as end:
        end(True, "6 lines")
    assert sorted(ticks_of(store)) == [
        ("backfill:main", "complete", "done"),
        ("backfill:main", "failed", "note.worker_stopped"),
        ("nightly:main by hand", "complete", "6 lines"),
        ("nightly:main by hand", "failed", "note.worker_stopped"),
    ]


def test_what_a_database_says_stays_out_of_the_jobs(store: Store) -> None:
    """Its message may quote a row, so the tick bears the kind of failure alone, by hand and by night."""
    row = "INSERT INTO account VALUES ('made-up holder')"
    with pytest.raises(IntegrityError), by_hand.keep_tick(store, "a", worker="w", clock=lambda: NOW):
        raise IntegrityError(row, None, ValueError("made-up holder"))

    def fail(_on: date) -> str:
        raise IntegrityError(row, None, ValueError("made-up holder"))

    run_due(Job("b", time(9), "UTC", fail), store, worker="w", clock=lambda: NOW)
    assert ticks_of(store) == [("a", "failed", "IntegrityError"), ("b", "failed", "IntegrityError")]


@pytest.mark.both_databases
def test_what_is_published_is_canceled_no_more(store: Store) -> None:
    """Until the transaction that publishes a person ends it, and it publishes nothing; from then on it was too late."""
    assert ticks.claim_alone(store, "reconcile:main", worker="w", now=NOW)
    with store.transaction() as session:
        ticks.seal(session, "reconcile:main", NOW)
        session.rollback()
    ticks.note_progress(store, "reconcile:main", "run.keeping")
    with store.transaction() as session:
        ticks.seal(session, "reconcile:main", NOW)
    ticks.note_progress(store, "reconcile:main", "run.freezing")
    assert not ticks.cancel(store, "reconcile:main", reason="canceled", now=NOW)
    assert ticks_of(store) == [("reconcile:main", "running", ticks.SEALED)]
    ticks.finish(store, "reconcile:main", NOW, worker="w", now=NOW, ending=(TickState.COMPLETE, "run 7"))

    later = NOW + timedelta(seconds=1)
    assert ticks.claim_alone(store, "reconcile:main", worker="w", now=later)
    with store.transaction() as session, pytest.raises(ticks.CanceledError):
        ticks.seal(session, "reconcile:main", NOW)
    assert ticks.cancel(store, "reconcile:main", reason="canceled", now=later)
    with store.transaction() as session, pytest.raises(ticks.CanceledError):
        ticks.seal(session, "reconcile:main", later)


# A process that works at a job until it is killed, and says on its output that it has begun.
WORKING = """
import sys, threading
from consumer.facts.clock import utc_now
from consumer.facts.store import Store
from consumer.jobs import by_hand
by_hand.start(Store(sys.argv[1]), sys.argv[2], lambda: threading.Event().wait(), worker="host:1:1")
print("begun", flush=True)
threading.Event().wait()
"""


@pytest.mark.both_databases
def test_work_whose_process_was_killed_is_over_at_once(store: Store) -> None:
    """The lock of a process tells it from one that lives, though both bear one name; nights wait for their lease."""
    url = store.engine.url.render_as_string(hide_password=False)
    jobs = ("closing:main", "reconcile:main")
    living, gone = (
        subprocess.Popen([sys.executable, "-c", WORKING, url, job], stdout=subprocess.PIPE, text=True) for job in jobs
    )
    try:
        for process in (living, gone):
            assert process.stdout is not None
            assert process.stdout.readline() == "begun\n"
        assert ticks.claim(store, "nightly:main", NOW, worker="host:1:1", now=utc_now())
        ticks.end_dead_work(store, now=NOW)
        assert {state for _, state, _ in ticks_of(store)} == {"running"}
        gone.kill()
        gone.wait()
        # A database hears of it from the system, within a moment.
        while ticks.find_running(store, "reconcile:main") is not None:
            ticks.end_dead_work(store, now=NOW)
        assert ticks_of(store) == [
            ("closing:main", "running", None),
            ("nightly:main", "running", None),
            ("reconcile:main", "failed", "note.worker_stopped"),
        ]
        with pytest.raises(ErrandRefusedError):
            by_hand.start(store, "closing:main", lambda: (True, ""), worker="w")
        by_hand.start(store, "reconcile:main", lambda: (True, "done"), worker="w").join(120)
    finally:
        for process in (living, gone):
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()


def test_work_leaves_no_file_of_its_lock(tmp_path: Path) -> None:
    """What ended took its file along; what was killed loses it to whoever finds it gone, or an hour later."""
    store = Store(f"sqlite:///{tmp_path / 'own.db'}")
    with liveness.hold(store) as name:
        assert not liveness.is_gone(store, name)
        assert [path.name for path in tmp_path.glob("*-work-*")] == [f"own.db-work-{name}"]
    (tmp_path / "own.db-work-7").touch()
    assert liveness.is_gone(store, "7")
    assert list(tmp_path.glob("*-work-*")) == []
    for name in ("8", "9"):
        (tmp_path / f"own.db-work-{name}").touch()
    os.utime(tmp_path / "own.db-work-8", (0, 0))
    with liveness.hold(store) as name:
        os.utime(tmp_path / f"own.db-work-{name}", (0, 0))
        with liveness.hold(store):
            assert not liveness.is_gone(store, name)
    assert [path.name for path in tmp_path.glob("*-work-*")] == ["own.db-work-9"]
    store.close()
