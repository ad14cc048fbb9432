"""The shape of a payment intent, the same whoever made it."""

from typing import Any

from sandbox.engine.world import World
from sandbox.state.clock import to_iso
from sandbox.state.collection import Object

INTENTS = "payment_intents"
CARD: Object = {  # what a customer pays with who did not say
    "brand": "visa",
    "kind": "credit",
    "last_four_digits": "4242",
    "bank": None,
    "country": "cl",
    "authenticated_with_3ds": True,
    "wallet": None,
}


def draft_intent(world: World, *, mode: str, amount: int, currency: str, **known: Any) -> Object:
    """A payment intent with every field, empty where nothing is known."""
    fields: Object = {
        "id": world.new_id("pi"),
        "object": "payment_intent",
        "mode": mode,
        "amount": amount,
        "currency": currency,
        "status": "created",
        "payment_type": "bank_transfer",
        "payment_type_options": {},
        "reference_id": None,
        "transaction_date": None,
        "error_reason": None,
        "created_at": to_iso(world.now()),
        "expires_at": None,
        "metadata": {},
        "customer": None,
        "customer_email": None,
        "sender_account": None,
        "recipient_account": None,
        "business_profile": None,
        "next_action": None,
        "payment_method": None,
        "subscription": None,
        "widget_token": None,
    }
    return {**fields, **known}


def end_intent(world: World, intent: Object, status: str, **event_only: object) -> Object:
    """Bring an intent to its end and announce it."""
    return world.keep(INTENTS, ended(world, intent, status), event=f"payment_intent.{status}", **event_only)


def ended(world: World, intent: Object, status: str) -> Object:
    """The intent as it is at its end."""
    changes: Object = {"status": status}
    if status == "succeeded":
        changes["transaction_date"] = to_iso(world.now())
        if intent["payment_type"] == "card" and "card" not in intent["payment_type_options"]:
            changes["payment_type_options"] = {"card": CARD}
    elif status in {"failed", "rejected"}:
        changes["error_reason"] = "insufficient_funds"
    return {**intent, **changes}
