"""One exception and what is needed to decide it: the payment, the documents that could be meant, what was decided."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session, col

from reconcile import decisions
from reconcile.decisions import Pair
from reconcile.tables import Decision, DocumentResult, ExceptionChange, ExceptionRow, Line, LocalInvoice, Run
from reports.frames import decode
from reports.spans import Row

_MOST_CANDIDATES = 20
_PAYMENTS = ("payment_intent", "charge")


@dataclass(frozen=True, slots=True)
class Case:
    """Everything the page of one exception shows."""

    row: ExceptionRow
    evidence: dict[str, Any]
    payment: Row | None
    candidates: Sequence[Row]
    decisions: Sequence[Decision]
    history: Sequence[ExceptionChange]

    @property
    def newest_decision(self) -> int:
        return max((decision.id or 0 for decision in self.decisions), default=0)


def find_case(session: Session, runs: Sequence[Run], connection: str, exception_id: str) -> Case | None:
    row = session.get(ExceptionRow, (connection, exception_id))
    if row is None:
        return None
    run = next((run for run in runs if run.connection == connection), None)
    evidence = to_evidence(row.evidence)
    payment = find_payment(session, run, row.resource_id) if run and row.resource_id else None
    candidates = find_candidates(session, run, payment, evidence) if run and payment else []
    about = Pair(connection, row.resource_id or "", "" if row.resource_id else row.doc_key or "")
    stand = decisions.standing(session, about) if row.resource_id or row.doc_key else []
    return Case(row, evidence, payment, candidates, stand, decisions.history(session, connection, exception_id))


def to_evidence(text: str) -> dict[str, Any]:
    """Read the evidence; anything but an object is shown as it is stored."""
    try:
        found = json.loads(text) if text else {}
    except json.JSONDecodeError:
        return {"text": text}
    return found if isinstance(found, dict) else {"text": text}


def find_payment(session: Session, run: Run, resource_id: str) -> Row | None:
    """Find the payment's first line; refunds and disputes are not matched with documents by hand."""
    query = (
        sa.select(col(Line.columns))
        .where(
            col(Line.connection) == run.connection,
            col(Line.run_id) == run.id,
            col(Line.resource_id) == resource_id,
            col(Line.resource_type).in_(_PAYMENTS),
        )
        .order_by(col(Line.position))
    )
    text = session.scalar(query.limit(1))
    return None if text is None else {**decode(text), "connection": run.connection}


def find_candidates(session: Session, run: Run, payment: Row, evidence: dict[str, Any]) -> list[Row]:
    """List open documents that could be meant: named by the evidence, of the same customer, or of the same amount.

    The closest in amount come first; what tells identical ones apart is in their columns.
    """
    result, invoice = DocumentResult, LocalInvoice
    amount = abs(payment["amount_signed"])
    reasons = [col(result.balance) == amount, col(result.doc_key).in_(_keys_in(evidence))]
    if payment["customer_tax_id"]:
        reasons.append(col(invoice.customer_tax_id) == payment["customer_tax_id"])
    same_document = sa.and_(
        col(invoice.connection) == col(result.connection), col(invoice.doc_key) == col(result.doc_key)
    )
    query = (
        sa.select(col(result.columns), col(invoice.order_ref))
        .join(invoice, same_document)
        .where(
            col(result.connection) == run.connection,
            col(result.run_id) == run.id,
            col(result.balance) > 0,
            col(invoice.currency) == payment["currency"],
            sa.or_(*reasons),
        )
        .order_by(sa.func.abs(col(result.balance) - amount), col(invoice.due_date), col(result.doc_key))
        .limit(_MOST_CANDIDATES)
    )
    found = []
    for columns, order_ref in session.execute(query):
        document = decode(columns)
        found.append({**document, "order_ref": order_ref, "difference": amount - document["balance"]})
    return found


def _keys_in(evidence: Any) -> list[str]:
    """Collect every document key that evidence names, however deep."""
    if isinstance(evidence, str):
        return [evidence] if evidence.startswith(("cl:", "mx:")) else []
    parts = evidence.values() if isinstance(evidence, dict) else evidence if isinstance(evidence, list) else ()
    return [key for part in parts for key in _keys_in(part)]
