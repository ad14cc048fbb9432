"""What people decide: the sole writer of decisions and of people's edits to exceptions.

Every function takes the session of the caller's transaction and a signature. An edit of what another person changed
meanwhile is refused: `version` is the exception's row version, `seen` the id of the newest decision about the payment
or document that the person was shown (0 for none); None skips that check.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum

import sqlalchemy as sa
from sqlmodel import Session, col, select

from consumer.facts.approvals import Deed, Wish, use
from consumer.facts.installation import Approvals
from consumer.facts.messages import Message, RefusalError, Value
from consumer.facts.money import format_decimal
from consumer.facts.store import Turn, take_turn
from consumer.facts.tables.provider import AccountMovement, Charge, LinkMovement, PaymentIntent, Payout
from consumer.facts.tables.types import core_of
from reconcile.exceptions.life import GONE, State
from reconcile.kept.records import last_closed
from reconcile.tables.books import BankLine, LocalInvoice
from reconcile.tables.closing import Period
from reconcile.tables.desk import Decision, ExceptionChange, ExceptionRow

LONGEST_TEXT = 2000


class DecisionError(RefusalError):
    """A decision that was not taken; the code says why."""


class Kind(StrEnum):
    MATCH = "match"
    UNMATCH = "unmatch"
    DECLINE = "decline"
    ADJUST = "adjust"
    WITHDRAW = "withdraw"
    # A payout, in the place of a payment, and a line of the bank, in the place of a document.
    TIE = "tie"


class Adjustment(StrEnum):
    """What an accepted difference is, for its entry in the books."""

    ROUNDING = "rounding"
    BANK_FEE = "bank_fee"
    DISCOUNT = "discount"
    EXCHANGE = "exchange"
    WRITE_OFF = "write_off"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Signature:
    """Who decides, why, and when."""

    author: str
    reason: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Pair:
    """A payment and a document of one connection; some decisions name only one of them."""

    connection: str
    resource_id: str = ""
    doc_key: str = ""

    @property
    def subject(self) -> Value:
        """Return what a refusal names: both, or the one there is."""
        if self.resource_id and self.doc_key:
            return Message("desk.pair", {"payment": self.resource_id, "document": self.doc_key})
        return self.resource_id or self.doc_key


def currency_of(session: Session, pair: Pair) -> str:
    """Return the currency of amounts about this payment or payout, or about this document alone."""
    payout = find_payout(session, pair)
    if payout is not None:
        return payout.currency or ""
    return (_payment(session, pair).currency or "") if pair.resource_id else _document(session, pair).currency


def amount_of(session: Session, pair: Pair) -> int:
    """Return the amount of a payment."""
    return _payment(session, pair).amount or 0


def find_payout(session: Session, pair: Pair) -> Payout | None:
    """Return the payout that stands in the place of a payment, if one does."""
    return session.get(Payout, (pair.connection, pair.resource_id)) if pair.resource_id else None


def match(
    session: Session, pair: Pair, signed: Signature, *, amount: int | None = None, seen: int | None = None
) -> Decision:
    """Bind a payment to a document on every later run; `amount` where it covers only part of the payment."""
    payment, document = _payment(session, pair), _document(session, pair)
    if document.status == "void":
        raise DecisionError("desk.document_void", document=pair.doc_key)
    if payment.currency != document.currency:
        raise DecisionError(
            "desk.currencies_differ",
            payment=pair.resource_id,
            payment_currency=str(payment.currency),
            document=pair.doc_key,
            document_currency=document.currency,
        )
    if amount is not None and not 0 < amount <= (payment.amount or 0):
        raise DecisionError("desk.amount_beyond_payment", payment=pair.resource_id)
    return record_decision(session, Kind.MATCH, pair, signed, amount=amount, seen=seen)


def unmatch(session: Session, pair: Pair, signed: Signature, *, seen: int | None = None) -> Decision:
    """Keep a payment and a document apart on every later run; without a document, keep the payment unmatched."""
    _payment(session, pair)
    _check_document(session, pair)
    rests = _find_rests_of(session, pair)
    decision = record_decision(session, Kind.UNMATCH, pair, signed, amount=None, seen=seen)
    _take_back(session, rests, signed)
    return decision


def decline(session: Session, pair: Pair, signed: Signature, *, seen: int | None = None) -> Decision:
    """Turn down a suggested pair, so that no later run suggests it again."""
    _payment(session, pair)
    _check_document(session, pair)
    return record_decision(session, Kind.DECLINE, pair, signed, amount=None, seen=seen)


def adjust(
    session: Session,
    pair: Pair,
    signed: Signature,
    *,
    amount: int | None = None,
    kind: Adjustment = Adjustment.OTHER,
    seen: int | None = None,
) -> Decision:
    """Accept a difference: an amount of a document, all that is left of it, or a payment that needs no document.

    An amount lowers what the document asks for, one below zero raises it; neither goes beyond the document.
    """
    if bool(pair.resource_id) == bool(pair.doc_key):
        raise DecisionError("desk.adjust_one_thing")
    if pair.resource_id:
        _payment(session, pair)
        if amount is not None:
            raise DecisionError("desk.adjust_payment_whole")
    elif amount is not None and not 0 < abs(amount) <= abs(_document(session, pair).total):
        raise DecisionError("desk.adjustment_beyond_total", document=pair.doc_key)
    _check_document(session, pair)
    decision = record_decision(session, Kind.ADJUST, pair, signed, amount=amount, seen=seen)
    decision.reason_type = str(kind)
    return decision


def use_approval(session: Session, decision: Decision, approvals: Approvals) -> None:
    """Use up the approval of a difference beyond the limit, or raise ApprovalNeededError, which undoes the decision.

    All that is left counts as the whole document. What was decided about the document before makes an approval void.
    """
    if not decision.doc_key:
        return
    document = _document(session, Pair(decision.connection, doc_key=decision.doc_key))
    amount, currency = decision.amount, document.currency
    beyond = document.total if amount is None else amount
    if not approvals.needs_second(beyond, currency):
        return
    about = (col(Decision.connection) == document.connection, col(Decision.doc_key) == document.doc_key)
    earlier = sa.select(sa.func.max(col(Decision.id))).where(*about, col(Decision.id) < decision.id)
    code = "approvals.rest" if amount is None else "approvals.write_off"
    values = {"document": document.doc_key, "amount": format_decimal(beyond, currency), "currency": currency}
    terms = {"amount": amount, "kind": decision.reason_type, "currency": currency}
    basis = f"{document.total} {document.status} {session.scalar(earlier) or 0}"
    wish = Wish(Deed.WRITE_OFF, document.connection, document.doc_key, terms, Message(code, values), basis)
    use(session, wish, now=decision.at)


def withdraw(session: Session, pair: Pair, signed: Signature, *, seen: int | None = None) -> Decision:
    """Take back what was decided about a pair, so that the rules decide again; both stay on record."""
    if not any(row.doc_key == pair.doc_key for row in standing(session, pair)):
        raise DecisionError("desk.nothing_to_take_back", subject=pair.subject)
    rests = _find_rests_of(session, pair)
    decision = record_decision(session, Kind.WITHDRAW, pair, signed, amount=None, seen=seen)
    # It is no constraint of its own: runs read what is not undone.
    decision.undone_by = decision.id
    _take_back(session, rests, signed)
    return decision


def find_rests(session: Session, matches: Iterable[Decision]) -> list[Decision]:
    """Find what the steps that matched accepted as the rest of their documents; it goes with any match of its step."""
    found: dict[int | None, Decision] = {}
    for row in matches:
        if row.kind == Kind.MATCH:
            same = (Decision.connection == row.connection, Decision.author == row.author, Decision.at == row.at)
            rest = (Decision.kind == Kind.ADJUST, Decision.resource_id == "", col(Decision.undone_by).is_(None))
            found |= {one.id: one for one in session.exec(select(Decision).where(*same, *rest))}
    return list(found.values())


def _find_rests_of(session: Session, pair: Pair) -> list[Decision]:
    return find_rests(session, (row for row in standing(session, pair) if pair.doc_key in {"", row.doc_key}))


def _take_back(session: Session, rests: Iterable[Decision], signed: Signature) -> None:
    for rest in rests:
        withdraw(session, Pair(rest.connection, doc_key=rest.doc_key), signed)


def standing(session: Session, pair: Pair) -> list[Decision]:
    """Find the decisions about a payment, or without one about a document, that hold, oldest first."""
    mine = select(Decision).where(Decision.connection == pair.connection, Decision.resource_id == pair.resource_id)
    if not pair.resource_id:
        mine = mine.where(Decision.doc_key == pair.doc_key)
    return list(session.exec(mine.where(col(Decision.undone_by).is_(None)).order_by(col(Decision.id))))


def assign(
    session: Session, connection: str, exception_id: str, signed: Signature, *, owner: str, version: int | None = None
) -> ExceptionRow:
    """Give an exception to an owner; an empty one takes it away."""
    return _edit(session, connection, exception_id, signed, {"owner": owner.strip()}, version)


def note(
    session: Session, connection: str, exception_id: str, signed: Signature, *, text: str, version: int | None = None
) -> ExceptionRow:
    """Write the note of an exception; the earlier one stays in its history."""
    return _edit(session, connection, exception_id, signed, {"note": text.strip()}, version)


def set_follow_up(
    session: Session, connection: str, exception_id: str, signed: Signature, *, on: date | None,
    version: int | None = None,
) -> ExceptionRow:  # fmt: skip
    """Say by when an exception should be done; None takes the day away."""
    return _edit(session, connection, exception_id, signed, {"follow_up_on": on}, version)


def check_version(session: Session, connection: str, exception_id: str, *, version: int) -> None:
    """Raise DecisionError if an exception is not as a person saw it."""
    row = _exception(session, connection, exception_id)
    if row.version != version:
        raise DecisionError("desk.changed_since_seen", exception=exception_id, version=row.version, seen=version)


def resolve(
    session: Session, connection: str, exception_id: str, signed: Signature, *, on: date, version: int | None = None
) -> ExceptionRow:
    """Close an exception for the signature's reason; it opens again when what is at risk changes."""
    row = _exception(session, connection, exception_id)
    if row.state == State.RESOLVED:
        raise DecisionError("desk.resolved_already", exception=exception_id, resolution=row.resolution)
    if signed.reason.strip() == GONE:
        raise DecisionError("desk.word_of_runs", word=GONE)
    changes = {"state": State.RESOLVED, "resolved_on": on, "resolution": signed.reason.strip()}
    return _edit(session, connection, exception_id, signed, changes, version)


def reopen(
    session: Session, connection: str, exception_id: str, signed: Signature, *, version: int | None = None
) -> ExceptionRow:
    row = _exception(session, connection, exception_id)
    if row.state == State.OPEN:
        raise DecisionError("desk.open_already", exception=exception_id)
    changes = {"state": State.OPEN, "resolved_on": None, "resolution": ""}
    return _edit(session, connection, exception_id, signed, changes, version)


def history(session: Session, connection: str, exception_id: str) -> list[ExceptionChange]:
    """Return what happened to an exception, oldest first."""
    mine = ExceptionChange.connection == connection, ExceptionChange.exception_id == exception_id
    return list(session.exec(select(ExceptionChange).where(*mine).order_by(col(ExceptionChange.id))))


def record_decision(
    session: Session, kind: Kind, pair: Pair, signed: Signature, *, amount: int | None, seen: int | None
) -> Decision:
    """Write a decision in the place of those about the same pair, if days are open and it is as the person saw it."""
    check_signature(signed)
    _check_open(session, pair)
    earlier = standing(session, pair)
    newest = max((row.id or 0 for row in earlier), default=0)
    if seen is not None and seen != newest:
        raise DecisionError("desk.decided_meanwhile", subject=pair.subject, decision=newest)
    about_pair = [row for row in earlier if row.doc_key == pair.doc_key]
    if any(row.kind == kind and row.amount == amount for row in about_pair):
        raise DecisionError("desk.stands_already", kind=kind, subject=pair.subject)
    decision = Decision(
        connection=pair.connection,
        kind=kind,
        resource_id=pair.resource_id,
        doc_key=pair.doc_key,
        amount=amount,
        reason=signed.reason.strip(),
        author=signed.author.strip(),
        at=signed.at,
    )
    session.add(decision)
    session.flush()
    _supersede(session, about_pair, decision)
    return decision


def _check_open(session: Session, pair: Pair) -> None:
    """Refuse what belongs to closed days.

    A payment counts by when it succeeded, a document alone by when it was issued, a line of the bank by its day.
    """
    take_turn(session, Turn.PERIODS)
    period = last_closed(session, pair.connection)
    if period is None:
        return
    if find_payout(session, pair) is not None:
        is_closed = _is_line_closed(session, pair, period)
    elif pair.resource_id:
        payment = _payment(session, pair)
        moment = payment.succeeded_at or payment.created_at
        is_closed = moment is not None and moment < period.ends_at
    else:
        is_closed = _document(session, pair).issue_date <= period.until
    if is_closed:
        one = pair.resource_id or pair.doc_key
        raise DecisionError("desk.closed", subject=one, until=period.until, closed_by=period.closed_by)


def _is_line_closed(session: Session, pair: Pair, period: Period) -> bool:
    key = (pair.connection, pair.doc_key)
    line = session.get(BankLine, key)
    if line is not None:
        return line.booked_on <= period.until
    movement = session.get(AccountMovement, key) or session.get(LinkMovement, key)
    return movement is not None and movement.created_at is not None and movement.created_at < period.ends_at


def _supersede(session: Session, earlier: Iterable[Decision], by: Decision) -> None:
    for row in earlier:
        mine = (col(Decision.id) == row.id, col(Decision.undone_by).is_(None))
        session.execute(sa.update(Decision).where(*mine).values(undone_by=by.id))


def _edit(
    session: Session,
    connection: str,
    exception_id: str,
    signed: Signature,
    changes: Mapping[str, object],
    version: int | None,
) -> ExceptionRow:
    """Change columns of an exception, if it is as the person saw it, and remember each change."""
    check_signature(signed)
    row = _exception(session, connection, exception_id)
    if version is not None:
        check_version(session, connection, exception_id, version=version)
    table = core_of(ExceptionRow)
    key = (table.c.connection == connection, table.c.id == exception_id, table.c.version == row.version)
    moving = sa.update(table).where(*key).values(**changes, version=row.version + 1)
    if session.connection().execute(moving).rowcount != 1:
        raise DecisionError("desk.changed_meanwhile", exception=exception_id)
    for name, after in changes.items():
        before = getattr(row, name)
        if before != after:
            session.add(
                ExceptionChange(
                    connection=connection,
                    exception_id=exception_id,
                    at=signed.at,
                    author=signed.author.strip(),
                    change=name,
                    before="" if before is None else str(before),
                    after="" if after is None else str(after),
                )
            )
    session.flush()
    session.refresh(row)
    return row


def check_signature(signed: Signature) -> None:
    if not signed.author.strip():
        raise DecisionError("desk.needs_author")
    if not signed.reason.strip():
        raise DecisionError("desk.needs_reason")
    if len(signed.reason) > LONGEST_TEXT:
        raise DecisionError("desk.reason_too_long", longest=LONGEST_TEXT)


def _exception(session: Session, connection: str, exception_id: str) -> ExceptionRow:
    row = session.get(ExceptionRow, (connection, exception_id))
    if row is None:
        raise DecisionError("desk.no_exception", exception=exception_id, connection=connection)
    return row


def _payment(session: Session, pair: Pair) -> PaymentIntent | Charge:
    key = (pair.connection, pair.resource_id)
    found = session.get(PaymentIntent, key) or session.get(Charge, key)
    if found is None:
        raise DecisionError("desk.no_payment", payment=pair.resource_id, connection=pair.connection)
    return found


def _check_document(session: Session, pair: Pair) -> None:
    if pair.doc_key:
        _document(session, pair)


def _document(session: Session, pair: Pair) -> LocalInvoice:
    found = session.get(LocalInvoice, (pair.connection, pair.doc_key))
    if found is None:
        raise DecisionError("desk.no_document", document=pair.doc_key, connection=pair.connection)
    return found
