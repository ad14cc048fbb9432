"""The merchant's books as their files gave them: documents, payout reports, rates, lines of the bank."""

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
    __table_args__ = (Index("local_invoice_updated", "connection", "updated_at"),)

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
