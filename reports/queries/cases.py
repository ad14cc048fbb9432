"""One exception and what is needed to decide it: the payment, the documents that could be meant, what was decided."""

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TypeAlias

import pyarrow.compute as pc
import sqlalchemy as sa
from sqlmodel import Session, col

from consumer.facts.meaning import leaves_of
from consumer.facts.tables.provider import PayoutItem
from reconcile.desk import attachments, casework, decisions
from reconcile.desk.decisions import Pair
from reconcile.kept import chunks, extracts, records
from reconcile.rules.outcomes import WITHOUT_DOCUMENT
from reconcile.tables.books import LocalInvoice
from reconcile.tables.desk import Attachment, Decision, ExceptionChange, ExceptionRow
from reconcile.tables.runs import PayoutResult, Run
from reports.shapes.spans import Row

# What a rule wrote down; its values are shown, not computed with.
Evidence: TypeAlias = dict[str, object]
_MOST_CANDIDATES = 20
_NO_DATE = date.max
_NO_AMOUNT = -1
_MOST_FOUND = 200
PAYMENTS = ("payment_intent", "charge")


@dataclass(frozen=True, slots=True)
class Case:
    """Everything the page of one exception shows."""

    row: ExceptionRow
    evidence: Evidence
    # The lines of its payment, one for each document.
    lines: Sequence[Row]
    candidates: Sequence[Row]
    decisions: Sequence[Decision]
    history: Sequence[ExceptionChange]
    decided: Sequence[Decision]
    runs: Mapping[str, int]
    newest_of_document: int
    # False if the document has no balance; one that the run does not hold may have some.
    is_document_open: bool
    comments: Mapping[str, str]
    attachments: Sequence[Attachment]

    @property
    def newest_decision(self) -> int:
        return max((decision.id or 0 for decision in self.decisions), default=0)

    @property
    def timeline(self) -> list[ExceptionChange | Decision]:
        """Everything that happened, oldest first: what became of the exception, and each decision, undone or not."""
        return sorted([*self.history, *self.decided], key=lambda one: one.at)


def find_case(
    session: Session, runs: Sequence[Run], connection: str, exception_id: str, named: Sequence[str] | None = None
) -> Case | None:
    row = session.get(ExceptionRow, (connection, exception_id))
    if row is None:
        return None
    run = next((run for run in runs if run.connection == connection), None)
    evidence = to_evidence(row.evidence)
    lines = find_lines(session, run, row.resource_id, payout_id=row.payout_id) if run and row.resource_id else []
    lines = [line | {"connection": connection} for line in lines if line["resource_type"] in PAYMENTS]
    payment = lines[0] if lines else None
    applied = find_applied(lines)
    candidates = find_candidates(session, run, payment, evidence, applied, named) if run and payment else []
    about = Pair(connection, row.resource_id or "", "" if row.resource_id else row.doc_key or "")
    stand = decisions.standing(session, about) if row.resource_id or row.doc_key else []
    changes = decisions.history(session, connection, exception_id)
    newest = _find_newest(session, Pair(connection, "", row.doc_key)) if row.doc_key else 0
    decided = _find_decided(session, about) if row.resource_id or row.doc_key else []
    document = chunks.find_document(session, run, row.doc_key) if run and row.doc_key else None
    is_open = document is None or document["balance"] != 0
    return Case(
        row,
        evidence,
        lines,
        candidates,
        [*stand, *decisions.find_rests(session, stand)],
        changes,
        decided,
        _runs(session, row, changes),
        newest,
        is_open,
        casework.find_comments(session, connection, exception_id),
        attachments.list_attachments(session, connection, exception_id),
    )


def find_applied(lines: Sequence[Row]) -> list[str]:
    """Return the documents that get anything of an item, in the order of its lines."""
    return list(dict.fromkeys(line["doc_key"] for line in lines if line["doc_key"] and line["applied_amount"]))


def find_left(lines: Sequence[Row]) -> int:
    """Return what of a payment no document needs: what none has got, and what its last one has got too much."""
    paid = abs(lines[0]["amount_signed"]) if lines else 0
    needed = (
        max(0, line["applied_amount"] + min(0, line["doc_balance_after"] or 0))
        for line in lines
        if line["applied_amount"]
    )
    return int(max(0, paid - sum(needed)))


def _find_decided(session: Session, about: Pair) -> Sequence[Decision]:
    """Find every decision there ever was about a payment, or without one about a document."""
    mine = [col(Decision.connection) == about.connection, col(Decision.resource_id) == about.resource_id]
    of_document = [] if about.resource_id else [col(Decision.doc_key) == about.doc_key]
    return session.scalars(sa.select(Decision).where(*mine, *of_document).order_by(col(Decision.id))).all()


def _runs(session: Session, row: ExceptionRow, changes: Sequence[ExceptionChange]) -> Mapping[str, int]:
    """Number the runs that the case speaks of: where it was first and last seen, and who changed it."""
    spoken = [change.author.removeprefix("run ") for change in changes if change.author.startswith("run ")]
    mine = (col(Run.connection) == row.connection, col(Run.id).in_({row.run_first, row.run_last, *spoken}))
    return {row[0]: row[1] for row in session.execute(sa.select(col(Run.id), col(Run.number)).where(*mine))}


def to_evidence(text: str) -> Evidence:
    """Read the evidence; anything but an object is shown as it is stored."""
    try:
        found = json.loads(text) if text else {}
    except json.JSONDecodeError:
        return {"text": text}
    return found if isinstance(found, dict) else {"text": text}


def find_lines(session: Session, run: Run, resource_id: str, *, payout_id: str | None) -> list[Row]:
    """Find the lines of an item in every payout that has it.

    They are looked for where the exception and the provider's lists say they are, and only where they are in none of
    these among all lines: the payout of an item may have changed since the run.
    """
    item, result = PayoutItem, PayoutResult
    listed = sa.select(col(item.payout_id)).where(
        col(item.connection) == run.connection, col(item.resource_id) == resource_id
    )
    # Named one by one: asked as a query within, SQLite goes through all payouts of the run.
    judged = sa.select(col(result.payout_id)).where(
        col(result.connection) == run.connection,
        col(result.run_id) == run.id,
        col(result.payout_id).in_(session.scalars(listed).all()),
    )
    own: list[chunks.LineFilter] = [{"paid_out": False} if payout_id is None else {"payout_id": payout_id}]
    near = own + [{"payout_id": one} for one in session.scalars(judged.order_by(result.payout_id)) if one != payout_id]
    tables = (table for place in near for table in chunks.line_tables(session, run, **place))
    here = (table.filter(pc.equal(table["resource_id"], resource_id)) for table in tables)
    found = [row for table in here for row in chunks.to_rows(table)]
    return found or list(chunks.find_lines(session, run, "resource_id", resource_id))


def find_candidates(
    session: Session,
    run: Run,
    payment: Row,
    evidence: Evidence,
    applied: Collection[str],
    named: Sequence[str] | None = None,
) -> list[Row]:
    """List open documents that could be meant: named by the evidence, of the same customer, or of the same amount.

    Those that the payment was `applied` to are left out. The closest in amount come first; what distinguishes those
    that look alike is in their columns. Where documents are named by a search, only these are listed.
    """
    amount = abs(payment["amount_signed"])
    could_be = extracts.find_open(
        session,
        run,
        currency=payment["currency"],
        amount=amount if named is None else _NO_AMOUNT,
        customer=payment["customer_tax_id"] if named is None else None,
        doc_keys=[text for text in leaves_of(evidence) if text.startswith(("cl:", "mx:"))] if named is None else named,
    )
    others = (row for row in could_be if row["doc_key"] not in applied)
    nearest = sorted(
        others, key=lambda row: (abs(row["balance"] - amount), row["due_date"] or _NO_DATE, row["doc_key"])
    )[:_MOST_CANDIDATES]
    orders = _orders(session, run.connection, [row["doc_key"] for row in nearest])
    compared = [
        {**row, "order_ref": orders.get(row["doc_key"], ""), "difference": amount - row["balance"]} for row in nearest
    ]
    return compare_candidates(payment, compared)


def find_named(session: Session, connection: str, text: str, *, amount: int | None) -> list[str]:
    """Return the keys of valid documents by key, folio, UUID, order, part of the customer's name, tax id or total."""
    invoice, bare = LocalInvoice, text.strip()
    if found := records.find_documents(session, connection, bare, most=_MOST_FOUND):
        return list(found)
    mine = sa.select(col(invoice.doc_key)).where(col(invoice.connection) == connection, col(invoice.status) == "valid")
    tax_id = sa.func.replace(sa.func.upper(bare), ".", "")
    loose = [sa.func.lower(col(invoice.customer_name)).contains(bare.lower(), autoescape=True)]
    loose += [sa.func.replace(col(invoice.customer_tax_id), ".", "") == tax_id]
    loose += [col(invoice.total) == amount] if amount is not None else []
    return list(session.scalars(mine.where(sa.or_(*loose)).order_by(col(invoice.doc_key)).limit(_MOST_FOUND)))


def find_payments(session: Session, document: LocalInvoice, amount: int) -> list[Row]:
    """List payments without a certain document that could pay this one: its customer's first, nearest amount first."""
    row = ExceptionRow
    mine = sa.select(row).where(
        col(row.connection) == document.connection, col(row.resolved_on).is_(None),
        col(row.currency) == document.currency, col(row.code).in_(WITHOUT_DOCUMENT), col(row.resource_id).is_not(None),
    )  # fmt: skip
    is_own = sa.case((col(row.customer_name) == (document.customer_name or "-"), 0), else_=1)
    nearest = mine.order_by(is_own, sa.func.abs(col(row.amount_at_risk) - amount), col(row.id)).limit(_MOST_CANDIDATES)
    return [
        {"row": one, "seen": _find_newest(session, Pair(one.connection, one.resource_id or ""))}
        for one in session.scalars(nearest)
    ]


def _find_newest(session: Session, pair: Pair) -> int:
    """Return the number of the newest decision that holds, 0 without one."""
    return max((decision.id or 0 for decision in decisions.standing(session, pair)), default=0)


def suggest(payment: Row | None, evidence: Evidence, candidates: Sequence[Row]) -> str:
    """Return the document that is likely meant: what the rules suggest, else the only one of the amount."""
    if payment is None or payment["applied_amount"]:
        return ""
    listed = {row["doc_key"] for row in candidates}
    named = evidence.get("suggestion")
    if isinstance(named, str) and named in listed:
        return named
    equal = [row["doc_key"] for row in candidates if row["difference"] == 0]
    return equal[0] if len(equal) == 1 else ""


def _orders(session: Session, connection: str, doc_keys: Sequence[str]) -> dict[str, str]:
    invoice = LocalInvoice
    mine = col(invoice.connection) == connection, col(invoice.doc_key).in_(doc_keys)
    return {
        row[0]: row[1] for row in session.execute(sa.select(col(invoice.doc_key), col(invoice.order_ref)).where(*mine))
    }


# What a document says that another one of the same customer and amount may say otherwise, apart from its number.
_TELLING = ("order_ref", "issue_date", "due_date")
_ALIKE = ("currency", "balance", "customer_tax_id")


def compare_candidates(payment: Row, candidates: Sequence[Row]) -> list[Row]:
    """Add to each candidate the columns that agree with the payment, how many look alike, and how it differs."""
    families = Counter(_family(row) for row in candidates)
    return [
        {
            **row,
            "same": _find_agreeing(payment, row),
            "alike": families[_family(row)] - 1,
            "apart": _find_telling(row, candidates),
        }
        for row in candidates
    ]


def _family(row: Row) -> tuple[object, ...]:
    return tuple(row[name] for name in _ALIKE)


def _find_agreeing(payment: Row, row: Row) -> set[str]:
    names = ("customer_tax_id", "order_ref")
    same = {name for name in names if payment[name] and payment[name] == row[name]}
    return same | ({"balance"} if row["difference"] == 0 else set())


def _find_telling(row: Row, candidates: Sequence[Row]) -> list[str]:
    """Name the columns in which documents that look alike differ; none where only their numbers do."""
    family = [other for other in candidates if _family(other) == _family(row)]
    return [name for name in _TELLING if len({other[name] for other in family}) > 1]
