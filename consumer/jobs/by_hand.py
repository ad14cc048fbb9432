"""Work that a person asked for: run once, here and now, and written down as a tick like a night."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime

from consumer.facts.clock import utc_now
from consumer.facts.store import Store
from consumer.facts.tables.jobs import TickState
from consumer.facts.work import ErrandRefusedError, WorkError
from consumer.jobs import liveness, ticks

# Done whole or not, and what there is to say of it.
Work = Callable[[], tuple[bool, str]]
End = Callable[[bool, str], None]


@contextmanager
def keep_tick(store: Store, job: str, *, worker: str, clock: Callable[[], datetime] = utc_now) -> Iterator[End]:
    """Keep a tick for as long as the block lasts; the block says how it ended, or its failure does.

    A job of this kind may run twice at a time, since whoever was killed must not keep the next one waiting.
    """
    at = clock()
    ticks.settle(store, job, before=at, planned=(), now=at)
    if not ticks.claim(store, job, at, worker=worker, now=at):
        raise WorkError(f"{job} was begun elsewhere at this very moment: ask again")
    with _until_its_end(store, job, at, worker=worker, clock=clock) as end:
        yield end


def start(
    store: Store, job: str, work: Work, *, worker: str, clock: Callable[[], datetime] = utc_now
) -> threading.Thread:
    """Do the work in a thread of this process; the same job is refused while it runs anywhere."""
    at = clock()
    ticks.end_dead_work(store, now=at)
    with ExitStack() as stack:
        holder = ticks.name_holder(worker, stack.enter_context(liveness.hold(store)))
        if not ticks.claim_alone(store, job, worker=holder, now=at):
            raise ErrandRefusedError("jobs.running_already", job=job)
        alive = stack.pop_all()

    def run() -> None:
        with alive, _until_its_end(store, job, at, worker=holder, clock=clock) as end:
            end(*work())

    thread = threading.Thread(target=run, name=job, daemon=True)
    thread.start()
    return thread


@contextmanager
def _until_its_end(
    store: Store, job: str, at: datetime, *, worker: str, clock: Callable[[], datetime]
) -> Iterator[End]:
    endings = [(TickState.COMPLETE, "")]
    try:
        with ticks.renew_lease(store, job, at, worker=worker, clock=clock):
            yield lambda complete, lines: endings.append(
                (TickState.COMPLETE if complete else TickState.INCOMPLETE, lines)
            )
    except BaseException as error:
        ticks.finish(store, job, at, worker=worker, now=clock(), ending=ticks.failure(error))
        raise
    ticks.finish(store, job, at, worker=worker, now=clock(), ending=endings[-1])
