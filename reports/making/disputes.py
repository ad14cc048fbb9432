"""Contested payments: how each stands, how many bank days are left to answer, and what it is about."""

from collections.abc import Iterator
from datetime import datetime

import sqlalchemy as sa
from sqlmodel import col

from consumer.facts.bankdays import BankCalendar
from consumer.facts.clock import local_date
from consumer.facts.disputes import WAITS
from consumer.facts.installation import Connection
from consumer.facts.meaning import read_json
from consumer.facts.tables.provider import Dispute, PaymentIntent
from reconcile.kept import chunks
from reconcile.tables.desk import ExceptionRow
from reports.queries.query import Source
from reports.shapes.spans import Row

_SUBJECT = "dispute:"


def dispute_rows(source: Source, dispute_id: str | None = None) -> Iterator[Row]:
    """Yield the disputes that were opened in the span, or one; without a line it has its own facts alone."""
    calendars = source.calendars
    for connection in source.query.connections:
        zone = connection.country.zone
        found = [one for one in _read(source, connection, dispute_id) if _is_within(source, one.created_at, zone)]
        about = _find_lines(source, connection, found)
        codes = _find_codes(source, connection)
        payers = _find_payers(source, connection, [one.resource_id for one in found if one.resource_id not in about])
        for one in found:
            line = about.get(one.resource_id or "", {}) | about.get(one.id, {})
            yield {
                "dispute_id": one.id, "payment_id": one.resource_id, "status": one.status, "amount": one.amount,
                "currency": one.currency or connection.country.currency, "opened_at_utc": one.created_at,
                "due_at_utc": one.due_at,
                "bank_days_left": _count_days(source, one, calendars[connection.name], zone),
                "documents_sent": _count_documents(one.body), "payout_id": line.get("payout_id"),
                "doc_key": line.get("doc_key"), "exception_code": codes.get(one.id), "connection": connection.name,
                **(payers.get(one.resource_id or "") or _payer_of(line)),
            }  # fmt: skip


def _read(source: Source, connection: Connection, dispute_id: str | None) -> list[Dispute]:
    mine = [col(Dispute.connection) == connection.name, col(Dispute.gone_at).is_(None)]
    mine += [col(Dispute.id) == dispute_id] if dispute_id is not None else []
    return list(source.session.scalars(sa.select(Dispute).where(*mine).order_by(col(Dispute.id))))


def _is_within(source: Source, at: datetime | None, zone: str) -> bool:
    return source.query.span.holds(local_date(at, zone) if at else None)


def _find_lines(source: Source, connection: Connection, found: list[Dispute]) -> dict[str, Row]:
    """Return the first line of each disputed payment, and the payout that took a lost dispute."""
    run = next((run for run in source.runs if run.connection == connection.name), None)
    ids = {one.id for one in found}
    asked = sorted(ids | {one.resource_id for one in found if one.resource_id})
    lines: dict[str, Row] = {}
    for line in chunks.find_lines(source.session, run, "resource_id", *asked) if run and asked else ():
        is_dispute = line["resource_id"] in ids
        lines.setdefault(line["resource_id"], {"payout_id": line["payout_id"]} if is_dispute else line)
    return {name: line for name, line in lines.items() if name not in ids or line["payout_id"]}


def _find_codes(source: Source, connection: Connection) -> dict[str, str]:
    """Return the exception that stands of each dispute."""
    mine = (col(ExceptionRow.connection) == connection.name, col(ExceptionRow.resolved_on).is_(None))
    asked = sa.select(col(ExceptionRow.subject), col(ExceptionRow.code)).where(
        *mine, col(ExceptionRow.subject).startswith(_SUBJECT, autoescape=True)
    )
    return {row[0].removeprefix(_SUBJECT): row[1] for row in source.session.execute(asked)}


def _find_payers(source: Source, connection: Connection, ids: list[str | None]) -> dict[str, Row]:
    """Return who paid, as the provider says, where no run holds the payment."""
    payment = PaymentIntent
    columns = (col(payment.id), col(payment.customer_tax_id), col(payment.customer_name))
    mine = (col(payment.connection) == connection.name, col(payment.id).in_([name for name in ids if name]))
    rows = source.session.execute(sa.select(*columns).where(*mine))
    return {row[0]: {"customer_tax_id": row[1], "customer_name": row[2]} for row in rows}


def _payer_of(line: Row) -> Row:
    return {name: line.get(name) for name in ("customer_tax_id", "customer_name")}


def _count_days(source: Source, one: Dispute, calendar: BankCalendar, zone: str) -> int | None:
    """Count the bank days until the deadline of a dispute that waits; 0 on its day and after it."""
    if one.status != WAITS or one.due_at is None:
        return None
    return max(0, calendar.days_between(source.as_of, local_date(one.due_at, zone)))


def _count_documents(body: str) -> int:
    documents = read_json(body).get("documents")
    return len(documents) if isinstance(documents, list) else 0
