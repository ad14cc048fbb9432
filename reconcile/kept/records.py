"""What runs published, read back: runs, their payouts, lines and documents, the work list, the books."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import NamedTuple, TypedDict

import sqlalchemy as sa
from sqlmodel import Session, col, select

from consumer.facts.bankdays import BankCalendar
from consumer.facts.columns import Column, Kind, kind_of
from consumer.facts.messages import say_stored_in_json
from consumer.facts.money import format_decimal
from consumer.facts.store import Row
from reconcile.kept import chunks
from reconcile.rules.findings import count_bank_days
from reconcile.rules.outcomes import DOCUMENT_COLUMNS, PAYOUT_COLUMNS, STORED_LINE_COLUMNS, to_age_bucket
from reconcile.tables.books import InvoiceFile, LocalInvoice, LocalInvoiceChange
from reconcile.tables.closing import Period
from reconcile.tables.desk import ExceptionRow
from reconcile.tables.runs import PayoutResult, Run

EXCEPTION_KEYS = (
    "exception_id", "code", "severity", "title", "opened_on", "last_seen_on", "age_business_days", "age_bucket",
    "amount_at_risk", "currency", "payout_id", "resource_id", "doc_key", "evidence", "suggested_action", "owner",
    "state", "resolved_on", "resolution", "run_first", "run_last", "fact_on", "due_on", "customer_name",
    "connection",
)  # fmt: skip
RUN_KEYS = (
    "connection", "run_id", "number", "as_of", "complete", "scope_from", "scope_to", "payout_id", "payouts",
    "payouts_closed", "payouts_no_bank", "exceptions", "calendar", "started_at", "finished_at",
)  # fmt: skip
INVOICE_KEYS = (
    "connection", "doc_key", "doc_type", "series", "folio", "uuid", "issue_date", "due_date", "customer_tax_id",
    "customer_name", "net", "exempt", "vat", "total", "currency", "status", "order_ref", "ref_type", "ref_number",
    "payment_method", "payment_form",
)  # fmt: skip

HISTORY_KEYS = ("connection", "doc_key", "at", "file", "field", "before", "after")
_AMOUNTS = ("net", "exempt", "vat", "total")
_DIGITS_OF_A_NUMBER = 9
_NEWEST_FIRST = col(ExceptionRow.opened_on).desc(), col(ExceptionRow.code), col(ExceptionRow.id)


class Fact(NamedTuple):
    """One thing known about something; a whole number of kind money is minor units of the currency."""

    about: str
    name: str
    value: object
    currency: str | None = None
    kind: Kind = Kind.TEXT


class Summary(TypedDict, total=False):
    """A run in figures, kept as JSON in its row; amounts are minor units by currency."""

    complete: bool
    payouts: int
    payouts_closed: int
    payouts_no_bank: int
    items: int
    items_by_outcome: dict[str, int]
    documents: int
    documents_by_outcome: dict[str, int]
    exceptions: dict[str, int]
    severities: dict[str, int]
    totals: dict[str, dict[str, int]]
    # No needed stream reaches the as-of day, though some were read.
    ahead_of_data: bool
    # What every file made of this run must name.
    inputs: dict[str, str]
    tolerances: dict[str, int]
    # What was open when the run was published: each peso once, and how many exceptions it covers.
    value_at_risk: dict[str, dict[str, int]]


def read_summary(run: Run) -> Summary:
    summary: Summary = json.loads(run.summary)
    return summary


def runs(session: Session, connection: str) -> Sequence[Run]:
    """Return every run of a connection, newest first."""
    mine = select(Run).where(Run.connection == connection)
    return session.exec(mine.order_by(col(Run.number).desc())).all()


def find_run(session: Session, connection: str, name: str) -> Run | None:
    """Find a run by its id, by the beginning of its id, or by its number."""
    mine = select(Run).where(Run.connection == connection)
    exact = [col(Run.id) == name] + ([col(Run.number) == int(name)] if is_run_number(name) else [])
    for condition in (sa.or_(*exact), col(Run.id).startswith(name, autoescape=True)):
        found = session.exec(mine.where(condition).limit(2)).all()
        if found:
            return found[0] if len(found) == 1 else None
    return None


def is_run_number(name: str) -> bool:
    return name.isascii() and name.isdigit() and len(name) <= _DIGITS_OF_A_NUMBER


def last_run(
    session: Session, connection: str, *, today: date, as_of: date | None = None, since: date | None = None,
    until: date | None = None,
) -> Run | None:  # fmt: skip
    """Find the run that answers for a day: the latest up to it, of all payouts asked for where there is such a run.

    If no day is asked for, a run of a day to come counts only if there is no other: a demo's days may all be ahead of
    this machine's clock.
    """
    is_part = sa.case((_covers(since, until), 0), else_=1)
    is_ahead = col(Run.as_of) > (today if as_of is None else as_of)
    order = is_part, is_ahead, col(Run.as_of).desc(), col(Run.finished_at).desc(), col(Run.number).desc()
    kept = select(Run).where(Run.connection == connection, col(Run.pruned_at).is_(None))
    if as_of is not None:
        kept = kept.where(col(Run.as_of) <= as_of)
    return session.exec(kept.order_by(*order).limit(1)).first()


def _covers(since: date | None, until: date | None) -> sa.ColumnElement[bool]:
    starts: sa.ColumnElement[bool] = col(Run.scope_from).is_(None)
    ends: sa.ColumnElement[bool] = col(Run.scope_to).is_(None)
    if since is not None:
        starts = sa.or_(starts, col(Run.scope_from) <= since)
    if until is not None:
        ends = sa.or_(ends, col(Run.scope_to) >= until)
    return sa.and_(starts, ends, col(Run.scope_payout).is_(None))


def standings(session: Session, connection: str, run_id: str) -> dict[str, int]:
    """Count the payouts of a published run by how they stand; a run whose rows were dropped has none."""
    standing = col(PayoutResult.status_recon)
    mine = (col(PayoutResult.connection) == connection, col(PayoutResult.run_id) == run_id)
    counted = sa.select(standing, sa.func.count()).where(*mine).group_by(standing).order_by(standing)
    return {row[0]: row[1] for row in session.execute(counted)}


def to_run_row(run: Run) -> Row:
    summary = read_summary(run)
    own = {name: getattr(run, name) for name in RUN_KEYS if hasattr(run, name)}
    named = {"run_id": run.id, "payout_id": run.scope_payout, "exceptions": sum(summary["exceptions"].values())}
    return {**summary, **own, **named}


def exceptions(session: Session, connection: str, filters: dict[str, str | None]) -> list[ExceptionRow]:
    """Return the work list, newest first; a filter that is None does not apply."""
    mine = select(ExceptionRow).where(ExceptionRow.connection == connection)
    for name, value in filters.items():
        if value is not None:
            mine = mine.where(getattr(ExceptionRow, name) == value)
    return list(session.exec(mine.order_by(*_NEWEST_FIRST)))


def to_exception_row(row: ExceptionRow, on: date, calendar: BankCalendar) -> Row:
    """Return an exception as programs read its report; its age stops on the day it was resolved."""
    age = count_bank_days(row.aged_from, row.resolved_on or on, calendar)
    own = {name: getattr(row, name) for name in EXCEPTION_KEYS if hasattr(row, name)}
    return own | {
        "exception_id": row.id,
        "fact_on": row.aged_from,
        "age_business_days": age,
        "age_bucket": to_age_bucket(age),
        "amount_at_risk": format_decimal(row.amount_at_risk, row.currency),
        "evidence": say_stored_in_json(row.evidence),
    }


def invoices(session: Session, connection: str) -> Iterator[Row]:
    """Yield the books, newest first, amounts in major units."""
    mine = select(LocalInvoice).where(LocalInvoice.connection == connection)
    for row in session.exec(mine.order_by(col(LocalInvoice.issue_date).desc(), col(LocalInvoice.doc_key))):
        amounts = {name: getattr(row, name) for name in _AMOUNTS}
        yield {name: getattr(row, name) for name in INVOICE_KEYS} | {
            name: None if amount is None else format_decimal(amount, row.currency) for name, amount in amounts.items()
        }


def find_documents(session: Session, connection: str, text: str, *, most: int, is_valid: bool = True) -> Sequence[str]:
    """Return the keys of documents, valid or not, of exactly this key, folio with or without series, order or UUID."""
    invoice = LocalInvoice
    numbered = (col(invoice.series) + "-" + col(invoice.folio), col(invoice.series) + col(invoice.folio))
    exact = (col(invoice.doc_key), col(invoice.folio), col(invoice.order_ref), *numbered)
    named = [column == text for column in exact] + [col(invoice.uuid) == text.lower()]
    mine = (
        col(invoice.connection) == connection,
        col(invoice.status) == "valid" if is_valid else col(invoice.status) != "valid",
    )
    asked = sa.select(col(invoice.doc_key)).where(*mine, sa.or_(*named))
    return session.scalars(asked.order_by(col(invoice.doc_key)).limit(most)).all()


def document_history(session: Session, document: LocalInvoice) -> Iterator[Row]:
    """Yield what later files changed of a document, oldest first, amounts in major units."""
    mine = (LocalInvoiceChange.connection == document.connection, LocalInvoiceChange.doc_key == document.doc_key)
    of_file = sa.and_(
        col(InvoiceFile.connection) == LocalInvoiceChange.connection,
        col(InvoiceFile.sha256) == LocalInvoiceChange.file_sha256,
    )
    found = select(LocalInvoiceChange, InvoiceFile.name).join(InvoiceFile, of_file).where(*mine)
    for change, name in session.exec(found.order_by(col(LocalInvoiceChange.id))):
        sides = {"before": change.before, "after": change.after}
        if change.field in _AMOUNTS:
            sides = {side: text and format_decimal(int(text), document.currency) for side, text in sides.items()}
        own = {key: getattr(change, key) for key in ("connection", "doc_key", "at", "field")}
        yield own | {"file": name} | sides


def explanation(session: Session, run: Run, identity: str) -> Iterator[Fact]:
    """Yield everything a run and the work list say about a payout, a resource or a document, fact by fact."""
    key = PayoutResult.connection == run.connection, PayoutResult.run_id == run.id
    payouts = session.scalars(select(PayoutResult.columns).where(*key, PayoutResult.payout_id == identity))
    yield from (fact for text in payouts for fact in facts_of(f"payout {identity}", json.loads(text), PAYOUT_COLUMNS))
    for column in ("resource_id", "doc_key"):
        for line in chunks.find_lines(session, run, column, identity):
            yield from facts_of(f"item {line['resource_id']}", line, STORED_LINE_COLUMNS)
    document = chunks.find_document(session, run, identity)
    if document is not None:
        yield from facts_of(f"document {identity}", document, DOCUMENT_COLUMNS)
    for found in _exceptions_about(session, run.connection, identity):
        about = f"exception {found.id} {found.code}"
        yield Fact(about, "state", found.state)
        yield Fact(about, "title", found.title)
        yield from evidence_of(about, found.currency, found.evidence)
        yield Fact(about, "suggested_action", found.suggested_action)


def _exceptions_about(session: Session, connection: str, identity: str) -> Iterator[ExceptionRow]:
    mine = select(ExceptionRow).where(ExceptionRow.connection == connection)
    ids = (ExceptionRow.payout_id, ExceptionRow.resource_id, ExceptionRow.doc_key)
    yield from session.exec(mine.where(sa.or_(*(col(column) == identity for column in ids))).order_by(*_NEWEST_FIRST))


def read_closed_periods(session: Session, connection: str) -> Sequence[Period]:
    """Return the periods that are closed now, oldest first."""
    mine = select(Period).where(Period.connection == connection, col(Period.reopened_at).is_(None))
    return session.exec(mine.order_by(col(Period.until))).all()


def last_closed(session: Session, connection: str) -> Period | None:
    found = read_closed_periods(session, connection)
    return found[-1] if found else None


def facts_of(about: str, row: Mapping[str, object], columns: Iterable[Column]) -> Iterator[Fact]:
    """Return what is known of a row; what is not known is left out."""
    currency = row.get("currency")
    kinds = {column.name: column.kind for column in columns}
    for name, value in row.items():
        if value is not None:
            yield Fact(about, name, value, None if currency is None else str(currency), kinds.get(name, Kind.TEXT))


def evidence_of(about: str, currency: str, text: str) -> Iterator[Fact]:
    found: dict[str, object] = json.loads(text or "{}")
    return (Fact(about, name, value, currency, kind_of_evidence(name)) for name, value in found.items())


def kind_of_evidence(name: str) -> Kind:
    """Return the kind of a whole number of evidence: an amount, unless its name is declared as something else."""
    return kind_of(name, Kind.MONEY)
