"""One payment with several documents, or several payments with one document, and what remains, in one decision."""

from collections.abc import Sequence

from flask import request
from sqlmodel import Session

from consumer.facts.installation import Connection
from consumer.facts.money import MoneyError, to_minor
from reconcile.desk import decisions
from reconcile.desk.decisions import Adjustment, DecisionError, Pair, Signature
from reconcile.kept import chunks
from reports.pages import desk, pending, search
from reports.pages.names import document_name
from reports.queries import cases
from reports.shapes import notation

MOST_AT_ONCE = 50
_MOST_NAMED = 5


def match_documents(session: Session, connection: str, signed: Signature, seen: int) -> None:
    """Match the payment of the form with the documents it picks, in their order."""
    payment, picked = desk.form_text("resource_id"), _read_picks()
    for place, doc_key in enumerate(picked):
        # Only before the first: later ones would take this form's own decisions for those of another person.
        decisions.match(session, Pair(connection, payment, doc_key), signed, seen=None if place else seen)
    _settle(session, connection, [payment], picked, signed)


def match_payments(session: Session, connection: str, signed: Signature) -> None:
    """Match the payments that the form picks, each with the newest decision it showed, with its document."""
    doc_key, payments = desk.form_text("doc_key"), []
    for pick in _read_picks():
        payment, _, seen = pick.rpartition("/")
        number = desk.whole_number(seen)
        if number is None:
            raise desk.BadQueryError("pages.bad_number", name="pick", value=pick[:40])
        decisions.match(session, Pair(connection, payment, doc_key), signed, seen=number)
        payments.append(payment)
    _settle(session, connection, payments, [doc_key], signed)


def _read_picks() -> list[str]:
    found = list(dict.fromkeys(request.form.getlist("pick")))
    if not found:
        raise DecisionError("desk.pick_first")
    if len(found) > MOST_AT_ONCE:
        raise DecisionError("desk.too_many_at_once", most=MOST_AT_ONCE)
    return found


def _settle(
    session: Session, connection: str, payments: Sequence[str], documents: Sequence[str], signed: Signature
) -> None:
    """Accept what remains on the last document as what the form says it is; without a word it stays open."""
    if not request.form.get("rest"):
        return
    kind = read_kind("rest")
    paid = sum(decisions.amount_of(session, Pair(connection, payment)) for payment in payments)
    rest = sum(_balance(session, connection, doc_key) for doc_key in documents) - paid
    if rest:
        last = Pair(connection, doc_key=documents[-1])
        decision = decisions.adjust(session, last, signed, amount=rest, kind=kind)
        decisions.use_approval(session, decision, desk.installation().settings.approvals)


def read_kind(name: str) -> Adjustment:
    """Return the kind of difference that a field of the form names; raise BadQueryError if it is none."""
    kind = request.form.get(name, "")
    if kind not in set(Adjustment):
        raise desk.BadQueryError("pages.not_one_of", name=name, value=kind[:20], known=", ".join(Adjustment))
    return Adjustment(kind)


def _balance(session: Session, connection: str, doc_key: str) -> int:
    """Return what the newest run, or what is pending since, left open of a document."""
    runs = desk.runs_now(session, [connection])
    row = pending.on_document(chunks.find_document(session, runs[0], doc_key) if runs else None, connection)
    if row is None:
        raise DecisionError("desk.no_balance_yet", document=doc_key)
    return int(row["balance"])


def find_document(session: Session, connection: str, text: str) -> str:
    """Return the key of the one document that a text means: its key, name, folio, UUID, order, customer or amount."""
    found = cases.find_named(session, connection, text, amount=read_amount(text, desk.find_connection(connection)))
    if len(found) != 1:
        hits = search.find([connection], text, ["document"], _MOST_NAMED)
        found = [hit.key for hit in hits if hit.name == text] or found or [hit.key for hit in hits]
    if not found:
        raise DecisionError("desk.no_document", document=text, connection=connection)
    if len(found) > 1:
        names = (document_name(connection, key) for key in found[:_MOST_NAMED])
        raise DecisionError("desk.several_documents", text=text, found=", ".join(names))
    return found[0]


def read_amount(text: str, own: Connection) -> int | None:
    """Read what a person looks for as an amount, where it is one."""
    try:
        return to_minor(notation.to_plain(text, desk.language()), own.country.currency)
    except (MoneyError, ValueError):
        return None
