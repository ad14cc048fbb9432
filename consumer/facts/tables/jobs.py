"""Ticks of scheduled jobs: one row per job and planned moment, so that a second scheduler is harmless."""

from datetime import datetime

import sqlalchemy as sa
from sqlmodel import Field, SQLModel, col

from consumer.facts.tables.columns import UtcDateTime, moment


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


RUNNING = "running"
DEAD = "dead"
DIED = "its worker stopped before the end"


def is_in_state(state: str, *, now: datetime) -> sa.ColumnElement[bool]:
    """Ask for ticks by the state they are shown in."""
    is_running, is_over = col(Tick.state) == RUNNING, col(Tick.lease_until) < now
    if state == DEAD:
        return is_running & is_over
    return is_running & ~is_over if state == RUNNING else col(Tick.state) == state


def to_shown(tick: Tick, *, now: datetime) -> dict[str, object]:
    """Name a tick's columns; one whose worker stopped renewing it is dead, though nobody has written so yet."""
    shown = tick.model_dump()
    if tick.state == RUNNING and tick.lease_until < now:
        shown |= {"state": DEAD, "outcome": DIED}
    return shown
