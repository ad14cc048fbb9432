"""Ticks of scheduled jobs: one row per job and planned moment, so that a second scheduler is harmless."""

from datetime import datetime
from enum import StrEnum

import sqlalchemy as sa
from sqlmodel import Field, Session, SQLModel, col

from consumer.facts.tables.types import UtcDateTime, moment

# What the name of a job ends with that a person started outside its schedule.
BY_HAND = " by hand"


class TickState(StrEnum):
    """`dead` is only shown: the row of a worker that stopped still says running."""

    RUNNING = "running"
    COMPLETE = "complete"
    INCOMPLETE = "incomplete"
    FAILED = "failed"
    CANCELED = "canceled"
    MISSED = "missed"
    DEAD = "dead"


class WriteCheck(SQLModel, table=True):
    """The row that is written to find out whether anything can be."""

    __tablename__ = "write_check"

    name: str = Field(primary_key=True)
    written_at: datetime = moment(optional=False)


class SharedFile(SQLModel, table=True):
    """A part of a file that every machine on this database reaches."""

    __tablename__ = "shared_file"

    path: str = Field(primary_key=True)
    part: int = Field(primary_key=True)
    content: bytes = Field(sa_type=sa.LargeBinary)
    stored_at: datetime = moment(optional=False)


class Tick(SQLModel, table=True):
    __tablename__ = "tick"

    job: str = Field(primary_key=True)
    planned_at: datetime = Field(primary_key=True, sa_type=UtcDateTime)
    state: str
    worker: str
    started_at: datetime = moment(optional=False)
    lease_until: datetime = moment(optional=False)
    finished_at: datetime | None = moment()
    outcome: str | None = None


# The code of what is said of it.
DIED = "note.worker_stopped"


def is_in_state(state: str, *, now: datetime) -> sa.ColumnElement[bool]:
    """Ask for ticks by the state they are shown in."""
    is_running, is_over = col(Tick.state) == TickState.RUNNING, col(Tick.lease_until) < now
    if state == TickState.DEAD:
        return is_running & is_over
    return is_running & ~is_over if state == TickState.RUNNING else col(Tick.state) == state


def is_job_of(connection: str) -> sa.ColumnElement[bool]:
    """Ask for the ticks of one connection's jobs; its name follows the kind of job, as in `pull:main:payouts`."""
    job, name = col(Tick.job), f":{connection}"
    is_last = job.endswith(name, autoescape=True) & ~job.like("%:%:%")
    return is_last | job.contains(f"{name}:", autoescape=True) | job.contains(f"{name} ", autoescape=True)


def find_newest(session: Session, job: str) -> Tick | None:
    newest = sa.select(Tick).where(col(Tick.job) == job).order_by(col(Tick.planned_at).desc())
    return session.scalar(newest.limit(1))


def to_shown(tick: Tick, *, now: datetime) -> dict[str, object]:
    """Name a tick's columns; one whose worker stopped renewing it is dead, also while its row does not say so yet."""
    shown = tick.model_dump()
    if tick.state == TickState.RUNNING and tick.lease_until < now:
        shown |= {"state": TickState.DEAD.value, "outcome": DIED}
    return shown
