"""Ticks: a planned moment of a job is run by exactly one worker, and taken over when that worker dies."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from enum import StrEnum

import sqlalchemy as sa
from sqlmodel import select

from consumer.facts.clock import utc_now
from consumer.facts.store import Store, insert_once
from consumer.facts.tables.jobs import Tick

# Longer than any clock skew worth bearing: a worker whose clock is ahead must not take a tick that is alive.
LEASE = timedelta(minutes=15)


class TickState(StrEnum):
    RUNNING = "running"
    DONE = "done"
    INCOMPLETE = "incomplete"
    FAILED = "failed"


def claim(store: Store, job: str, planned_at: datetime, *, worker: str, now: datetime) -> bool:
    """Take a tick that nobody has, or whose worker stopped renewing it; False when it is somebody else's or done."""
    row = {
        "job": job,
        "planned_at": planned_at,
        "state": TickState.RUNNING,
        "worker": worker,
        "started_at": now,
        "lease_until": now + LEASE,
    }
    with store.connection() as connection:
        if insert_once(connection, Tick, [row], keys=["job", "planned_at"]):
            return True
        taken_over = connection.execute(
            sa.update(Tick)
            .where(_is(job, planned_at), Tick.state == TickState.RUNNING, Tick.lease_until < now)  # type: ignore[arg-type]
            .values(worker=worker, started_at=now, lease_until=now + LEASE)
        )
        return taken_over.rowcount == 1


def has_run(store: Store, job: str) -> bool:
    """Tell whether any tick of the job was ever taken here."""
    with store.reading() as session:
        return session.exec(select(Tick.job).where(Tick.job == job).limit(1)).first() is not None


def renew(store: Store, job: str, planned_at: datetime, *, worker: str, now: datetime) -> bool:
    """Keep a tick; False when another worker has taken it over in the meantime."""
    return _change(store, job, planned_at, worker, {"lease_until": now + LEASE})


def finish(
    store: Store, job: str, planned_at: datetime, *, worker: str, now: datetime, ending: tuple[TickState, str]
) -> bool:
    """Write down how a tick ended; a worker that lost its lease changes nothing."""
    state, outcome = ending
    return _change(store, job, planned_at, worker, {"state": state, "finished_at": now, "outcome": outcome})


def _is(job: str, planned_at: datetime) -> sa.ColumnElement[bool]:
    return sa.and_(Tick.job == job, Tick.planned_at == planned_at)  # type: ignore[arg-type]


def _change(store: Store, job: str, planned_at: datetime, worker: str, values: dict[str, object]) -> bool:
    with store.connection() as connection:
        changed = connection.execute(
            sa.update(Tick)
            .where(_is(job, planned_at), Tick.worker == worker, Tick.state == TickState.RUNNING)  # type: ignore[arg-type]
            .values(values)
        )
        return changed.rowcount == 1


@contextmanager
def kept(
    store: Store, job: str, planned_at: datetime, *, worker: str, clock: Callable[[], datetime] = utc_now
) -> Iterator[None]:
    """Renew a tick from a thread of its own for as long as its work lasts."""
    over = threading.Event()

    def keep() -> None:
        while not over.wait(LEASE.total_seconds() / 4):
            renew(store, job, planned_at, worker=worker, now=clock())

    keeper = threading.Thread(target=keep, name=f"keeper of {job}", daemon=True)
    keeper.start()
    try:
        yield
    finally:
        over.set()
        keeper.join()
