"""Work that a person asked for: one at a time, seen among the jobs, and its failure too."""

import threading
from datetime import UTC, datetime

import pytest
from sqlmodel import select

from consumer.facts.errands import ErrandRefusedError
from consumer.facts.store import Store
from consumer.facts.tables.jobs import Tick
from consumer.jobs import asked

NOW = datetime(2026, 10, 5, 9, 0, tzinfo=UTC)


def ticks_of(store: Store) -> list[tuple[str, str, str | None]]:
    with store.reading() as session:
        return [(tick.job, tick.state, tick.outcome) for tick in session.exec(select(Tick).order_by(Tick.job))]


def test_a_job_says_how_it_ended(store: Store) -> None:
    """Done, incomplete and failed are told apart, and a failure goes on to the caller."""
    with asked.noted(store, "a", worker="w", clock=lambda: NOW) as end:
        end(True, "6 read")
    with asked.noted(store, "b", worker="w", clock=lambda: NOW) as end:
        end(False, "page 2 failed")
    with pytest.raises(ValueError, match="no such day"), asked.noted(store, "c", worker="w", clock=lambda: NOW):
        raise ValueError("no such day")
    assert ticks_of(store) == [
        ("a", "complete", "6 read"),
        ("b", "incomplete", "page 2 failed"),
        ("c", "failed", "ValueError: no such day"),
    ]


def test_the_same_job_runs_once_at_a_time(store: Store) -> None:
    """A second click while the first works is refused, another job is not, and afterwards it may run again."""
    go, begun = threading.Event(), threading.Event()

    def wait() -> tuple[bool, str]:
        begun.set()
        go.wait(10)
        return True, "done"

    first = asked.start(store, "pull:main:payouts", wait, worker="w", clock=lambda: NOW)
    assert begun.wait(10)
    with pytest.raises(ErrandRefusedError, match="pull:main:payouts is running already"):
        asked.start(store, "pull:main:payouts", wait, worker="w", clock=lambda: NOW)
    asked.start(store, "pull:main:refunds", lambda: (True, ""), worker="w", clock=lambda: NOW).join(10)
    go.set()
    first.join(10)
    assert not asked.is_running(store, "pull:main:payouts", now=NOW)
