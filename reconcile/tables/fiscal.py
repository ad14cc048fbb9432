"""Tax documents as their XML states them: each in its latest state, what it refers to, and what it says was paid."""

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
