"""Payment intents, charges, refunds, disputes, checkout sessions and payment links as rows."""

from typing import Any

from consumer.facts.sales import sale_of
from consumer.facts.tables.provider import Charge, CheckoutSession, Dispute, PaymentIntent, PaymentLink, Refund
from consumer.provider.rows import fields
from consumer.provider.rows.fields import Data
from consumer.provider.rows.kind import Kind, Reached

_CARD_SUBTYPES = {"credit": "credit_card", "debit": "debit_card", "prepaid": "prepaid_card"}
SUCCEEDED = Reached(("succeeded_at",), frozenset({"succeeded"}))


def money(data: Data) -> dict[str, Any]:
    """The three columns without which an object of money cannot be counted."""
    return {
        "status": fields.required_text(data, "status"),
        "amount": fields.required_amount(data),
        "currency": fields.required_currency(data),
    }


def offer(data: Data) -> dict[str, Any]:
    """An object whose amount the payer may still choose."""
    return {
        "status": fields.text(data, "status"),
        "amount": fields.amount(data),
        "currency": fields.currency(data),
    }


def customer_tax_id(customer: Data) -> str | None:
    raw = customer.get("tax_id")
    return fields.tax_id(raw.get("value") if isinstance(raw, dict) else raw)


def subtype(data: Data) -> str | None:
    """Name the row as the provider's payout report does: cards by their kind, anything else by its payment type."""
    payment_type = fields.text(data, "payment_type")
    if payment_type != "card":
        return payment_type
    kind = fields.part(fields.part(data, "payment_type_options"), "card").get("kind")
    return _CARD_SUBTYPES.get(kind, payment_type) if isinstance(kind, str) else payment_type


def _payment_intent(data: Data) -> dict[str, Any]:
    customer = fields.part(data, "customer")
    people = {
        "customer_tax_id": customer_tax_id(customer),
        "customer_name": fields.text(customer, "name"),
        "sender_tax_id": fields.tax_id(fields.part(data, "sender_account").get("holder_id")),
    }
    return money(data) | sale_of(data) | {"subtype": subtype(data)} | people


def _charge(data: Data) -> dict[str, Any]:
    return money(data) | sale_of(data) | {"customer_tax_id": customer_tax_id(fields.part(data, "customer"))}


def _about_a_payment(data: Data) -> dict[str, Any]:
    return money(data) | {"resource_id": fields.text(data, "resource_id")}


def _dispute(data: Data) -> dict[str, Any]:
    return _about_a_payment(data) | {"due_at": fields.instant(data, "documentation_upload_deadline")}


def _refund(data: Data) -> dict[str, Any]:
    return _about_a_payment(data) | sale_of(data)


KINDS = {
    "payment_intent": Kind(
        PaymentIntent,
        _payment_intent,
        ("payment_intent",),
        (
            ("created",),
            ("requires_action", "in_progress"),
            ("pending",),
            ("expired", "failed", "rejected"),
            ("succeeded",),
        ),
        {"succeeded_at": SUCCEEDED},
    ),
    "charge": Kind(
        Charge,
        _charge,
        ("charge",),
        (("pending",), ("in_progress",), ("canceled", "failed"), ("succeeded",)),
        {"succeeded_at": SUCCEEDED},
    ),
    # A bank may send a succeeded refund back, so failed stands behind it.
    "refund": Kind(
        Refund,
        _refund,
        ("refund",),
        (("created", "pending"), ("in_progress",), ("canceled",), ("succeeded",), ("failed",)),
        {"succeeded_at": SUCCEEDED, "failed_at": Reached(("failed_at",), frozenset({"failed"}))},
    ),
    "dispute": Kind(
        Dispute,
        _dispute,
        ("dispute",),
        (("waiting_documentation",), ("in_review",), ("expired",), ("lost", "won")),
        {"ended_at": Reached(("ended_at",), frozenset({"won", "lost", "expired"}))},
    ),
    "checkout_session": Kind(
        CheckoutSession, offer, ("checkout_session",), (("created",), ("in_progress",), ("expired",), ("finished",))
    ),
    "payment_link": Kind(PaymentLink, offer, ("payment_link",), (("active",), ("expired",), ("canceled",))),
}
