"""The inbox: every event once, what arrived under its id with another meaning, and the ledger of windows asked for."""

from datetime import datetime

from sqlalchemy import Index, LargeBinary
from sqlmodel import Field, SQLModel

from consumer.facts.tables.provider import moment


class Event(SQLModel, table=True):
    """One event; `body` is the first raw body and goes when retention says, identity and digests stay for ever."""

    __tablename__ = "event"
    __table_args__ = (Index("event_due", "state", "next_try_at"), Index("event_age", "connection", "created_at"))

    connection: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    type: str
    mode: str
    created_at: datetime | None = moment()
    received_at: datetime = moment(optional=False)
    source: str
    state: str
    resource_id: str | None = Field(default=None, index=True)
    body: bytes | None = Field(default=None, sa_type=LargeBinary)
    raw_sha256: str
    meaning_sha256: str
    arrivals: int = 1
    last_arrival_at: datetime = moment(optional=False)
    attempts: int = 0
    next_try_at: datetime | None = moment()
    claimed_until: datetime | None = moment()
    claimed_by: str | None = None
    settled_at: datetime | None = moment()
    error: str | None = None


class EventConflict(SQLModel, table=True):
    """Another meaning that arrived under a known event id; one row per other meaning."""

    __tablename__ = "event_conflict"

    connection: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    other_sha256: str = Field(primary_key=True)
    meaning_sha256: str
    first_sha256: str
    source: str
    seen_at: datetime = moment(optional=False)
    times: int = 1
    body: bytes | None = Field(default=None, sa_type=LargeBinary)


class Window(SQLModel, table=True):
    """A stretch of time asked of a stream; it is a gap until it is closed."""

    __tablename__ = "window"
    __table_args__ = (Index("window_stream", "connection", "stream", "state"),)

    id: int | None = Field(default=None, primary_key=True)
    connection: str
    stream: str
    since: datetime | None = moment()
    until: datetime = moment(optional=False)
    state: str
    cursor: str | None = None
    pass_number: int = 1
    added_in_pass: int = 0
    pages: int = 0
    events: int = 0
    reason: str | None = None
    opened_at: datetime = moment(optional=False)
    closed_at: datetime | None = moment()


class Checkpoint(SQLModel, table=True):
    """How far a stream is known to be complete."""

    __tablename__ = "checkpoint"

    connection: str = Field(primary_key=True)
    stream: str = Field(primary_key=True)
    complete_until: datetime | None = moment()
    pulled_at: datetime = moment(optional=False)
    objects: int = 0


class RateSlot(SQLModel, table=True):
    """The shared request budget of one provider key: the moment from which the next request may leave."""

    __tablename__ = "rate_slot"

    name: str = Field(primary_key=True)
    free_at: datetime = moment(optional=False)


class Secret(SQLModel, table=True):
    """A webhook secret made by rotation, encrypted, with its dates."""

    __tablename__ = "webhook_secret"

    id: int | None = Field(default=None, primary_key=True)
    connection: str = Field(index=True)
    label: str
    endpoint_id: str
    encrypted: bytes = Field(sa_type=LargeBinary)
    created_at: datetime = moment(optional=False)
    ends_at: datetime | None = moment()
    last_used_at: datetime | None = moment()
