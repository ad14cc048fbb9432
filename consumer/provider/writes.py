"""The few things a merchant's back office asks of the provider: each is looked at first, then sent under one key."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from consumer.facts.clock import utc_now
from consumer.facts.house import House
from consumer.facts.money import MoneyError, format_decimal, to_minor
from consumer.facts.observed import core_of
from consumer.facts.tables.provider import Refund
from consumer.facts.versions import merge_all
from consumer.provider.client import Provider
from consumer.provider.errors import Missing, ProviderError, Unreadable
from consumer.provider.routes import BILLING_INVOICES, PAYMENT_INTENTS_V1, PAYMENT_INTENTS_V2, REFUNDS, Collection
from consumer.provider.rows import Observation, UnusableObject, to_row
from consumer.provider.rows.fields import required_amount, required_currency, required_text

# Two names of the state in which a refund has not been sent yet.
_NOT_SENT = {"created", "pending"}
_CAME_TO_NOTHING = {"failed", "canceled"}


class NotPossible(ProviderError):  # noqa: N818 - says what stands in the way
    """What was asked cannot be done to this object as it is now."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One write, ready to be shown and sent: `told` is the sentence a person agrees to."""

    told: str
    collection: Collection
    kind: str
    body: Mapping[str, Any] = field(default_factory=dict)
    action: str | None = None
    amount: int | None = None
    currency: str | None = None


def plan_refund(house: House, provider: Provider, payment_id: str, amount: str | None) -> Plan:
    """Look at a payment and say what giving it back, whole or in part, would mean."""
    payment = _payment(provider, payment_id)
    status, paid, currency = _money(payment, payment_id)
    if status != "succeeded":
        raise NotPossible(f"{payment_id} is {status}: only a succeeded payment can be given back")
    before = _given_back(house, provider.connection.name, payment_id)
    wanted = paid - before if amount is None else _to_minor(amount, currency)
    if not 0 < wanted <= paid - before:
        left = format_decimal(max(0, paid - before), currency)
        raise NotPossible(f"{payment_id}: {left} {currency} can still be given back")
    total, earlier = format_decimal(paid, currency), format_decimal(before, currency)
    told = (
        f"give back {format_decimal(wanted, currency)} {currency} of {payment_id}, "
        f"which brought {total} {currency} and of which {earlier} {currency} went back before"
    )
    body = {"resource_id": payment_id, "resource_type": "payment_intent", "amount": wanted}
    return Plan(told, REFUNDS, "refund", body, amount=wanted, currency=currency)


def plan_cancellation(provider: Provider, refund_id: str) -> Plan:
    """Look at a refund and say what cancelling it would mean."""
    refund = provider.get(REFUNDS, refund_id).value
    status, amount, currency = _money(refund, refund_id)
    if status not in _NOT_SENT:
        raise NotPossible(f"{refund_id} is {status}: only a refund that was not sent yet can be cancelled")
    told = f"cancel {refund_id}, so that {format_decimal(amount, currency)} {currency} stay here"
    return Plan(told, REFUNDS, "refund", action=f"{refund_id}/cancel", amount=amount, currency=currency)


def plan_outside_payment(provider: Provider, invoice_id: str) -> Plan:
    """Look at a billing invoice and say what recording its payment outside the provider would mean."""
    invoice = provider.get(BILLING_INVOICES, invoice_id).value
    status, amount, currency = _money(invoice, invoice_id, amount_in="total")
    if status != "open":
        raise NotPossible(f"{invoice_id} is {status}: only an open invoice can be marked as paid")
    told = (
        f"mark {invoice_id} of {format_decimal(amount, currency)} {currency} as paid outside the provider, "
        "which checks nothing and cannot be undone"
    )
    body = {"external_payment": True}
    action = f"{invoice_id}/pay"
    return Plan(told, BILLING_INVOICES, "billing_invoice", body, action, amount=amount, currency=currency)


def carry_out(house: House, provider: Provider, plan: Plan, *, key: str) -> dict[str, Any]:
    """Send a plan under its key and keep what the provider answers as a fact; returns the object."""
    answer = provider.create(plan.collection, plan.body, idempotency_key=key, action=plan.action)
    connection = provider.connection
    seen = Observation(connection=connection.name, mode=connection.mode, seen_at=answer.at or utc_now())
    try:
        row = to_row(plan.kind, answer.value, seen)
    except UnusableObject as error:
        raise Unreadable(f"{plan.collection.name}: it was done and the answer cannot be kept: {error}") from error
    with house.store.transaction() as session:
        merge_all(session, [row])
    return answer.value


def _payment(provider: Provider, payment_id: str) -> dict[str, Any]:
    try:
        return provider.get(PAYMENT_INTENTS_V1, payment_id).value
    except Missing:
        return provider.get(PAYMENT_INTENTS_V2, payment_id).value


def _money(body: Mapping[str, Any], id_: str, *, amount_in: str = "amount") -> tuple[str, int, str]:
    try:
        return required_text(body, "status"), required_amount(body, amount_in), required_currency(body)
    except UnusableObject as error:
        raise Unreadable(f"{id_}: {error}") from error


def _to_minor(amount: str, currency: str) -> int:
    try:
        return to_minor(amount, currency)
    except MoneyError as error:
        raise NotPossible(f"--amount: {error}") from error


def _given_back(house: House, connection: str, payment_id: str) -> int:
    """Add up the refunds of a payment that we know of; the provider itself has the last word."""
    columns = core_of(Refund).c
    mine = (columns.connection == connection) & (columns.resource_id == payment_id) & columns.gone_at.is_(None)
    asked = sa.select(columns.status, columns.amount).where(mine)
    with house.store.reading() as session:
        return sum(row.amount for row in session.execute(asked) if row.status not in _CAME_TO_NOTHING)
