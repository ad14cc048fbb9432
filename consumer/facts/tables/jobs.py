"""Ticks of scheduled jobs: one row per job and planned moment, so that a second scheduler is harmless."""

from datetime import datetime

from sqlmodel import Field, SQLModel

from consumer.facts.store import UtcDateTime
from consumer.facts.tables.provider import moment


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
