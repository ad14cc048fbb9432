"""What a run published: its own row, findings, payouts and chunks of lines."""

from datetime import date, datetime

from sqlalchemy import Index
from sqlmodel import Field, SQLModel

from consumer.facts.tables.types import minor_units, moment


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
    # The layers of settled rows that it rests on, in their order, with a space between.
    layers: str = Field(default="", sa_column_kwargs={"server_default": ""})
    # When its rows were dropped; the summary stays.
    pruned_at: datetime | None = moment()


class RunFinding(SQLModel, table=True):
    """An exception as one run found it: what a diff between two runs compares."""

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
