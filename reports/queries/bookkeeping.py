"""The queries behind the pages of the books: files brought in, bank lines, people's decisions, closed periods."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import sqlalchemy as sa
from sqlmodel import Session, col

from consumer.facts.approvals import State as ApprovalState
from consumer.facts.approvals import state_of, terms_of
from consumer.facts.clock import utc_now
from consumer.facts.columns import Kind, to_columns
from consumer.facts.money import format_decimal
from consumer.facts.tables.approvals import ApprovalRequest
from reconcile.desk.payers import RuleState
from reconcile.journal.exporting import EARLIEST
from reconcile.tables.books import (
    BANK_LINE_KEYS,
    BankFile,
    BankLine,
    InvoiceFile,
    LocalInvoice,
    LocalInvoiceChange,
    PayoutReport,
    RemovedFile,
)
from reconcile.tables.closing import PERIOD_KEYS, ClosedFigure, JournalExport, Period, PeriodAdjustment
from reconcile.tables.desk import Decision, PayerRule
from reconcile.tables.fiscal import REGISTER_KEYS, RegisterFile
from reports.queries.listing import BOOKS, Listing, Statement, Wanted, search, select_from, to_row
from reports.shapes.spans import Row

_LAST = 4
_AMOUNTS = {"net", "exempt", "vat", "total"}
FIGURE_KINDS = ("payout", "item", "document")


def _invoice_files(wanted: Wanted) -> Statement:
    query = select_from(InvoiceFile, wanted, InvoiceFile.name)
    return query.order_by(col(InvoiceFile.imported_at).desc(), col(InvoiceFile.sha256))


def _bank_files(wanted: Wanted) -> Statement:
    query = select_from(BankFile, wanted, BankFile.name)
    return query.order_by(col(BankFile.imported_at).desc(), col(BankFile.sha256))


def _last4(account: str) -> sa.ColumnElement[str]:
    return sa.func.substr(account, -_LAST)


def _show_bank_file(file: BankFile) -> Row:
    balances = {key: _decimal(getattr(file, key), file.currency) for key in ("opening", "closing")}
    return balances | {"account_last4": file.account[-_LAST:]}


def _removed_files(wanted: Wanted) -> Statement:
    query = select_from(RemovedFile, wanted, RemovedFile.name, RemovedFile.removed_by, RemovedFile.reason)
    return query.order_by(col(RemovedFile.id).desc())


def _payout_reports(wanted: Wanted) -> Statement:
    query = select_from(PayoutReport, wanted, PayoutReport.name, exact=[PayoutReport.payout_id])
    return query.order_by(col(PayoutReport.imported_at).desc(), col(PayoutReport.payout_id))


def _register_files(wanted: Wanted) -> Statement:
    query = select_from(RegisterFile, wanted, RegisterFile.name, exact=[RegisterFile.period])
    return query.order_by(col(RegisterFile.imported_at).desc(), col(RegisterFile.sha256))


def _bank_lines(wanted: Wanted) -> Statement:
    query = select_from(BankLine, wanted, BankLine.text, BankLine.reference, BankLine.id)
    return query.order_by(col(BankLine.booked_on).desc(), col(BankLine.id))


def _show_bank_line(line: BankLine) -> Row:
    return {"amount": _decimal(line.amount, line.currency), "account_last4": line.account[-_LAST:]}


def document_changes(wanted: Wanted) -> Statement:
    change = LocalInvoiceChange
    of_file = sa.and_(col(InvoiceFile.connection) == change.connection, col(InvoiceFile.sha256) == change.file_sha256)
    same = sa.and_(col(LocalInvoice.connection) == change.connection, col(LocalInvoice.doc_key) == change.doc_key)
    query = (
        sa.select(change)
        .where(col(change.connection).in_(wanted.connections))
        .add_columns(col(InvoiceFile.name), col(LocalInvoice.currency))
    )
    query = query.outerjoin(InvoiceFile, of_file).outerjoin(LocalInvoice, same)
    if wanted.search:
        query = query.where(col(change.doc_key).startswith(wanted.search, autoescape=True))
    return query.order_by(col(change.id).desc())


def _show_document_change(found: tuple[LocalInvoiceChange, str | None, str | None]) -> Row:
    """Write amounts as decimal text; a change of currency itself leaves no better one to write them in."""
    change, file, currency = found
    sides = {"before": change.before, "after": change.after}
    if change.field in _AMOUNTS and currency:
        sides = {side: text and format_decimal(int(text), currency) for side, text in sides.items()}
    return sides | {"file": file}


def _decisions(wanted: Wanted) -> Statement:
    same = (col(LocalInvoice.connection) == Decision.connection, col(LocalInvoice.doc_key) == Decision.doc_key)
    query = select_from(
        Decision, wanted, Decision.author, Decision.reason, exact=[Decision.resource_id, Decision.doc_key]
    )
    query = query.add_columns(col(LocalInvoice.currency)).outerjoin(LocalInvoice, sa.and_(*same))
    if wanted.state:
        holds = col(Decision.undone_by).is_(None)
        query = query.where(holds if wanted.state == "standing" else ~holds)
    return query.order_by(col(Decision.id).desc())


def _show_decision(found: tuple[Decision, str | None]) -> Row:
    """Write an amount in the currency of its document; a decision without one is about all of it."""
    decision, currency = found
    amount = None if decision.amount is None or currency is None else format_decimal(decision.amount, currency)
    state = "standing" if decision.undone_by is None else "undone"
    named = {"decision": decision.id, "who": decision.author, "state": state}
    return named | {"amount": amount, "currency": currency if amount else None}


def _payers(wanted: Wanted) -> Statement:
    query = select_from(PayerRule, wanted, PayerRule.subject, PayerRule.object)
    if wanted.state:
        query = query.where(col(PayerRule.state) == wanted.state)
    return query.order_by(col(PayerRule.bound_bps), col(PayerRule.id))


def _show_payer(rule: PayerRule) -> Row:
    return {
        "rule": rule.id, "payer": rule.subject, "counts_as": rule.object, "right": rule.right_count,
        "wrong": rule.wrong_count, "without_answer": rule.open_count, "bound_pct": f"{rule.bound_bps / 100:.2f}",
    }  # fmt: skip


def _periods(wanted: Wanted) -> Statement:
    lines = sa.select(sa.func.count()).where(col(PeriodAdjustment.period_id) == Period.id).scalar_subquery()
    texts = (Period.reason, Period.closed_by, Period.reopened_by, Period.reopened_for)
    query = select_from(Period, wanted, *texts).add_columns(lines.label("adjustments"))
    if wanted.state:
        is_closed = col(Period.reopened_at).is_(None)
        query = query.where(is_closed if wanted.state == "closed" else ~is_closed)
    return query.order_by(col(Period.id).desc())


def _show_period(found: tuple[Period, int]) -> Row:
    return {"period": found[0].id, "adjustments": found[1]}


def _closed_figures(wanted: Wanted) -> Statement:
    query = _of_periods(ClosedFigure, wanted).where(col(ClosedFigure.kind).in_(FIGURE_KINDS))
    return query.order_by(col(ClosedFigure.period_id).desc(), col(ClosedFigure.kind), col(ClosedFigure.subject))


def _adjustments(wanted: Wanted) -> Statement:
    return _of_periods(PeriodAdjustment, wanted).order_by(col(PeriodAdjustment.id).desc())


def _of_periods(table: type[ClosedFigure] | type[PeriodAdjustment], wanted: Wanted) -> Statement:
    """Select what belongs to periods: state is a kind; digits search for a period, other text for a subject."""
    query = sa.select(table, col(Period.connection)).join(Period, col(Period.id) == table.period_id)
    query = query.where(col(Period.connection).in_(wanted.connections))
    if wanted.state:
        query = query.where(col(table.kind) == wanted.state)
    if wanted.search.isascii() and wanted.search.isdigit():
        return query.where(col(table.period_id) == int(wanted.search[:9]))
    return search(query, wanted, table.subject)


def _show_of_period(found: tuple[ClosedFigure | PeriodAdjustment, str]) -> Row:
    return {"connection": found[1], "period": found[0].period_id}


def _approvals(wanted: Wanted) -> Statement:
    request = ApprovalRequest
    query = select_from(request, wanted, request.who, request.second, request.reason, exact=[request.subject])
    if wanted.state:
        query = query.where(col(request.state) == wanted.state)
    return query.order_by(col(request.id).desc())


def _show_approval(row: ApprovalRequest) -> Row:
    kind = terms_of(row).get("kind")
    return {"request": row.id, "reason_type": kind, "state": state_of(row, now=utc_now())}


def _state_of_approval() -> sa.ColumnElement[str]:
    request = ApprovalRequest
    is_over = col(request.state).in_([ApprovalState.WAITING, ApprovalState.APPROVED]) & (
        col(request.expires_at) <= utc_now()
    )
    return sa.case((is_over, ApprovalState.EXPIRED.value), else_=col(request.state))


def waiting_approvals(session: Session, connections: Sequence[str], *, now: datetime) -> Sequence[ApprovalRequest]:
    """Return the requests that wait for a person, or to be done, newest first."""
    is_open = col(ApprovalRequest.state).in_([ApprovalState.WAITING, ApprovalState.APPROVED])
    mine = (is_open, col(ApprovalRequest.connection).in_(connections), col(ApprovalRequest.expires_at) > now)
    return session.scalars(sa.select(ApprovalRequest).where(*mine).order_by(col(ApprovalRequest.id).desc())).all()


def find_late_facts(session: Session, connection: str, kind: str, subject: str) -> Sequence[PeriodAdjustment]:
    """Find what later runs found otherwise about something in a period that is closed now, oldest first."""
    line = PeriodAdjustment
    mine = (col(Period.connection) == connection, col(Period.reopened_at).is_(None))
    about = (col(line.kind) == kind, col(line.subject) == subject)
    query = sa.select(line).join(Period, col(Period.id) == line.period_id).where(*mine, *about)
    return session.scalars(query.order_by(col(line.id))).all()


def find_last_closing(session: Session, connection: str) -> Period | None:
    """Find the newest period that is closed now."""
    mine = (col(Period.connection) == connection, col(Period.reopened_at).is_(None))
    return session.scalar(sa.select(Period).where(*mine).order_by(col(Period.until).desc()).limit(1))


def find_period(session: Session, connection: str, number: int) -> Row | None:
    found = session.execute(_periods(Wanted([connection])).where(col(Period.id) == number)).first()
    return None if found is None else to_row(_PERIODS, found)


def figures_by_kind(session: Session, number: int) -> dict[str, int]:
    """Count what a period froze."""
    kind = col(ClosedFigure.kind)
    query = sa.select(kind, sa.func.count()).where(col(ClosedFigure.period_id) == number).group_by(kind)
    return {str(name): count for name, count in session.execute(query)}


def _decimal(amount: int | None, currency: str) -> str | None:
    return None if amount is None else format_decimal(amount, currency)


def _journal_exports(wanted: Wanted) -> Statement:
    query = select_from(JournalExport, wanted, JournalExport.author, JournalExport.profiles)
    return query.order_by(col(JournalExport.id).desc())


def _show_export(export: JournalExport) -> Row:
    """Leave the first day empty where the export began with all days."""
    return {"export": export.id, "since": None if export.since == EARLIEST else export.since}


_PERIODS = Listing(
    "periods",
    to_columns(PERIOD_KEYS, period=Kind.INT, adjustments=Kind.INT),
    _periods,
    _show_period,
    ("closed", "reopened"),
    by={"period": Period.id, "state": sa.case((col(Period.reopened_at).is_(None), "closed"), else_="reopened")},
)
DOCUMENT_CHANGES = Listing(
    "document-changes",
    to_columns("connection doc_key at field before after file"),
    document_changes,
    _show_document_change,
    by={"file": InvoiceFile.name},
)
LISTS = tuple(
    replace(listing, place=BOOKS)
    for listing in (
        Listing(
            "invoice-files",
            to_columns("connection name imported_at rows added changed totals_accepted sha256"),
            _invoice_files,
        ),
        Listing(
            "bank-files",
            to_columns(
                "connection name imported_at account_last4 file_format since until currency opening closing rows added "
                "sha256",
                opening=Kind.DECIMAL,
                closing=Kind.DECIMAL,
            ),
            _bank_files,
            _show_bank_file,
            by={"account_last4": _last4(BankFile.account)},
            amounts=("opening", "closing"),
        ),
        Listing(
            "removed-files",
            to_columns("connection removed_at removed_by kind name imported_at rows reason sha256"),
            _removed_files,
        ),
        Listing("register-files", to_columns(REGISTER_KEYS, as_of=Kind.INSTANT), _register_files),
        Listing("payout-reports", to_columns("connection name imported_at payout_id rows sha256"), _payout_reports),
        Listing(
            "bank-file-lines",
            to_columns(BANK_LINE_KEYS, amount=Kind.DECIMAL),
            _bank_lines,
            _show_bank_line,
            by={"account_last4": _last4(BankLine.account)},
            amounts=("amount",),
        ),
        DOCUMENT_CHANGES,
        Listing(
            "decisions",
            to_columns(
                "connection decision at who kind resource_id doc_key amount currency reason_type reason state",
                amount=Kind.DECIMAL,
            ),
            _decisions,
            _show_decision,
            ("standing", "undone"),
            by={
                "decision": Decision.id,
                "who": Decision.author,
                "state": sa.case((col(Decision.undone_by).is_(None), "standing"), else_="undone"),
            },
            amounts=("amount",),
        ),
        Listing(
            "payers",
            to_columns("connection rule kind payer counts_as state right wrong without_answer bound_pct weighed_at"),
            _payers,
            _show_payer,
            tuple(RuleState),
            words="payer_state",
            by={
                "rule": PayerRule.id,
                "payer": PayerRule.subject,
                "counts_as": PayerRule.object,
                "right": PayerRule.right_count,
                "wrong": PayerRule.wrong_count,
                "without_answer": PayerRule.open_count,
                "bound_pct": PayerRule.bound_bps / 100.0,
            },
        ),
        _PERIODS,
        Listing(
            "journal-exports",
            to_columns("connection export at author since until profiles entries run_id"),
            _journal_exports,
            _show_export,
            by={"export": JournalExport.id},
        ),
        Listing(
            "approvals",
            to_columns(
                "request connection at who words reason_type reason state second decided_at expires_at",
                request=Kind.INT,
                second=Kind.TEXT,
            ),
            _approvals,
            _show_approval,
            ("waiting", "approved", "done", "refused", "withdrawn", "stale"),
            by={"request": ApprovalRequest.id, "state": _state_of_approval},
        ),
        Listing(
            "closed-figures",
            to_columns("connection period kind subject words", period=Kind.INT),
            _closed_figures,
            _show_of_period,
            FIGURE_KINDS,
            words="about",
            by={"period": ClosedFigure.period_id},
        ),
        Listing(
            "adjustments",
            to_columns("connection period found_at kind subject before after run_id", period=Kind.INT),
            _adjustments,
            _show_of_period,
            FIGURE_KINDS,
            words="about",
            by={"period": PeriodAdjustment.period_id},
        ),
    )
)
