"""What reconciliation keeps: the merchant's books, runs and their lines, exceptions and people's decisions."""

from datetime import date, datetime

from sqlalchemy import Index
from sqlmodel import Field, SQLModel

from consumer.facts.tables.provider import minor_units, moment


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
    """The fee with VAT that the provider's report tells for one resource of a payout."""

    __tablename__ = "provider_fee"

    connection: str = Field(primary_key=True)
    payout_id: str = Field(primary_key=True)
    resource_id: str = Field(primary_key=True)
    fee_total: int = minor_units(optional=False)


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


class Line(SQLModel, table=True):
    """One payout item (or item still in transit) beside a document it was applied to: the row of `payout-detail`."""

    __tablename__ = "line"
    __table_args__ = (
        Index("line_resource", "connection", "resource_id"),
        Index("line_payout", "connection", "run_id", "payout_id"),
    )

    connection: str = Field(primary_key=True)
    run_id: str = Field(primary_key=True)
    position: int = Field(primary_key=True)
    payout_id: str | None = None
    payout_date: date | None = None
    resource_type: str
    resource_id: str
    doc_key: str | None = None
    outcome: str
    columns: str


class DocumentResult(SQLModel, table=True):
    """One document of a run: what was paid, credited and is still owed."""

    __tablename__ = "document_result"

    connection: str = Field(primary_key=True)
    run_id: str = Field(primary_key=True)
    doc_key: str = Field(primary_key=True)
    outcome: str
    paid: int = minor_units(optional=False)
    credited: int = minor_units(optional=False)
    balance: int = minor_units(optional=False)
    columns: str


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
    reason: str
    author: str
    at: datetime = moment(optional=False)
    undone_by: int | None = None
