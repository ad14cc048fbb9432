"""What was asked of the provider: the ledger of windows, the checkpoints of streams, the shared request budget."""

from datetime import date, datetime
from enum import StrEnum

from sqlalchemy import Index
from sqlmodel import Field, SQLModel

from consumer.facts.tables.types import moment


class WindowState(StrEnum):
    OPEN = "open"
    FAILED = "failed"
    CLOSED = "closed"


class Window(SQLModel, table=True):
    """A stretch of time asked of a stream; it is a gap until it is closed.

    Windows of the event log with the same `opened_at` are one reading, also where several runs went on with it.
    """

    __tablename__ = "window"
    __table_args__ = (Index("window_stream", "connection", "stream", "state"),)

    id: int | None = Field(default=None, primary_key=True)
    connection: str
    stream: str
    since: datetime | None = moment()
    until: datetime = moment(optional=False)
    state: str
    part: str | None = None
    cursor: str | None = None
    pass_number: int = 1
    added_in_pass: int = 0
    announced: int | None = None
    pages: int = 0
    events: int = 0
    reason: str | None = None
    opened_at: datetime = moment(optional=False)
    closed_at: datetime | None = moment()


GAP_KEYS = ("connection", "stream", "from", "to", "state", "pages", "events", "reason")


def to_gap(window: Window) -> dict[str, object]:
    """Return a window's columns as lists of gaps show them."""
    named = {"from": window.since, "to": window.until}
    return named | {name: getattr(window, name) for name in GAP_KEYS if name not in named}


class Checkpoint(SQLModel, table=True):
    """How far a stream is known to be complete; one of a product that was never bought is not offered at all."""

    __tablename__ = "checkpoint"

    connection: str = Field(primary_key=True)
    stream: str = Field(primary_key=True)
    complete_until: datetime | None = moment()
    pulled_at: datetime = moment(optional=False)
    objects: int = 0
    offered: bool = True


class Lateness(SQLModel, table=True):
    """How many events of a day came how late, by webhook or in the list; `step_seconds` is the most a row counts."""

    __tablename__ = "lateness"

    connection: str = Field(primary_key=True)
    way: str = Field(primary_key=True)
    on: date = Field(primary_key=True)
    step_seconds: int = Field(primary_key=True)
    events: int
    worst_seconds: int


class RateSlot(SQLModel, table=True):
    """One of the places in the shared request budget: taken until `free_at`, on the database's own clock."""

    __tablename__ = "rate_slot"

    number: int = Field(primary_key=True)
    free_at: datetime = moment(optional=False)


class Drift(SQLModel, table=True):
    """One difference between our mirror and the provider, as the last comparison of its stream found it."""

    __tablename__ = "drift"

    connection: str = Field(primary_key=True)
    stream: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    field: str = Field(primary_key=True, default="")
    kind: str
    ours: str | None = None
    theirs: str | None = None
    found_at: datetime = moment(optional=False)
    repaired_at: datetime | None = moment()


class StreamFinding(SQLModel, table=True):
    """Something a stream brought whole that does not add up, as its last pull found it."""

    __tablename__ = "stream_finding"

    connection: str = Field(primary_key=True)
    stream: str = Field(primary_key=True)
    subject: str = Field(primary_key=True)
    problem: str
    found_at: datetime = moment(optional=False)


# Why a document that was deleted is not fetched again: it named a person who was erased.
ERASED_DOCUMENT = "erased"


class StatementDocument(SQLModel, table=True):
    """The PDF of an account statement: its place below the data folder, or why only its link is kept."""

    __tablename__ = "statement_document"

    connection: str = Field(primary_key=True)
    statement_id: str = Field(primary_key=True)
    path: str | None = None
    sha256: str | None = None
    size: int | None = None
    problem: str | None = None
    looked_at: datetime = moment(optional=False)
