"""What complements are made from: invoices of XML and books, the payments that paid them, and complements issued."""

from collections.abc import Collection, Iterator, Sequence
from datetime import date, datetime
from zoneinfo import ZoneInfo

import sqlalchemy as sa
from sqlmodel import Session, col

from consumer.facts.installation import Connection
from consumer.facts.meaning import read_json
from consumer.facts.tables.provider import PaymentIntent
from reconcile.fiscal.complements import DEFERRED, FORMS, Collected, Invoice, Issued, Sale, join_sales
from reconcile.fiscal.notes import read_notes
from reconcile.kept import chunks
from reconcile.rules.inputs import PAYMENT_TYPES
from reconcile.rules.kinds import VOID_STATES
from reconcile.tables.books import LocalInvoice
from reconcile.tables.fiscal import FiscalDocument, FiscalPayment
from reconcile.tables.runs import Run

_INCOME, _PAYMENT, _VALID, _ISSUED = "I", "P", "valid", "issued"
_AT_ONCE = 500  # ids asked for in one statement


def read_sales(
    session: Session, connection: Connection, run: Run | None, *, methods: Collection[str] = (DEFERRED,)
) -> list[Sale]:
    """Return the valid invoices of these methods, as their XML states them, else the books, with what paid them."""
    invoices = {invoice.key: invoice for invoice in _read_books(session, connection, methods)}
    for document in _read_documents(session, connection):
        invoices.pop(document.doc_key, None)
        if document.status == _VALID and document.payment_method in methods and not document.global_of:
            invoices[document.doc_key] = _of_document(document)
    payments = _read_payments(session, connection, run, invoices) if run is not None and invoices else []
    issued = list(_read_issued(session, connection))
    return join_sales(list(invoices.values()), payments, issued, read_notes(session, connection.name))


def read_youngest(session: Session, connection: Connection) -> date | None:
    """Return the day of the youngest XML that the merchant issued; what is due after it may only not be here yet."""
    mine = (col(FiscalDocument.connection) == connection.name, col(FiscalDocument.direction) == _ISSUED)
    return session.scalar(sa.select(sa.func.max(col(FiscalDocument.issue_date))).where(*mine))


def _read_documents(session: Session, connection: Connection) -> Iterator[FiscalDocument]:
    mine = (col(FiscalDocument.connection) == connection.name, col(FiscalDocument.direction) == _ISSUED)
    yield from session.scalars(sa.select(FiscalDocument).where(*mine, col(FiscalDocument.kind) == _INCOME))


def _of_document(document: FiscalDocument) -> Invoice:
    return Invoice(
        document.doc_key, document.uuid, document.series, document.folio, document.receiver_tax_id, document.currency,
        document.payable, document.vat, document.payment_method, document.payment_form, document.issue_date,
    )  # fmt: skip


def _read_books(session: Session, connection: Connection, methods: Collection[str]) -> Iterator[Invoice]:
    mine = (col(LocalInvoice.connection) == connection.name, col(LocalInvoice.payment_method).in_(methods))
    for row in session.scalars(sa.select(LocalInvoice).where(*mine, col(LocalInvoice.doc_type) == _INCOME)):
        if row.status.strip().lower() not in VOID_STATES:
            yield Invoice(
                row.doc_key, row.uuid, row.series, row.folio, row.customer_tax_id, row.currency, row.total,
                row.vat or 0, row.payment_method, row.payment_form, row.issue_date,
            )  # fmt: skip


def _read_payments(
    session: Session, connection: Connection, run: Run, invoices: Collection[str]
) -> Sequence[Collected]:
    zone = ZoneInfo(connection.country.zone)
    lines = [
        line
        for line in chunks.find_lines(session, run, "doc_key", *invoices)
        if line["resource_type"] in PAYMENT_TYPES and line["applied_amount"]
    ]
    amounts = {line["resource_id"]: line["amount_signed"] for line in lines if line["amount_signed"] is not None}
    operations = _read_operations(session, connection, sorted({line["resource_id"] for line in lines}))
    return [
        Collected(
            line["resource_id"], line["doc_key"], datetime.fromisoformat(line["occurred_at_utc"]).astimezone(zone),
            FORMS.get(line["resource_subtype"] or "", ""), operations.get(line["resource_id"], ""),
            amounts.get(line["resource_id"]) or line["applied_amount"], line["applied_amount"],
        )
        for line in lines
    ]  # fmt: skip


def _read_operations(session: Session, connection: Connection, ids: Sequence[str]) -> dict[str, str]:
    """Return the reference of each payment that states one: the tracking key, of a transfer."""
    found: dict[str, str] = {}
    for start in range(0, len(ids), _AT_ONCE):
        some = ids[start : start + _AT_ONCE]
        mine = (col(PaymentIntent.connection) == connection.name, col(PaymentIntent.id).in_(some))
        for name, body in session.execute(sa.select(col(PaymentIntent.id), col(PaymentIntent.body)).where(*mine)):
            reference = read_json(body).get("reference_id")
            if isinstance(reference, str):
                found[name] = reference.strip()
    return found


def _read_issued(session: Session, connection: Connection) -> Iterator[Issued]:
    """Yield each line of every valid complement that the merchant issued."""
    zone = ZoneInfo(connection.country.zone)
    mine = (
        col(FiscalDocument.connection) == connection.name, col(FiscalDocument.direction) == _ISSUED,
        col(FiscalDocument.kind) == _PAYMENT, col(FiscalDocument.status) == _VALID,
    )  # fmt: skip
    joined = (col(FiscalPayment.connection) == col(FiscalDocument.connection)) & (
        col(FiscalPayment.doc_key) == col(FiscalDocument.doc_key)
    )
    query = sa.select(FiscalDocument, FiscalPayment).join(FiscalPayment, joined).where(*mine)
    for document, line in session.execute(query):
        yield Issued(
            line.doc_key, document.uuid, document.issue_date, line.paid_key, line.paid_at.astimezone(zone),
            line.payment_form, line.operation, line.instalment, line.balance_before, line.paid, line.balance_after,
            line.vat, line.paid_currency,
        )  # fmt: skip
