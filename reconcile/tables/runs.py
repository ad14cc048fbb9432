"""Runs with what they found, exceptions with their changes, and people's decisions."""

from datetime import date, datetime

from sqlalchemy import Index
from sqlmodel import Field, SQLModel

from consumer.facts.tables.columns import minor_units, moment


class Run(SQLModel, table=True):
    """One reconciliation; the id is the content hash of everything it read."""

    __tablename__ = "run"

    connection: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    as_of: date
    scope_from: date | None = None
    scope_to: date | None = None
    scope_payout: str | None = None
    complete: bool
    calendar: str
    summary: str
    started_at: datetime = moment(optional=False)
    finished_at: datetime = moment(optional=False)
    number: int
    # When its rows were dropped; the summary stays.
    pruned_at: datetime | None = moment()


class RunFinding(SQLModel, table=True):
    """An exception as one run found it, whatever became of it later: what a diff between two runs compares."""

    __tablename__ = "run_finding"

    connection: str = Field(primary_key=True)
    run_id: str = Field(primary_key=True)
    exception_id: str = Field(primary_key=True)
    code: str
    severity: str
    subject: str
    amount_at_risk: int = minor_units(optional=False)
    currency: str


class PayoutResult(SQLModel, table=True):
    """One payout of a run, explained: the row of `payout-summary`."""

    __tablename__ = "payout_result"
    # The list of payouts sorts, pages and filters in this index alone.
    __table_args__ = (
        Index("payout_result_day", "connection", "run_id", "payout_date", "payout_id", "status_recon", "difference"),
    )

    connection: str = Field(primary_key=True)
    run_id: str = Field(primary_key=True)
    payout_id: str = Field(primary_key=True)
    payout_date: date | None = None
    status_recon: str
    difference: int = minor_units(optional=False)
    columns: str


class ResultChunk(SQLModel, table=True):
    """Ten thousand lines or documents of a run as typed columns; `since` and `until` are dates of payouts."""

    __tablename__ = "result_chunk"

    connection: str = Field(primary_key=True)
    run_id: str = Field(primary_key=True)
    kind: str = Field(primary_key=True)
    number: int = Field(primary_key=True)
    rows: int
    since: date | None = None
    until: date | None = None
    undated: int
    with_balance: int
    content: bytes


class ExceptionRow(SQLModel, table=True):
    """Something a person must look at; its identity survives runs."""

    __tablename__ = "exception"

    connection: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    code: str
    severity: str
    subject: str
    title: str
    opened_on: date
    last_seen_on: date
    amount_at_risk: int = minor_units(optional=False)
    currency: str
    payout_id: str | None = None
    resource_id: str | None = None
    doc_key: str | None = None
    evidence: str = ""
    suggested_action: str = ""
    owner: str = ""
    note: str = ""
    state: str
    resolved_on: date | None = None
    resolution: str = ""
    run_first: str
    run_last: str
    version: int = 1
    # None where no run has seen the exception since these columns exist, or its fact has no day of its own.
    fact_on: date | None = None
    due_on: date | None = None
    customer_name: str | None = None

    @property
    def aged_from(self) -> date:
        """The day its age counts from."""
        return self.fact_on or self.opened_on


class ExceptionChange(SQLModel, table=True):
    """The append-only history of an exception."""

    __tablename__ = "exception_change"

    id: int | None = Field(default=None, primary_key=True)
    connection: str
    exception_id: str = Field(index=True)
    at: datetime = moment(optional=False)
    author: str
    change: str
    before: str = ""
    after: str = ""


class Decision(SQLModel, table=True):
    """What a person decided about a pair or an exception: a constraint on every later run."""

    __tablename__ = "decision"

    id: int | None = Field(default=None, primary_key=True)
    connection: str = Field(index=True)
    kind: str
    resource_id: str = ""
    doc_key: str = ""
    amount: int | None = minor_units()
    reason_type: str = Field(default="", sa_column_kwargs={"server_default": ""})
    reason: str
    author: str
    at: datetime = moment(optional=False)
    undone_by: int | None = None
