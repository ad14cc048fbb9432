"""Closed periods with their figures, adjustments and journals."""

from datetime import date, datetime

import sqlalchemy as sa
from sqlalchemy import Index
from sqlmodel import Field, SQLModel

from consumer.facts.tables.types import minor_units, moment

# What lists show of a period, in their order.
PERIOD_KEYS = (
    "connection", "period", "since", "until", "state", "closed_by", "closed_at", "reason", "adjustments", "reopened_by",
    "reopened_at", "reopened_for", "run_id",
)  # fmt: skip


class Period(SQLModel, table=True):
    """Days whose books a person closed; `ends_at` is the first instant after its last day. Reopening keeps the row."""

    __tablename__ = "period"

    id: int | None = Field(default=None, primary_key=True)
    connection: str = Field(index=True)
    since: date | None = None
    until: date
    ends_at: datetime = moment(optional=False)
    run_id: str
    reason: str
    closed_by: str
    closed_at: datetime = moment(optional=False)
    reopened_by: str = ""
    reopened_at: datetime | None = moment()
    reopened_for: str = ""

    @property
    def state(self) -> str:
        return "closed" if self.reopened_at is None else "reopened"


# The kind of a closed figure that is a row of the work list, as JSON: a change of it later is no adjustment.
EXCEPTION = "exception"


class ClosedFigure(SQLModel, table=True):
    """One payout, item, document or exception of a closed period as it stood."""

    __tablename__ = "closed_figure"

    period_id: int = Field(primary_key=True)
    kind: str = Field(primary_key=True)
    subject: str = Field(primary_key=True)
    words: str


class PeriodAdjustment(SQLModel, table=True):
    """What a later run found otherwise in a closed period: the closed figure stays as it was."""

    __tablename__ = "adjustment"
    __table_args__ = (Index("adjustment_subject", "period_id", "kind", "subject"),)

    id: int | None = Field(default=None, primary_key=True)
    period_id: int
    run_id: str
    kind: str
    subject: str
    before: str
    after: str
    found_at: datetime = moment(optional=False)


class Horizon(SQLModel, table=True):
    """What the runs of a connection may leave unread: it rests on the run that froze it, as of when that was read."""

    __tablename__ = "horizon"

    connection: str = Field(primary_key=True)
    run_id: str
    as_of: date
    until: date
    # The view of the database that run had.
    seen_at: datetime = moment(optional=False)
    # Digest of the rules, settings and calendar: under others everything is judged again. Empty: it stands no longer.
    basis: str
    # What was frozen up to this number counts; the run that freezes now writes under the next one.
    freezing: int
    claimed_by: str = ""
    # The layers of settled rows, in their order, with a space between: where readers find what is left unread.
    layers: str = Field(default="", sa_column_kwargs={"server_default": ""})


class FrozenRow(SQLModel, table=True):
    """An input row of the run a horizon rests on: its digest, and the cell of rows that were settled together.

    Cell 0 is what was carried: every run reads it. `part` is the payout and the kind of an item, or the last bank day
    of a deposit's payout.
    """

    __tablename__ = "frozen_row"
    __table_args__ = (Index("frozen_row_cell", "connection", "cell"), {"sqlite_with_rowid": False})

    connection: str = Field(primary_key=True)
    kind: str = Field(primary_key=True)
    key: str = Field(primary_key=True)
    part: str = Field(primary_key=True)
    freezing: int = Field(primary_key=True)
    cell: int = Field(sa_type=sa.BigInteger)
    digest: int = Field(sa_type=sa.BigInteger)


class FrozenName(SQLModel, table=True):
    """A name that a document of a settled cell bears, as a digest of its plainest writing."""

    __tablename__ = "frozen_name"
    __table_args__ = ({"sqlite_with_rowid": False},)

    connection: str = Field(primary_key=True)
    word: int = Field(sa_type=sa.BigInteger, primary_key=True)
    cell: int = Field(sa_type=sa.BigInteger, primary_key=True)
    freezing: int = Field(primary_key=True)


class FrozenNumber(SQLModel, table=True):
    """A stretch of numbers that settled documents bear: folios in the run of their type and series, or orders."""

    __tablename__ = "frozen_number"
    __table_args__ = ({"sqlite_with_rowid": False},)

    connection: str = Field(primary_key=True)
    run: str = Field(primary_key=True)
    head: str = Field(primary_key=True)
    since: int = Field(sa_type=sa.BigInteger, primary_key=True)
    until: int = Field(sa_type=sa.BigInteger, primary_key=True)
    freezing: int = Field(primary_key=True)


class ClosingOrder(SQLModel, table=True):
    """Days that a person asked to close on a page, done in a process of its own; `words` say how that ended."""

    __tablename__ = "closing_order"

    id: int | None = Field(default=None, primary_key=True)
    connection: str = Field(index=True)
    until: date
    as_of: date | None = None
    reason: str
    author: str
    person_id: int | None = None
    # The request that a second person approved.
    request_id: int | None = None
    ordered_at: datetime = moment(optional=False)
    state: str
    period_id: int | None = None
    words: str = ""


class JournalExport(SQLModel, table=True):
    """One export: its days, the run it is of, and who made it when in which layouts."""

    __tablename__ = "journal_export"

    id: int | None = Field(default=None, primary_key=True)
    connection: str = Field(index=True)
    since: date
    until: date
    run_id: str
    profiles: str
    entries: int
    author: str
    at: datetime = moment(optional=False)


class JournalEntry(SQLModel, table=True):
    """One entry as it was booked, packed; `digest` is of what the run said, so that a change is seen."""

    __tablename__ = "journal_entry"
    __table_args__ = (Index("journal_entry_day", "connection", "on"),)

    connection: str = Field(primary_key=True)
    key: str = Field(primary_key=True)
    sequence: int = Field(primary_key=True)
    export_id: int
    # Where it stands among the entries of its export.
    place: int
    on: date
    currency: str
    clearing: int = minor_units(optional=False)
    digest: bytes
    content: bytes
