"""What complements are made from: invoices of XML and books, the payments that paid them, and complements issued."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

import sqlalchemy as sa
from sqlmodel import Session, col

from consumer.facts.clock import local_date
from consumer.facts.installation import Connection
from consumer.facts.meaning import read_json
from consumer.facts.store import among, batches
from consumer.facts.tables.provider import PaymentIntent
from reconcile.books.register_files import read_rows
from reconcile.fiscal.complements import (
    AT_ONCE,
    DEFERRED,
    FORMS,
    VAGUE,
    Collected,
    Invoice,
    Issued,
    Listing,
    Sale,
    join_sales,
)
from reconcile.fiscal.fees import add_months
from reconcile.fiscal.notes import read_notes
from reconcile.fiscal.scope import Scope
from reconcile.kept import chunks
from reconcile.reading.operations import read_tracking_keys
from reconcile.rules.inputs import PAYMENT_TYPES
from reconcile.rules.kinds import VOID_STATES
from reconcile.rules.names import normalize
from reconcile.tables.books import LocalInvoice
from reconcile.tables.fiscal import FiscalDocument, FiscalPayment, RegisterRow
from reconcile.tables.runs import Run

_INCOME, _PAYMENT, _VALID, _ISSUED = "I", "P", "valid", "issued"
_METHODS = (DEFERRED, AT_ONCE)


def read_sales(session: Session, connection: Connection, run: Run | None, scope: Scope) -> list[Sale]:
    """Return the valid invoices that complements are due or issued for, or whose form says less than the money does.

    They are as their XML states them, else as the books do, with what paid them.
    """
    issued = list(_read_issued(session, connection, scope))
    named = {one.paid_key for one in issued}
    invoices = {invoice.key: invoice for invoice in _read_books(session, connection, scope)}
    for document in _read_documents(session, connection, scope):
        invoices.pop(document.doc_key, None)
        if document.status == _VALID and not document.global_of:
            invoices[document.doc_key] = _of_document(document)
    deferred = {invoice.key for invoice in invoices.values() if invoice.method == DEFERRED}
    chosen = [one for one in invoices.values() if one.key in deferred | named or one.form in VAGUE]
    keys = [invoice.key for invoice in chosen]
    payments = _read_payments(session, connection, run, keys, deferred | named) if run is not None and keys else []
    return join_sales(chosen, payments, issued, read_notes(session, connection.name, scope.keys))


def read_listing(
    session: Session, connection: Connection, asked: Mapping[tuple[str, str], datetime], months: Collection[str] | None
) -> Listing:
    """Return what the tax office's list proves of complements due in some months, or in all."""
    days = {period: local_date(at, connection.country.zone) for (side, period), at in asked.items() if side == "sales"}
    stated = [col(RegisterRow.kind) == _PAYMENT, col(RegisterRow.side) == "sales"]
    if months is not None:
        stated.append(col(RegisterRow.period).in_({*months, *(add_months(month, -1) for month in months)}))
    rows = [row for row in read_rows(session, connection.name, *stated) if row.state == "vigente"]
    mine = (col(FiscalDocument.connection) == connection.name, col(FiscalDocument.kind) == _PAYMENT)
    query = sa.select(col(FiscalDocument.uuid)).where(*mine)
    here = set(session.scalars(query.where(among(session, FiscalDocument.uuid, {row.uuid for row in rows}))))
    return Listing(days, frozenset(row.receiver_tax_id for row in rows if row.uuid not in here))


def _read_documents(session: Session, connection: Connection, scope: Scope) -> Iterator[FiscalDocument]:
    mine = (col(FiscalDocument.connection) == connection.name, col(FiscalDocument.direction) == _ISSUED)
    income = (col(FiscalDocument.kind) == _INCOME, col(FiscalDocument.payment_method).in_(_METHODS))
    asked = scope.holding(session, FiscalDocument.doc_key)
    yield from session.scalars(sa.select(FiscalDocument).where(*mine, *income, *asked))


def _of_document(document: FiscalDocument) -> Invoice:
    return Invoice(
        document.doc_key, document.uuid, document.series, document.folio, document.receiver_tax_id, document.currency,
        document.payable, document.vat, document.payment_method, document.payment_form, document.issue_date,
    )  # fmt: skip


def _read_books(session: Session, connection: Connection, scope: Scope) -> Iterator[Invoice]:
    mine = (col(LocalInvoice.connection) == connection.name, col(LocalInvoice.payment_method).in_(_METHODS))
    asked = (col(LocalInvoice.doc_type) == _INCOME, *scope.holding(session, LocalInvoice.doc_key))
    for row in session.scalars(sa.select(LocalInvoice).where(*mine, *asked)):
        if row.status.strip().lower() not in VOID_STATES:
            yield Invoice(
                row.doc_key, row.uuid, row.series, row.folio, row.customer_tax_id, row.currency, row.total,
                row.vat or 0, row.payment_method, row.payment_form, row.issue_date,
            )  # fmt: skip


def _read_payments(
    session: Session, connection: Connection, run: Run, invoices: Collection[str], named: Collection[str]
) -> Sequence[Collected]:
    zone = ZoneInfo(connection.country.zone)
    lines = [
        line
        for line in chunks.find_lines(session, run, "doc_key", *invoices)
        if line["resource_type"] in PAYMENT_TYPES and line["applied_amount"]
    ]
    amounts = {line["resource_id"]: line["amount_signed"] for line in lines if line["amount_signed"] is not None}
    # A complement is about an operation; without one, only what is to be stamped needs it.
    asked = {line["resource_id"] for line in lines if line["doc_key"] in named}
    operations = dict(_read_operations(session, connection, sorted(asked)))
    return [
        Collected(
            line["resource_id"], line["doc_key"], datetime.fromisoformat(line["occurred_at_utc"]).astimezone(zone),
            FORMS.get(line["resource_subtype"] or "", ""), *operations.get(line["resource_id"], ("", "")),
            amounts.get(line["resource_id"]) or line["applied_amount"], line["applied_amount"],
        )
        for line in lines
    ]  # fmt: skip


def _read_operations(
    session: Session, connection: Connection, ids: Sequence[str]
) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the tracking key of the transfer that each payment came by, and its own reference, empty if unknown."""
    tracked = read_tracking_keys(session.connection(), connection) if ids else {}
    for some in batches(ids):
        mine = (col(PaymentIntent.connection) == connection.name, among(session, PaymentIntent.id, some))
        asked = sa.select(col(PaymentIntent.id), col(PaymentIntent.amount), col(PaymentIntent.body))
        for name, amount, body in session.execute(asked.where(*mine)):
            reference = read_json(body).get("reference_id")
            if isinstance(reference, str):
                yield name, (tracked.get((normalize(reference), amount), ""), reference.strip())


def _read_issued(session: Session, connection: Connection, scope: Scope) -> Iterator[Issued]:
    """Yield each line of every valid complement that the merchant issued."""
    zone = ZoneInfo(connection.country.zone)
    mine = (
        col(FiscalDocument.connection) == connection.name, col(FiscalDocument.direction) == _ISSUED,
        col(FiscalDocument.kind) == _PAYMENT, col(FiscalDocument.status) == _VALID,
        *scope.holding(session, FiscalPayment.paid_key),
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
