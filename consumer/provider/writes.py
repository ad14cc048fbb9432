"""The writes of a merchant's back office: each is planned and shown first, then sent under one key."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import sqlalchemy as sa

from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from consumer.facts.meaning import JsonObject
from consumer.facts.money import MoneyError, format_decimal, to_minor
from consumer.facts.tables.provider import Refund
from consumer.facts.tables.types import core_of
from consumer.facts.versions import MixedModesError, merge_all
from consumer.provider.client import Answer, Provider
from consumer.provider.errors import MissingError, ProviderError, UnreadableError
from consumer.provider.fields import UnusableObjectError, required_amount, required_currency, required_text
from consumer.provider.paging import BILLING_INVOICES, PAYMENT_INTENTS_V1, PAYMENT_INTENTS_V2, REFUNDS, Collection
from consumer.provider.rows import Observation, observe

# Two names of the state in which a refund has not been sent yet.
_NOT_SENT = {"created", "pending"}
_CAME_TO_NOTHING = {"failed", "canceled"}


class NotPossibleError(ProviderError):
    """What was asked cannot be done to this object as it is now."""


class NotKeptError(ProviderError):
    """The provider did it, and its answer could not be kept; the message says why."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One write, ready to be shown and sent: `sentence` is the sentence a person agrees to.

    `repeat` names the options without which the same write cannot be asked for again.
    """

    sentence: str
    collection: Collection
    kind: str
    amount: int
    currency: str
    body: Mapping[str, object] = field(default_factory=dict)
    action: str | None = None
    repeat: str = ""


def plan_refund(
    installation: Installation, provider: Provider, payment_id: str, amount: str | None, *, is_repeat: bool = False
) -> Plan:
    """Read a payment and return the plan of its refund, whole or in part.

    A repeat asks what its first attempt asked, which may have succeeded: what is left is then the provider's to judge.
    """
    payment = _payment(provider, payment_id)
    status, paid, currency = _money(payment, payment_id)
    if status != "succeeded" and not is_repeat:
        raise NotPossibleError(f"{payment_id} is {status}: only a succeeded payment can be given back")
    before = _given_back(installation, provider.connection.name, payment_id)
    left = paid if is_repeat else max(0, paid - before)
    wanted = left if amount is None else _to_minor(amount, currency)
    if not 0 < wanted <= left:
        raise NotPossibleError(f"{payment_id}: {format_decimal(left, currency)} {currency} can still be given back")
    written, total, earlier = (format_decimal(figure, currency) for figure in (wanted, paid, before))
    sentence = (
        f"give back {written} {currency} of {payment_id}, "
        f"which brought {total} {currency} and of which {earlier} {currency} went back before"
    )
    body = {"resource_id": payment_id, "resource_type": "payment_intent", "amount": wanted}
    return Plan(sentence, REFUNDS, "refund", wanted, currency, body, repeat=f"--amount {written} ")


def plan_cancellation(provider: Provider, refund_id: str, *, is_repeat: bool = False) -> Plan:
    """Read a refund and return the plan of its cancellation."""
    refund = provider.get(REFUNDS, refund_id).value
    status, amount, currency = _money(refund, refund_id)
    if status not in _NOT_SENT and not is_repeat:
        raise NotPossibleError(f"{refund_id} is {status}: only a refund that was not sent yet can be cancelled")
    sentence = f"cancel {refund_id}, so that {format_decimal(amount, currency)} {currency} stay here"
    return Plan(sentence, REFUNDS, "refund", amount, currency, action=f"{refund_id}/cancel")


def plan_outside_payment(provider: Provider, invoice_id: str, *, is_repeat: bool = False) -> Plan:
    """Read a billing invoice and return the plan of marking it as paid outside the provider."""
    invoice = provider.get(BILLING_INVOICES, invoice_id).value
    status, amount, currency = _money(invoice, invoice_id, amount_in="total")
    if status != "open" and not is_repeat:
        raise NotPossibleError(f"{invoice_id} is {status}: only an open invoice can be marked as paid")
    sentence = (
        f"mark {invoice_id} of {format_decimal(amount, currency)} {currency} as paid outside the provider, "
        "which checks nothing and cannot be undone"
    )
    body = {"external_payment": True}
    return Plan(sentence, BILLING_INVOICES, "billing_invoice", amount, currency, body, f"{invoice_id}/pay")


def send(provider: Provider, plan: Plan, *, key: str) -> Answer[JsonObject]:
    """Send a plan under its key, by which the provider does it once, however often it is asked."""
    return provider.create(plan.collection, plan.body, idempotency_key=key, action=plan.action)


def keep_answer(installation: Installation, provider: Provider, kind: str, answer: Answer[JsonObject]) -> None:
    """Keep the object that the provider answered with as a fact."""
    connection = provider.connection
    seen = Observation(connection=connection.name, mode=connection.mode, seen_at=answer.at or utc_now())
    try:
        known = observe(kind, answer.value, seen)
        with installation.store.transaction() as session:
            merge_all(session, [known])
    except (UnusableObjectError, MixedModesError) as error:
        raise NotKeptError(str(error)) from error
    except sa.exc.SQLAlchemyError as error:
        # The library's message may hold the row.
        raise NotKeptError(type(error).__name__) from None


def _payment(provider: Provider, payment_id: str) -> JsonObject:
    try:
        return provider.get(PAYMENT_INTENTS_V1, payment_id).value
    except MissingError:
        return provider.get(PAYMENT_INTENTS_V2, payment_id).value


def _money(body: Mapping[str, object], id_: str, *, amount_in: str = "amount") -> tuple[str, int, str]:
    try:
        return required_text(body, "status"), required_amount(body, amount_in), required_currency(body)
    except UnusableObjectError as error:
        raise UnreadableError(f"{id_}: {error}") from error


def _to_minor(amount: str, currency: str) -> int:
    try:
        return to_minor(amount, currency)
    except MoneyError as error:
        raise NotPossibleError(f"--amount: {error}") from error


def _given_back(installation: Installation, connection: str, payment_id: str) -> int:
    """Add up the refunds of a payment that we know of; the provider itself has the last word."""
    columns = core_of(Refund).c
    mine = (columns.connection == connection) & (columns.resource_id == payment_id) & columns.gone_at.is_(None)
    asked = sa.select(columns.status, columns.amount).where(mine)
    with installation.store.reading() as session:
        return sum(row.amount for row in session.execute(asked) if row.status not in _CAME_TO_NOTHING)
