"""What runs published, read back: runs, their payouts, lines and documents, the work list, the books."""

import json
from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session, col, select

from consumer.facts.bankdays import BankCalendar
from consumer.facts.money import format_decimal
from reconcile import chunks
from reconcile.exceptions import age_bucket, age_in_bank_days
from reconcile.tables import (
    ExceptionRow,
    LocalInvoice,
    PayoutResult,
    Run,
    RunFinding,
)

EXCEPTION_KEYS = (
    "exception_id", "code", "severity", "title", "opened_on", "last_seen_on", "age_business_days", "age_bucket",
    "amount_at_risk", "currency", "payout_id", "resource_id", "doc_key", "evidence", "suggested_action", "owner",
    "state", "resolved_on", "resolution", "run_first", "run_last", "connection",
)  # fmt: skip
RUN_KEYS = (
    "connection", "run_id", "number", "as_of", "complete", "scope_from", "scope_to", "payout_id", "payouts",
    "payouts_closed", "exceptions", "calendar", "started_at", "finished_at",
)  # fmt: skip
INVOICE_KEYS = (
    "connection", "doc_key", "doc_type", "series", "folio", "uuid", "issue_date", "due_date", "customer_tax_id",
    "customer_name", "net", "exempt", "vat", "total", "currency", "status", "order_ref", "ref_type", "ref_number",
    "payment_method", "payment_form",
)  # fmt: skip


_DIGITS_OF_A_NUMBER = 9


def runs(session: Session, connection: str) -> Sequence[Run]:
    """Every run of a connection, newest first."""
    mine = select(Run).where(Run.connection == connection)
    return session.exec(mine.order_by(col(Run.number).desc())).all()


def find_run(session: Session, connection: str, name: str) -> Run | None:
    """A run by its id, by the beginning of its id, or by its number."""
    mine = select(Run).where(Run.connection == connection)
    exact = [col(Run.id) == name] + ([col(Run.number) == int(name)] if is_run_number(name) else [])
    for condition in (sa.or_(*exact), col(Run.id).startswith(name, autoescape=True)):
        found = session.exec(mine.where(condition).limit(2)).all()
        if found:
            return found[0] if len(found) == 1 else None
    return None


def is_run_number(name: str) -> bool:
    return name.isascii() and name.isdigit() and len(name) <= _DIGITS_OF_A_NUMBER


def last_run(session: Session, connection: str) -> Run | None:
    """Find the run that reports show: of the latest day, of all payouts where there is such a run."""
    is_part = sa.or_(*(col(part).is_not(None) for part in (Run.scope_from, Run.scope_to, Run.scope_payout)))
    order = is_part, col(Run.as_of).desc(), col(Run.finished_at).desc(), col(Run.number).desc()
    kept = select(Run).where(Run.connection == connection, col(Run.pruned_at).is_(None))
    return session.exec(kept.order_by(*order).limit(1)).first()


def to_run_row(run: Run) -> dict[str, Any]:
    summary = json.loads(run.summary)
    return {
        "connection": run.connection, "run_id": run.id, "number": run.number, "as_of": run.as_of,
        "complete": run.complete, "scope_from": run.scope_from, "scope_to": run.scope_to,
        "payout_id": run.scope_payout, "payouts": summary["payouts"], "payouts_closed": summary["payouts_closed"],
        "exceptions": sum(summary["exceptions"].values()), "calendar": run.calendar,
        "started_at": run.started_at, "finished_at": run.finished_at,
    }  # fmt: skip


def exceptions(session: Session, connection: str, filters: dict[str, str | None]) -> list[ExceptionRow]:
    """The work list, newest first; a filter that is None holds nothing back."""
    mine = select(ExceptionRow).where(ExceptionRow.connection == connection)
    for name, value in filters.items():
        if value is not None:
            mine = mine.where(getattr(ExceptionRow, name) == value)
    order = col(ExceptionRow.opened_on).desc(), col(ExceptionRow.code), col(ExceptionRow.id)
    return list(session.exec(mine.order_by(*order)))


def to_exception_row(row: ExceptionRow, on: date, calendar: BankCalendar) -> dict[str, Any]:
    """An exception as the report shows it; its age stops on the day it was resolved."""
    age = age_in_bank_days(row.opened_on, row.resolved_on or on, calendar)
    own = {name: getattr(row, name) for name in EXCEPTION_KEYS if hasattr(row, name)}
    return own | {
        "exception_id": row.id,
        "age_business_days": age,
        "age_bucket": age_bucket(age),
        "amount_at_risk": format_decimal(row.amount_at_risk, row.currency),
    }


def invoices(session: Session, connection: str) -> Iterator[dict[str, Any]]:
    """The books, newest first, amounts in major units."""
    mine = select(LocalInvoice).where(LocalInvoice.connection == connection)
    for row in session.exec(mine.order_by(col(LocalInvoice.issue_date).desc(), col(LocalInvoice.doc_key))):
        amounts = {name: getattr(row, name) for name in ("net", "exempt", "vat", "total")}
        yield {name: getattr(row, name) for name in INVOICE_KEYS} | {
            name: None if amount is None else format_decimal(amount, row.currency) for name, amount in amounts.items()
        }


def payout_rows(session: Session, run: Run) -> Iterator[dict[str, Any]]:
    """The payouts of one run with their report columns."""
    mine = PayoutResult.connection == run.connection, PayoutResult.run_id == run.id
    for payout_id, text in session.execute(select(PayoutResult.payout_id, PayoutResult.columns).where(*mine)):
        yield json.loads(text) | {"payout_id": payout_id}


def explanation(session: Session, run: Run, identity: str) -> Iterator[tuple[str, str, Any]]:
    """Everything a run and the work list say about a payout, a resource or a document, fact by fact."""
    key = PayoutResult.connection == run.connection, PayoutResult.run_id == run.id
    payouts = session.scalars(select(PayoutResult.columns).where(*key, PayoutResult.payout_id == identity))
    yield from (fact for text in payouts for fact in _facts(f"payout {identity}", json.loads(text)))
    for column in ("resource_id", "doc_key"):
        for line in chunks.find_lines(session, run, column, identity):
            yield from _facts(f"item {line['resource_id']}", line)
    document = chunks.find_document(session, run, identity)
    if document is not None:
        yield from _facts(f"document {identity}", document)
    for found in _exceptions_about(session, run.connection, identity):
        about = f"exception {found.id} {found.code}"
        yield about, "state", found.state
        yield about, "title", found.title
        yield from ((about, fact, value) for fact, value in json.loads(found.evidence or "{}").items())
        yield about, "suggested_action", found.suggested_action


def _facts(about: str, columns: dict[str, Any]) -> Iterator[tuple[str, str, Any]]:
    return ((about, fact, value) for fact, value in columns.items() if value is not None)


def _exceptions_about(session: Session, connection: str, identity: str) -> Iterator[ExceptionRow]:
    mine = select(ExceptionRow).where(ExceptionRow.connection == connection)
    ids = (ExceptionRow.payout_id, ExceptionRow.resource_id, ExceptionRow.doc_key)
    yield from session.exec(mine.where(sa.or_(*(col(column) == identity for column in ids))))


def findings(session: Session, run: Run) -> Sequence[RunFinding]:
    mine = RunFinding.connection == run.connection, RunFinding.run_id == run.id
    return session.exec(select(RunFinding).where(*mine)).all()
