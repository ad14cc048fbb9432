"""The inbox: every event once, and what arrived under its id with another meaning."""

from datetime import datetime
from enum import StrEnum

from sqlalchemy import Index, LargeBinary
from sqlmodel import Field, SQLModel

from consumer.facts.tables.types import moment


class EventState(StrEnum):
    WAITING = "waiting"
    APPLIED = "applied"
    IGNORED = "ignored"
    FAILED = "failed"
    QUARANTINED = "quarantined"


class Source(StrEnum):
    WEBHOOK = "webhook"
    BACKFILL = "backfill"


class Event(SQLModel, table=True):
    """One event; `body` is the first raw body, which retention drops; identity and digests stay for ever."""

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
    listed_at: datetime | None = moment()
    attempts: int = 0
    next_try_at: datetime | None = moment()
    claimed_until: datetime | None = moment()
    claimed_by: str | None = None
    settled_at: datetime | None = moment()
    error: str | None = None


EVENT_KEYS = (
    "connection", "id", "type", "mode", "created_at", "received_at", "source", "state", "resource_id",
    "attempts", "error",
)  # fmt: skip


class EventConflict(SQLModel, table=True):
    """Another meaning that arrived under a known event id; one row per other meaning, digests are of raw bytes."""

    __tablename__ = "event_conflict"

    connection: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    meaning_sha256: str = Field(primary_key=True)
    first_sha256: str
    other_sha256: str
    source: str
    seen_at: datetime = moment(optional=False)
    times: int = 1
    body: bytes | None = Field(default=None, sa_type=LargeBinary)


CONFLICT_KEYS = ("connection", "id", "seen_at", "source", "first_sha256", "other_sha256", "times")


class EventReplay(SQLModel, table=True):
    """Who had an event applied again, and what came of it."""

    __tablename__ = "event_replay"

    id: int | None = Field(default=None, primary_key=True)
    connection: str
    event_id: str = Field(index=True)
    replayed_at: datetime = moment(optional=False)
    replayed_by: str
    state_before: str
    state_after: str
    changed: int


class Secret(SQLModel, table=True):
    """A webhook secret made by rotation, encrypted, with its dates."""

    __tablename__ = "webhook_secret"

    id: int | None = Field(default=None, primary_key=True)
    connection: str = Field(index=True)
    label: str
    endpoint_id: str
    encrypted: bytes = Field(sa_type=LargeBinary)
    created_at: datetime = moment(optional=False)
    # Until when the endpoints before it deliver as well.
    overlap_until: datetime | None = moment()
    ends_at: datetime | None = moment()
    last_used_at: datetime | None = moment()


class SecretUse(SQLModel, table=True):
    """When a webhook secret of the settings last verified a request; the secret itself is not here, only its mark."""

    __tablename__ = "webhook_secret_use"

    connection: str = Field(primary_key=True)
    mark: str = Field(primary_key=True)
    last_used_at: datetime = moment(optional=False)
