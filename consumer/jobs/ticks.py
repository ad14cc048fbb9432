"""Ticks: exactly one worker runs a planned moment of a job, and another takes it over if that worker dies."""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from itertools import islice, takewhile

import sqlalchemy as sa
import structlog
from sqlmodel import Session, select

from consumer.facts.clock import utc_now
from consumer.facts.durable import is_disk_shut
from consumer.facts.messages import Message
from consumer.facts.store import Store, Turn, insert_once, take_turn
from consumer.facts.tables.jobs import DIED, Tick, TickState
from consumer.facts.tables.types import core_of
from consumer.facts.work import WorkError
from consumer.jobs import liveness

log = structlog.get_logger("cuadre.jobs")

# Longer than clocks may differ: a worker whose clock is ahead must not take a tick that is alive.
LEASE = timedelta(minutes=15)
_TICK = core_of(Tick)
_MISSED = "nothing ran at that time; cuadre nightly --date repeats a day"
_MOST_MISSED = 100
# Between a worker's name and the lock that it holds.
_LOCK = "#"
# Where a job stands whose result is published.
SEALED = Message("run.sealed").to_text()


class CanceledError(Exception):
    """A job that a person ended before it could publish."""


def claim(store: Store, job: str, planned_at: datetime, *, worker: str, now: datetime) -> bool:
    """Take a tick that is free or whose lease ended; return False if another worker has it or it is done."""
    if not _is_free(store, job, planned_at, now=now):
        return False
    with store.connection() as connection:
        if insert_once(connection, Tick, [_begun(job, planned_at, worker, now)], keys=["job", "planned_at"]):
            return True
        taken_over = connection.execute(
            sa.update(_TICK)
            .where(_is(job, planned_at), _TICK.c.state == TickState.RUNNING, _TICK.c.lease_until < now)
            .values(worker=worker, started_at=now, lease_until=now + LEASE)
        )
        return taken_over.rowcount == 1


def claim_alone(store: Store, job: str, *, worker: str, now: datetime) -> bool:
    """Take a tick for work without a schedule; return False while the job is at work in any process.

    A lock lets one process at a time look and write. A tick whose worker died becomes failed.
    """
    with store.transaction() as session:
        take_turn(session, Turn.ERRANDS)
        connection = session.connection()
        _bury(connection, _TICK.c.job == job, now=now)
        alive = sa.select(_TICK.c.job).where(_TICK.c.job == job, _TICK.c.state == TickState.RUNNING)
        if connection.execute(alive.limit(1)).first() is not None:
            return False
        return bool(insert_once(connection, Tick, [_begun(job, now, worker, now)], keys=["job", "planned_at"]))


def note_progress(store: Store, job: str, text: str) -> None:
    """Write down where a job without a schedule stands, for whoever looks at it while it runs."""
    with store.connection() as connection:
        connection.execute(_TICK.update().where(_is_open(job)).values(outcome=text))


def seal(session: Session, job: str, planned_at: datetime) -> None:
    """Let a job be canceled no more, once the caller's transaction is committed; raise CanceledError if it was."""
    sealed = _TICK.update().where(_is(job, planned_at) & _is_running(job)).values(outcome=SEALED)
    if not session.connection().execute(sealed).rowcount:
        raise CanceledError(job)


def cancel(store: Store, job: str, *, reason: str, now: datetime) -> bool:
    """End a job without a schedule; return False if it does not run or is sealed.

    Its process ends with `end_if_canceled`.
    """
    ended = {"state": TickState.CANCELED, "outcome": reason, "finished_at": now}
    with store.connection() as connection:
        return connection.execute(_TICK.update().where(_is_open(job)).values(ended)).rowcount > 0


def find_running(store: Store, job: str) -> datetime | None:
    """Return the moment by which the running tick of a job is known."""
    with store.reading() as session:
        newest: datetime | None = session.scalar(sa.select(sa.func.max(_TICK.c.planned_at)).where(_is_running(job)))
        return newest


def _is_running(job: str) -> sa.ColumnElement[bool]:
    return (_TICK.c.job == job) & (_TICK.c.state == TickState.RUNNING)


def _is_open(job: str) -> sa.ColumnElement[bool]:
    return _is_running(job) & (sa.func.coalesce(_TICK.c.outcome, "") != SEALED)


def failure(error: BaseException) -> tuple[TickState, str]:
    """Return how work failed; of a database's error the kind alone, since its message may quote rows."""
    if isinstance(error, WorkError):
        return TickState.FAILED, error.message
    if is_disk_shut(error):
        return TickState.FAILED, Message("jobs.disk_full").to_text()
    kind = type(error).__name__
    return TickState.FAILED, kind if isinstance(error, sa.exc.SQLAlchemyError) else f"{kind}: {error}"


def _begun(job: str, planned_at: datetime, worker: str, now: datetime) -> dict[str, object]:
    return {
        "job": job,
        "planned_at": planned_at,
        "state": TickState.RUNNING,
        "worker": worker,
        "started_at": now,
        "lease_until": now + LEASE,
    }


def _bury(connection: sa.Connection, which: sa.ColumnElement[bool], *, now: datetime) -> None:
    dead = which & (_TICK.c.state == TickState.RUNNING) & (_TICK.c.lease_until < now)
    connection.execute(_TICK.update().where(dead).values(state=TickState.FAILED, outcome=DIED, finished_at=now))


def name_holder(worker: str, lock: str) -> str:
    """Name a worker with the lock that says whether it is alive."""
    return f"{worker}{_LOCK}{lock}" if lock else worker


def end_dead_work(store: Store, *, now: datetime) -> None:
    """Say of work asked for by hand whose process is gone that it failed, without waiting for its lease to end.

    Work whose holder named no lock, and nights, are taken over once their lease is over.
    """
    held = (_TICK.c.state == TickState.RUNNING) & _TICK.c.worker.contains(_LOCK)
    with store.reading() as session:
        rows = session.execute(sa.select(_TICK.c.job, _TICK.c.planned_at, _TICK.c.worker).where(held)).all()
    for job, planned_at, worker in rows:
        if liveness.is_gone(store, worker.rpartition(_LOCK)[2]):
            finish(store, job, planned_at, worker=worker, now=now, ending=(TickState.FAILED, DIED))


def _is_free(store: Store, job: str, planned_at: datetime, *, now: datetime) -> bool:
    """Return True if the tick may be taken; a read first, since most wake-ups find their tick done."""
    with store.reading() as session:
        tick = session.get(Tick, (job, planned_at))
    return tick is None or (tick.state == TickState.RUNNING and tick.lease_until < now)


def settle(store: Store, job: str, *, before: datetime, planned: Iterable[datetime], now: datetime) -> int:
    """Write down earlier ticks whose worker died and planned moments without a tick; return how many were missed.

    `planned` are the job's moments before this one, newest first.
    """
    earlier = (_TICK.c.job == job) & (_TICK.c.planned_at < before)
    with store.connection() as connection:
        _bury(connection, earlier, now=now)
        last = connection.execute(sa.select(sa.func.max(_TICK.c.planned_at)).where(earlier)).scalar_one()
        if last is None:
            return 0
        missed = list(takewhile(lambda moment: moment > last, islice(planned, _MOST_MISSED)))
        own = {"job": job, "state": TickState.MISSED, "worker": "", "started_at": now, "lease_until": now}
        rows = [{**own, "planned_at": moment, "finished_at": now, "outcome": _MISSED} for moment in missed]
        return len(insert_once(connection, Tick, rows, keys=["job", "planned_at"]))


def forget(store: Store, job: str, *, before: datetime) -> None:
    """Delete the ticks of a job planned before a moment, except the newest, which says that the job has run."""
    mine = _TICK.c.job == job
    newest = sa.select(sa.func.max(_TICK.c.planned_at)).where(mine).scalar_subquery()
    with store.connection() as connection:
        connection.execute(_TICK.delete().where(mine, _TICK.c.planned_at < before, _TICK.c.planned_at < newest))


def has_run(store: Store, job: str) -> bool:
    """Return True if any tick of the job was ever taken on this database."""
    with store.reading() as session:
        return session.exec(select(Tick.job).where(Tick.job == job).limit(1)).first() is not None


def renew(store: Store, job: str, planned_at: datetime, *, worker: str, now: datetime) -> bool:
    """Extend the lease of a tick; return False if another worker has taken it over."""
    return _change(store, job, planned_at, worker, {"lease_until": now + LEASE})


def release(store: Store, job: str, planned_at: datetime, *, worker: str, now: datetime) -> bool:
    """Give back a tick that was not run to its end, so that any worker may take it at once."""
    return _change(store, job, planned_at, worker, {"lease_until": now - timedelta(microseconds=1)})


def finish(
    store: Store, job: str, planned_at: datetime, *, worker: str, now: datetime, ending: tuple[TickState, str]
) -> bool:
    """Write down how a tick ended; return False if this worker lost its lease."""
    state, outcome = ending
    return _change(store, job, planned_at, worker, {"state": state, "finished_at": now, "outcome": outcome})


def _is(job: str, planned_at: datetime) -> sa.ColumnElement[bool]:
    return sa.and_(_TICK.c.job == job, _TICK.c.planned_at == planned_at)


def _change(store: Store, job: str, planned_at: datetime, worker: str, values: dict[str, object]) -> bool:
    with store.connection() as connection:
        changed = connection.execute(
            sa.update(_TICK)
            .where(_is(job, planned_at), _TICK.c.worker == worker, _TICK.c.state == TickState.RUNNING)
            .values(values)
        )
        return changed.rowcount == 1


@contextmanager
def renew_lease(
    store: Store, job: str, planned_at: datetime, *, worker: str, clock: Callable[[], datetime] = utc_now
) -> Iterator[None]:
    """Renew a tick from a background thread while the block runs, also after the database was away."""
    over = threading.Event()

    def keep() -> None:
        is_failing = False
        while not over.wait(LEASE.total_seconds() / 4):
            try:
                renew(store, job, planned_at, worker=worker, now=clock())
                is_failing = False
            except sa.exc.SQLAlchemyError as error:
                if not is_failing:
                    log.warning("lease not renewed", job=job, error=type(error).__name__)
                is_failing = True

    keeper = threading.Thread(target=keep, name=f"keeper of {job}", daemon=True)
    keeper.start()
    try:
        yield
    finally:
        over.set()
        keeper.join()
