"""Nights that a person asked for, of one connection or several: one after another, or side by side."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from typing import TypeVar

from consumer.alarms.pings import Pings
from consumer.facts.clock import utc_now
from consumer.facts.installation import Connection, Installation
from consumer.facts.tables.jobs import BY_HAND, TickState
from consumer.facts.work import WorkError
from consumer.jobs import by_hand, processes
from consumer.jobs.processes import Answer, Ended
from consumer.jobs.schedule import JobFailedError
from consumer.jobs.worker import worker_name

T = TypeVar("T", bound=Ended)
Work = Callable[[Installation, Connection, date], T]


def run_by_hand(installation: Installation, connection: Connection, on: date, work: Work[T]) -> T:
    """Run a night that a person asked for, listed among the jobs like any other."""
    pings, job, at = Pings(installation.settings.ping_urls), f"nightly:{connection.name}", utc_now()
    pings.started(job, at)
    try:
        with by_hand.keep_tick(installation.store, f"{job}{BY_HAND}", worker=worker_name()) as end:
            outcome = work(installation, connection, on)
            end(outcome.complete, "; ".join(outcome.lines))
    except BaseException:
        pings.ended(job, at, TickState.FAILED)
        raise
    pings.ended(job, at, TickState.COMPLETE if outcome.complete else TickState.INCOMPLETE)
    return outcome


def run_side_by_side(
    installation: Installation, asked: Sequence[tuple[Connection, date]], night: Work[Answer], *, at_once: int
) -> Iterator[Answer]:
    """Run each night in a process of its own, so many at a time, and yield how they ended in the order asked for.

    A night that fails ends no other; whoever stops taking answers stops them all.
    """

    def run(one: tuple[Connection, date]) -> Answer:
        try:
            return run_by_hand(installation, *one, night)
        except (JobFailedError, WorkError) as failed:
            return Answer(complete=False, lines=[f"{one[0].name}: {failed}"], failure=str(failed))

    with ThreadPoolExecutor(at_once, thread_name_prefix="night") as pool:
        try:
            yield from pool.map(run, asked)
        except BaseException:
            processes.stop_children()
            raise
