"""Every table of reconciliation: the merchant's books, runs with exceptions and decisions, closed periods, journals."""

from datetime import date, datetime

from sqlalchemy import Index
from sqlmodel import Field, SQLModel

from consumer.facts.tables.types import minor_units, moment


class InvoiceFile(SQLModel, table=True):
    """A file of the merchant's books that went in whole; its digest refuses the same file twice."""

    __tablename__ = "invoice_file"

    connection: str = Field(primary_key=True)
    sha256: str = Field(primary_key=True)
    name: str
    imported_at: datetime = moment(optional=False)
    rows: int
    added: int
    changed: int
    # Documents whose parts do not add up to their total, taken in because a person said so.
    totals_accepted: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    # Digests of the files whose documents it states too, as JSON; None where an earlier version took it in.
    rests_on: str | None = None


class LocalInvoice(SQLModel, table=True):
    """A document of the merchant's own books in its latest known state."""

    __tablename__ = "local_invoice"

    connection: str = Field(primary_key=True)
    doc_key: str = Field(primary_key=True)
    country: str
    doc_type: str
    series: str = ""
    folio: str = ""
    uuid: str = ""
    issue_date: date
    due_date: date | None = None
    customer_tax_id: str = ""
    customer_name: str = ""
    net: int | None = minor_units()
    exempt: int | None = minor_units()
    vat: int | None = minor_units()
    total: int = minor_units(optional=False)
    currency: str
    status: str
    order_ref: str = ""
    ref_type: str = ""
    ref_number: str = ""
    payment_method: str = ""
    payment_form: str = ""
    raw: str = ""
    file_sha256: str
    updated_at: datetime = moment(optional=False)


class LocalInvoiceChange(SQLModel, table=True):
    """What a later file changed of a document that was known: one row per field, never rewritten."""

    __tablename__ = "local_invoice_change"
    __table_args__ = (Index("local_invoice_change_document", "connection", "doc_key"),)

    id: int | None = Field(default=None, primary_key=True)
    connection: str
    doc_key: str
    at: datetime = moment(optional=False)
    file_sha256: str
    field: str
    before: str
    after: str


class LocalInvoiceBefore(SQLModel, table=True):
    """A document as it stood before a file changed it, as JSON: what taking the file back brings back."""

    __tablename__ = "local_invoice_before"

    connection: str = Field(primary_key=True)
    file_sha256: str = Field(primary_key=True)
    doc_key: str = Field(primary_key=True)
    document: str


class RemovedFile(SQLModel, table=True):
    """A file that a person took back whole: who, when and why; the same file may come in again."""

    __tablename__ = "removed_file"

    id: int | None = Field(default=None, primary_key=True)
    connection: str = Field(index=True)
    kind: str
    name: str
    sha256: str
    imported_at: datetime = moment(optional=False)
    rows: int
    removed_at: datetime = moment(optional=False)
    removed_by: str
    reason: str


class PayoutReport(SQLModel, table=True):
    """The provider's own CSV of one payout, as it was last imported."""

    __tablename__ = "payout_report"

    connection: str = Field(primary_key=True)
    payout_id: str = Field(primary_key=True)
    sha256: str
    name: str
    imported_at: datetime = moment(optional=False)
    rows: int


class ProviderFee(SQLModel, table=True):
    """The fee with VAT of one resource of a payout in the provider's report."""

    __tablename__ = "provider_fee"

    connection: str = Field(primary_key=True)
    payout_id: str = Field(primary_key=True)
    resource_id: str = Field(primary_key=True)
    fee_total: int = minor_units(optional=False)
    # The whole row as the provider wrote it, by header, unread columns included.
    cells: str = Field(default="{}", sa_column_kwargs={"server_default": "{}"})


class ExchangeRate(SQLModel, table=True):
    """What one unit of a currency was worth in the country's money on a day; the value is decimal text."""

    __tablename__ = "exchange_rate"

    connection: str = Field(primary_key=True)
    currency: str = Field(primary_key=True)
    on: date = Field(primary_key=True)
    value: str


class BankFile(SQLModel, table=True):
    """A bank file of one account that went in whole, the days it speaks of, and the balances it states.

    `last_opening` is what the account held as its last day began, since a later file may begin with that day again.
    """

    __tablename__ = "bank_file"

    connection: str = Field(primary_key=True)
    sha256: str = Field(primary_key=True)
    name: str
    account: str
    file_format: str
    since: date
    until: date
    currency: str
    opening: int | None = minor_units()
    closing: int | None = minor_units()
    last_opening: int | None = minor_units()
    imported_at: datetime = moment(optional=False)
    rows: int
    added: int
    # Digests of the files whose lines it repeats, as JSON; None where an earlier version took it in.
    rests_on: str | None = None


# What lists show of a bank line, in their order.
BANK_LINE_KEYS = ("connection", "id", "account_last4", "booked_on", "amount", "currency", "text", "reference")


class BankMapping(SQLModel, table=True):
    """Which column is what in the sheets of one account, as a person confirmed it: JSON, field to name or place."""

    __tablename__ = "bank_mapping"

    connection: str = Field(primary_key=True)
    account: str = Field(primary_key=True)
    columns: str
    confirmed_by: str
    confirmed_at: datetime = moment(optional=False)


class BankLine(SQLModel, table=True):
    """One line of the merchant's own bank account; what came in is positive."""

    __tablename__ = "bank_line"
    __table_args__ = (Index("bank_line_day", "connection", "account", "booked_on"),)

    connection: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    account: str
    booked_on: date
    amount: int = minor_units(optional=False)
    currency: str
    text: str = ""
    reference: str = ""
    file_sha256: str


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
    # The day on which a person wants it done.
    follow_up_on: date | None = None

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
