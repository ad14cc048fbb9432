"""Taking a decision from a form: signed by the reader, in a transaction of its own, refused in the reader's words."""

from collections.abc import Callable, Mapping

from flask import request
from sqlmodel import Session

from consumer.facts.money import MoneyError, to_minor
from reconcile.desk import decisions
from reconcile.desk.decisions import Adjustment, DecisionError, Pair, Signature
from reports.pages import desk
from reports.pages.words import refusal, translate
from reports.shapes import notation

_LONGEST = 2000
Form = Mapping[str, str]


def text(name: str) -> str:
    return request.form.get(name, "").strip()[:_LONGEST]


def take(act: Callable[[Session, Signature], object], *, reason: str | None = None) -> str | None:
    """Take one decision, and return why it was refused; without a reason given the form must hold one."""
    signed = Signature(author=desk.reader().name, reason=text("reason") or reason or "", at=desk.now())
    try:
        if not signed.reason:
            raise decisions.Impossible(translate("Give a reason.", desk.language()))
        with desk.installation().store.transaction() as session:
            act(session, signed)
    except DecisionError as error:
        return refusal(str(error), desk.language())
    return None


def adjust(session: Session, pair: Pair, signed: Signature, form: Form) -> None:
    """Accept a difference of a kind; an empty amount accepts whatever is left."""
    kind = form.get("kind", "")
    if kind not in set(Adjustment):
        raise desk.BadQueryError(f"kind: {kind[:20]!r} is not one of {', '.join(Adjustment)}")
    written = form.get("amount", "").strip()
    amount = to_amount(written, decisions.currency_of(session, pair)) if written else None
    decisions.adjust(session, pair, signed, amount=amount, kind=Adjustment(kind), seen=number("seen"))


def number(name: str) -> int:
    found = desk.whole_number(given := request.form.get(name, ""))
    if found is None:
        raise desk.BadQueryError(f"{name}: {given[:20]!r} is not a number")
    return found


def to_amount(written: str, currency: str) -> int:
    """Read an amount as the reader's country writes it."""
    try:
        return to_minor(notation.to_plain(written, desk.language()), currency)
    except (MoneyError, ValueError):
        words = translate("{text} is not an amount in {currency}.", desk.language(), text=written, currency=currency)
        raise decisions.Impossible(words) from None
