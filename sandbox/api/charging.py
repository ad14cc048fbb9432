"""Charges a saved payment method: an intent that ends a few seconds later, well or badly."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from sandbox.api.intent import CARD, INTENTS, draft_intent, ended
from sandbox.engine.world import World
from sandbox.state.collection import Object
from sandbox.state.outcomes import outcome
from sandbox.state.refusal import RefusalError

ENDS_AFTER = timedelta(seconds=5)
PAYMENT_TYPES = {"bank_transfer": "bank_transfer", "card": "card", "pac": "pac", "mx_direct_debit": "bank_transfer"}
ENDINGS = ("succeeded", "failed", "rejected", "pending")
End = Callable[[Object], object]


def is_active(method: Object) -> bool:
    """Whether a payment method may be charged."""
    status = method.get("status") or method[method["type"]].get("status", "active")
    return bool(status == "active")


def check_active(method: Object) -> None:
    """Raise `payment_method_inactive` unless the method may be charged."""
    if not is_active(method):
        raise RefusalError(
            400, "payment_method_inactive", f"The payment method {method['id']} is not active", param="payment_method"
        )


def charge(  # noqa: PLR0913 - what is charged, and what for
    world: World,
    method: Object,
    amount: int,
    currency: str,
    *,
    metadata: Mapping[str, Any] | None = None,
    subscription: str | None = None,
    then: End | None = None,
) -> Object:
    """Charge the method; `then` is called with the intent once it has ended."""
    check_active(method)
    intent = draft_intent(
        world,
        mode=method["mode"],
        amount=amount,
        currency=currency,
        status="in_progress",
        payment_type=PAYMENT_TYPES[method["type"]],
        payment_type_options={"card": _card_of(method)} if method["type"] == "card" else {},
        metadata=dict(metadata or {}),
        customer=method["customer"],
        payment_method=method["id"],
        subscription=subscription,
    )
    ending = outcome(metadata, method.get("metadata"))
    world.keep(INTENTS, intent)
    world.put_off(ENDS_AFTER, lambda: _end(world, intent, ending, then))
    return intent


def _card_of(method: Object) -> Object:
    """What a payment tells of the card it was made with; whether the card is active it does not tell."""
    return {name: method["card"].get(name, usual) for name, usual in CARD.items()}


def _end(world: World, intent: Object, ending: str, then: End | None) -> None:
    status = ending if ending in ENDINGS else "failed"
    paid = world.keep(INTENTS, ended(world, intent, status))
    if then:
        then(paid)
    # What was charged for is told first, the payment itself last.
    world.announce(f"payment_intent.{status}", paid, mode=paid["mode"])
