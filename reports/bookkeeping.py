"""The queries behind the pages of the books: files brought in, bank lines, people's decisions, closed periods."""

from dataclasses import replace

import sqlalchemy as sa
from sqlmodel import Session, col

from consumer.facts.columns import Kind, to_columns
from consumer.facts.money import format_decimal
from reconcile.tables import (
    BANK_LINE_KEYS,
    PERIOD_KEYS,
    BankFile,
    BankLine,
    ClosedFigure,
    Decision,
    InvoiceFile,
    LocalInvoice,
    LocalInvoiceChange,
    PayoutReport,
    Period,
    PeriodAdjustment,
)
from reports.listing import BOOKS, Listing, Statement, Wanted
from reports.shapes.spans import Row

_LAST = 4
_AMOUNTS = {"net", "exempt", "vat", "total"}
INVOICE_FILE_KEYS = ("connection", "name", "imported_at", "rows", "added", "changed", "totals_accepted", "sha256")
BANK_FILE_KEYS = (
    "connection", "name", "imported_at", "account_last4", "file_format", "since", "until", "currency", "opening",
    "closing", "rows", "added", "sha256",
)  # fmt: skip
PAYOUT_REPORT_KEYS = ("connection", "name", "imported_at", "payout_id", "rows", "sha256")
CHANGE_KEYS = ("connection", "doc_key", "at", "field", "before", "after", "file")
DECISION_KEYS = (
    "connection", "decision", "at", "who", "kind", "resource_id", "doc_key", "amount", "currency", "reason_type",
    "reason", "state",
)  # fmt: skip
FIGURE_KEYS = ("connection", "period", "kind", "subject", "words")
ADJUSTMENT_KEYS = ("connection", "period", "found_at", "kind", "subject", "before", "after", "run_id")
FIGURE_KINDS = ("payout", "item", "document")
DECISION_STATES = ("standing", "undone")
PERIOD_STATES = ("closed", "reopened")


def invoice_files(wanted: Wanted) -> Statement:
    query = sa.select(InvoiceFile).where(col(InvoiceFile.connection).in_(wanted.connections))
    return _named(query, InvoiceFile.name, wanted.search).order_by(
        col(InvoiceFile.imported_at).desc(), col(InvoiceFile.sha256)
    )


def invoice_file_row(file: InvoiceFile) -> Row:
    return {key: getattr(file, key) for key in INVOICE_FILE_KEYS}


def bank_files(wanted: Wanted) -> Statement:
    query = sa.select(BankFile).where(col(BankFile.connection).in_(wanted.connections))
    return _named(query, BankFile.name, wanted.search).order_by(col(BankFile.imported_at).desc(), col(BankFile.sha256))


def bank_file_row(file: BankFile) -> Row:
    own = {key: getattr(file, key) for key in BANK_FILE_KEYS if key != "account_last4"}
    balances = {key: _decimal(own[key], file.currency) for key in ("opening", "closing")}
    return own | balances | {"account_last4": file.account[-_LAST:]}


def payout_reports(wanted: Wanted) -> Statement:
    report = PayoutReport
    query = sa.select(report).where(col(report.connection).in_(wanted.connections))
    if wanted.search:
        is_named = col(report.name).contains(wanted.search, autoescape=True)
        query = query.where(sa.or_(is_named, col(report.payout_id) == wanted.search))
    return query.order_by(col(report.imported_at).desc(), col(report.payout_id))


def payout_report_row(report: PayoutReport) -> Row:
    return {key: getattr(report, key) for key in PAYOUT_REPORT_KEYS}


def bank_lines(wanted: Wanted) -> Statement:
    query = sa.select(BankLine).where(col(BankLine.connection).in_(wanted.connections))
    if wanted.search:
        fields = (col(BankLine.text), col(BankLine.reference), col(BankLine.id))
        query = query.where(sa.or_(*(field.contains(wanted.search, autoescape=True) for field in fields)))
    return query.order_by(col(BankLine.booked_on).desc(), col(BankLine.id))


def bank_line_row(line: BankLine) -> Row:
    own = {key: getattr(line, key) for key in BANK_LINE_KEYS if key != "account_last4"}
    return own | {"amount": _decimal(line.amount, line.currency), "account_last4": line.account[-_LAST:]}


def document_changes(wanted: Wanted) -> Statement:
    change = LocalInvoiceChange
    of_file = sa.and_(col(InvoiceFile.connection) == change.connection, col(InvoiceFile.sha256) == change.file_sha256)
    same = sa.and_(col(LocalInvoice.connection) == change.connection, col(LocalInvoice.doc_key) == change.doc_key)
    query = sa.select(change, col(InvoiceFile.name), col(LocalInvoice.currency))
    query = (
        query.outerjoin(InvoiceFile, of_file)
        .outerjoin(LocalInvoice, same)
        .where(col(change.connection).in_(wanted.connections))
    )
    if wanted.search:
        query = query.where(col(change.doc_key).startswith(wanted.search, autoescape=True))
    return query.order_by(col(change.id).desc())


def document_change_row(row: tuple[LocalInvoiceChange, str | None, str | None]) -> Row:
    """Write amounts as decimal text; a change of currency itself leaves no better one to write them in."""
    change, file, currency = row
    own = {key: getattr(change, key) for key in CHANGE_KEYS if key != "file"} | {"file": file}
    if change.field in _AMOUNTS and currency:
        own |= {key: format_decimal(int(own[key]), currency) for key in ("before", "after") if own[key]}
    return own


def decisions(wanted: Wanted) -> Statement:
    same = (col(LocalInvoice.connection) == Decision.connection, col(LocalInvoice.doc_key) == Decision.doc_key)
    query = sa.select(Decision, col(LocalInvoice.currency)).outerjoin(LocalInvoice, sa.and_(*same))
    query = query.where(col(Decision.connection).in_(wanted.connections))
    if wanted.state:
        holds = col(Decision.undone_by).is_(None)
        query = query.where(holds if wanted.state == "standing" else ~holds)
    if wanted.search:
        texts = (col(Decision.author), col(Decision.reason))
        ids = (col(Decision.resource_id) == wanted.search, col(Decision.doc_key) == wanted.search)
        query = query.where(sa.or_(*ids, *(text.contains(wanted.search, autoescape=True) for text in texts)))
    return query.order_by(col(Decision.id).desc())


def decision_row(row: tuple[Decision, str | None]) -> Row:
    """Write an amount in the currency of its document; a decision without one is about all of it."""
    decision, currency = row
    own = {key: getattr(decision, key) for key in DECISION_KEYS if hasattr(decision, key)}
    amount = None if decision.amount is None or currency is None else format_decimal(decision.amount, currency)
    state = "standing" if decision.undone_by is None else "undone"
    named = {"decision": decision.id, "who": decision.author, "state": state}
    return own | named | {"amount": amount, "currency": currency if amount else None}


def periods(wanted: Wanted) -> Statement:
    lines = sa.select(sa.func.count()).where(col(PeriodAdjustment.period_id) == Period.id).scalar_subquery()
    query = sa.select(Period, lines.label("adjustments")).where(col(Period.connection).in_(wanted.connections))
    if wanted.state:
        is_closed = col(Period.reopened_at).is_(None)
        query = query.where(is_closed if wanted.state == "closed" else ~is_closed)
    if wanted.search:
        texts = (Period.reason, Period.closed_by, Period.reopened_by, Period.reopened_for)
        query = query.where(sa.or_(*(col(text).contains(wanted.search, autoescape=True) for text in texts)))
    return query.order_by(col(Period.id).desc())


def period_row(row: tuple[Period, int]) -> Row:
    period, adjustments = row
    own = {key: getattr(period, key) for key in PERIOD_KEYS if hasattr(period, key)}
    return own | {"period": period.id, "adjustments": adjustments}


def closed_figures(wanted: Wanted) -> Statement:
    """Take a kind as state; digits search for a period, other text for a subject."""
    figure = ClosedFigure
    query = sa.select(figure, col(Period.connection)).join(Period, col(Period.id) == figure.period_id)
    query = query.where(col(Period.connection).in_(wanted.connections))
    if wanted.state:
        query = query.where(col(figure.kind) == wanted.state)
    query = _of_period(query, figure.period_id, figure.subject, wanted.search)
    return query.order_by(col(figure.period_id).desc(), col(figure.kind), col(figure.subject))


def closed_figure_row(row: tuple[ClosedFigure, str]) -> Row:
    figure, connection = row
    words = {key: getattr(figure, key) for key in ("kind", "subject", "words")}
    return {"connection": connection, "period": figure.period_id, **words}


def adjustments(wanted: Wanted) -> Statement:
    line = PeriodAdjustment
    query = sa.select(line, col(Period.connection)).join(Period, col(Period.id) == line.period_id)
    query = query.where(col(Period.connection).in_(wanted.connections))
    if wanted.state:
        query = query.where(col(line.kind) == wanted.state)
    return _of_period(query, line.period_id, line.subject, wanted.search).order_by(col(line.id).desc())


def adjustment_row(row: tuple[PeriodAdjustment, str]) -> Row:
    line, connection = row
    own = {key: getattr(line, key) for key in ADJUSTMENT_KEYS if hasattr(line, key)}
    return own | {"connection": connection, "period": line.period_id}


def closed_until(session: Session, connection: str) -> Period | None:
    """Find the newest period that is closed now."""
    mine = (col(Period.connection) == connection, col(Period.reopened_at).is_(None))
    return session.scalar(sa.select(Period).where(*mine).order_by(col(Period.until).desc()).limit(1))


def find_period(session: Session, connection: str, number: int) -> Row | None:
    query = periods(Wanted([connection])).where(col(Period.id) == number)
    row = session.execute(query).first()
    return None if row is None else period_row(row)


def figures_by_kind(session: Session, number: int) -> dict[str, int]:
    """Count what a period froze."""
    kind = col(ClosedFigure.kind)
    query = sa.select(kind, sa.func.count()).where(col(ClosedFigure.period_id) == number).group_by(kind)
    return {str(name): count for name, count in session.execute(query)}


def _named(query: Statement, name: str, search: str) -> Statement:
    return query.where(col(name).contains(search, autoescape=True)) if search else query


def _of_period(query: Statement, number: int, subject: str, search: str) -> Statement:
    if search.isascii() and search.isdigit():
        return query.where(col(number) == int(search[:9]))
    return query.where(col(subject).contains(search, autoescape=True)) if search else query


def _decimal(amount: int | None, currency: str) -> str | None:
    return None if amount is None else format_decimal(amount, currency)


LISTS = tuple(
    replace(listing, place=BOOKS)
    for listing in (
        Listing("invoice-files", to_columns(INVOICE_FILE_KEYS), invoice_files, invoice_file_row),
        Listing(
            "bank-files",
            to_columns(BANK_FILE_KEYS, opening=Kind.DECIMAL, closing=Kind.DECIMAL),
            bank_files,
            bank_file_row,
        ),
        Listing("payout-reports", to_columns(PAYOUT_REPORT_KEYS), payout_reports, payout_report_row),
        Listing("bank-lines", to_columns(BANK_LINE_KEYS, amount=Kind.DECIMAL), bank_lines, bank_line_row),
        Listing("document-changes", to_columns(CHANGE_KEYS), document_changes, document_change_row),
        Listing("decisions", to_columns(DECISION_KEYS, amount=Kind.DECIMAL), decisions, decision_row, DECISION_STATES),
        Listing(
            "periods",
            to_columns(PERIOD_KEYS, period=Kind.INT, adjustments=Kind.INT),
            periods,
            period_row,
            PERIOD_STATES,
        ),
        Listing(
            "closed-figures",
            to_columns(FIGURE_KEYS, period=Kind.INT),
            closed_figures,
            closed_figure_row,
            FIGURE_KINDS,
            words="about",
        ),
        Listing(
            "adjustments",
            to_columns(ADJUSTMENT_KEYS, period=Kind.INT),
            adjustments,
            adjustment_row,
            FIGURE_KINDS,
            words="about",
        ),
    )
)
