"""Work that a person asked for: run once, here and now, and written down as a tick beside the nights."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime

from sqlmodel import col, select

from consumer.facts.clock import utc_now
from consumer.facts.errands import ErrandRefusedError
from consumer.facts.store import Store
from consumer.facts.tables.jobs import Tick
from consumer.jobs import ticks
from consumer.jobs.ticks import TickState

Ending = tuple[TickState, str]
# Done whole or not, and what there is to say of it.
Work = Callable[[], tuple[bool, str]]


@contextmanager
def noted(
    store: Store, job: str, *, worker: str, clock: Callable[[], datetime] = utc_now
) -> Iterator[Callable[[bool, str], None]]:
    """Keep a tick for as long as the block lasts; the block says how it ended, or its failure does."""
    at = clock()
    endings: list[Ending] = []
    ticks.claim(store, job, at, worker=worker, now=at)
    try:
        with ticks.kept(store, job, at, worker=worker, clock=clock):
            yield lambda complete, told: endings.append(
                (TickState.COMPLETE if complete else TickState.INCOMPLETE, told)
            )
    except BaseException as error:
        failed = (TickState.FAILED, f"{type(error).__name__}: {error}")
        ticks.finish(store, job, at, worker=worker, now=clock(), ending=failed)
        raise
    ticks.finish(
        store, job, at, worker=worker, now=clock(), ending=endings[-1] if endings else (TickState.COMPLETE, "")
    )


def start(
    store: Store, job: str, work: Work, *, worker: str, clock: Callable[[], datetime] = utc_now
) -> threading.Thread:
    """Do the work in a thread of this process; the same job is refused while it runs anywhere."""
    if is_running(store, job, now=clock()):
        raise ErrandRefusedError(f"{job} is running already: see the jobs")

    def run() -> None:
        with noted(store, job, worker=worker, clock=clock) as end:
            end(*work())

    thread = threading.Thread(target=run, name=job, daemon=True)
    thread.start()
    return thread


def is_running(store: Store, job: str, *, now: datetime) -> bool:
    alive = col(Tick.state) == TickState.RUNNING, col(Tick.lease_until) > now
    with store.reading() as session:
        return session.exec(select(Tick.job).where(col(Tick.job) == job, *alive).limit(1)).first() is not None
