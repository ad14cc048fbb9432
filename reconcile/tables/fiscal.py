"""Tax documents as their XML states them, registers of tax authorities, and what was declared."""

from datetime import date, datetime

from sqlalchemy import Index
from sqlmodel import Field, SQLModel

from consumer.facts.tables.types import minor_units, moment


class FiscalDocument(SQLModel, table=True):
    """One tax document as its XML states it, whoever issued it; `name` is that of the other party.

    `doc_key` is the key of the document in the books where the merchant issued it; a Chilean one that was received has
    the issuer in its key. `payable` is what the form asks the customer to pay. Amounts are minor units of `currency`.
    """

    __tablename__ = "fiscal_document"
    __table_args__ = (
        Index("fiscal_document_period", "connection", "period"),
        Index("fiscal_document_file", "connection", "file_sha256"),
    )

    connection: str = Field(primary_key=True)
    doc_key: str = Field(primary_key=True)
    country: str
    # issued or received
    direction: str
    kind: str
    issuer_tax_id: str
    receiver_tax_id: str = ""
    name: str = ""
    series: str = ""
    folio: str = ""
    uuid: str = ""
    issued_at: datetime = moment(optional=False)
    issue_date: date
    period: str
    currency: str
    # What one unit of `currency` is worth in the country's money, as decimal text.
    rate: str = ""
    net: int = minor_units(optional=False)
    exempt: int = minor_units(optional=False)
    vat: int = minor_units(optional=False)
    withheld: int = minor_units(optional=False)
    total: int = minor_units(optional=False)
    payable: int = minor_units(optional=False)
    payment_method: str = ""
    payment_form: str = ""
    due_date: date | None = None
    # valid, cancelled or replaced
    status: str
    cancelled_on: date | None = None
    # Key of the document that takes its place.
    replaced_by: str = ""
    # The period that a global invoice sums up, empty for every other document.
    global_of: str = ""
    # What is sold for others, which is no income of the issuer.
    third_party: int = minor_units(optional=False)
    # A note that does not lower the tax of its issuer.
    no_debit_right: bool = False
    order_ref: str = ""
    # Bases and tax by rate, empty where all of it is at the general one (Mexico).
    rates: str = Field(default="", sa_column_kwargs={"server_default": ""})
    # What another XML of the same document stated differently: fields of the books, and its payable total.
    other_fields: str = Field(default="", sa_column_kwargs={"server_default": ""})
    other_payable: int | None = minor_units()
    # Digest of the document's content, without names of spaces, signature and addenda.
    content_sha256: str
    file_sha256: str
    updated_at: datetime = moment(optional=False)


class FiscalRelation(SQLModel, table=True):
    """What one tax document says of another; `other_key` is empty where the other is no tax document of the issuer.

    `kind` is the tax office's code of the relation (CodRef, TipoRelacion), empty where the document states none.
    """

    __tablename__ = "fiscal_relation"
    __table_args__ = (Index("fiscal_relation_other", "connection", "other_key"),)

    connection: str = Field(primary_key=True)
    doc_key: str = Field(primary_key=True)
    line: int = Field(primary_key=True)
    kind: str = ""
    other_type: str = ""
    other_key: str = ""
    # The number as it is written.
    other_number: str = ""
    other_on: date | None = None
    reason: str = ""


class FiscalPayment(SQLModel, table=True):
    """What one payment of a payment complement settles of one document.

    `amount` is that of the whole payment in `currency`; the balances and `paid` are in `paid_currency`.
    """

    __tablename__ = "fiscal_payment"
    __table_args__ = (
        Index("fiscal_payment_document", "connection", "paid_key"),
        Index("fiscal_payment_operation", "connection", "operation"),
    )

    connection: str = Field(primary_key=True)
    doc_key: str = Field(primary_key=True)
    payment_number: int = Field(primary_key=True)
    line: int = Field(primary_key=True)
    paid_at: datetime = moment(optional=False)
    payment_form: str
    currency: str
    rate: str = ""
    amount: int = minor_units(optional=False)
    operation: str = ""
    paid_uuid: str
    paid_key: str
    series: str = ""
    folio: str = ""
    instalment: int
    paid_currency: str
    balance_before: int = minor_units(optional=False)
    paid: int = minor_units(optional=False)
    balance_after: int = minor_units(optional=False)
    equivalence: str = ""
    vat: int = minor_units(optional=False)
    rates: str = Field(default="", sa_column_kwargs={"server_default": ""})


# What lists show of a file of a register, in their order.
REGISTER_KEYS = ("connection", "name", "imported_at", "as_of", "side", "section", "period", "rows", "sha256")
# What lists show of a declared figure, in their order.
DECLARED_KEYS = ("connection", "period", "code", "amount", "currency", "version", "author", "at", "source")


class RegisterFile(SQLModel, table=True):
    """One file of a tax register, as it stood at `as_of`; the newest of a side, section and period counts.

    `sha256` names its bytes with side and period. `side` is sales, purchases or both; `section` what part of the
    register it is: registro, pendiente, no_incluir, reclamado, resumen, or metadata.
    """

    __tablename__ = "register_file"

    connection: str = Field(primary_key=True)
    sha256: str = Field(primary_key=True)
    name: str
    side: str
    section: str
    # Months as YYYY-MM, with spaces between several.
    period: str
    as_of: datetime = moment(optional=False)
    imported_at: datetime = moment(optional=False)
    rows: int


class RegisterRow(SQLModel, table=True):
    """One document of a register; a row with `count` sums up so many documents of its kind.

    `state` is registro, pendiente, no_incluir or reclamado in Chile, vigente or cancelado in Mexico. Amounts are
    minor units of `currency` and positive, those of credit notes too.
    """

    __tablename__ = "register_row"
    __table_args__ = (Index("register_row_period", "connection", "side", "period"),)

    connection: str = Field(primary_key=True)
    file_sha256: str = Field(primary_key=True)
    line: int = Field(primary_key=True)
    side: str
    state: str
    period: str
    kind: str
    count: int | None = None
    issuer_tax_id: str = ""
    receiver_tax_id: str = ""
    # Of the other party.
    name: str = ""
    series: str = ""
    folio: str = ""
    uuid: str = ""
    issue_date: date | None = None
    received_on: date | None = None
    net: int | None = minor_units()
    exempt: int | None = minor_units()
    vat: int | None = minor_units()
    vat_not_recoverable: int | None = minor_units()
    total: int = minor_units(optional=False)
    currency: str
    cancelled_on: date | None = None
    ref_kind: str = ""
    ref_folio: str = ""
    as_of: datetime = moment(optional=False)


class DeclaredFigure(SQLModel, table=True):
    """One figure of a return as it was declared; a later version takes its place and the earlier ones stay."""

    __tablename__ = "declared_figure"

    connection: str = Field(primary_key=True)
    # A month as YYYY-MM, or the year of an annual return.
    period: str = Field(primary_key=True)
    code: str = Field(primary_key=True)
    version: int = Field(primary_key=True)
    amount: int = minor_units(optional=False)
    # Empty where the figure is a number of documents.
    currency: str
    author: str
    at: datetime = moment(optional=False)
    # typed or file
    source: str


class KeptTieOut(SQLModel, table=True):
    """What a tie-out of one period came to, as a page shows it; `mark` names what it read."""

    __tablename__ = "kept_tie_out"

    connection: str = Field(primary_key=True)
    # A month as YYYY-MM, or a year.
    period: str = Field(primary_key=True)
    at: datetime = moment(optional=False)
    mark: str
    # Documents and payments of the period.
    rows: int
    body: str
