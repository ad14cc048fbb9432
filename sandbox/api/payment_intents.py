"""Payment intents: v1 with the customer present, v2 charging a saved payment method."""

from collections.abc import Callable
from datetime import timedelta

from sandbox.api.call import Answer, Call, Route
from sandbox.api.fields import (
    check_status,
    read_business_profile,
    read_choice,
    read_metadata,
    read_text,
    require_amount,
    require_currency,
    require_mapping,
    require_text,
)
from sandbox.api.lists import Filter, between, cursor_list, exactly, get_one, offset_list, one_of
from sandbox.engine.settlement import outcome
from sandbox.engine.world import World
from sandbox.state.clock import to_iso
from sandbox.state.refusal import RefusalError
from sandbox.state.store import Object
from sandbox.state.versions import LATEST

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
ENDS_AFTER = timedelta(seconds=5)
PAYMENT_TYPES = {"bank_transfer": "bank_transfer", "card": "card", "pac": "pac", "mx_direct_debit": "bank_transfer"}
ENDINGS = ("succeeded", "failed", "rejected", "pending")
End = Callable[[Object], object]
STATUSES = ("created", "in_progress", "pending", "requires_action", "succeeded", "failed", "rejected", "expired")
TYPES = ("bank_transfer", "card", "installment", "cash", "pac")
LARGEST_TRANSFER = 7_000_000  # CLP, what the banks let through in one transfer


def draft_intent(world: World, *, mode: str, amount: int, currency: str, **known: object) -> Object:
    """Return a payment intent with every field, empty where it is not given."""
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
    return world.keep(INTENTS, to_ended(world, intent, status), event=f"payment_intent.{status}", **event_only)


def to_ended(world: World, intent: Object, status: str) -> Object:
    """Return the intent as it is at its end."""
    changes: Object = {"status": status}
    if status == "succeeded":
        changes["transaction_date"] = to_iso(world.now())
        if intent["payment_type"] == "card" and "card" not in intent["payment_type_options"]:
            changes["payment_type_options"] = {"card": CARD}
    elif status in {"failed", "rejected"}:
        changes["error_reason"] = "insufficient_funds"
    return {**intent, **changes}


def is_active(method: Object) -> bool:
    """Return whether a payment method may be charged."""
    status = method.get("status") or method[method["type"]].get("status", "active")
    return bool(status == "active")


def check_active(method: Object) -> None:
    """Raise `payment_method_inactive` unless the method may be charged."""
    if not is_active(method):
        raise RefusalError(
            400, "payment_method_inactive", f"The payment method {method['id']} is not active", param="payment_method"
        )


def charge(
    world: World, method: Object, amount: int, currency: str, *, then: End | None = None, **known: object
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
        customer=method["customer"],
        payment_method=method["id"],
        **known,
    )
    ending = outcome(intent["metadata"], method.get("metadata"))
    world.keep(INTENTS, intent)
    world.put_off(ENDS_AFTER, lambda: _end(world, intent, ending, then))
    return intent


def _card_of(method: Object) -> Object:
    """Return what a payment tells of the card it was made with; whether the card is active it does not tell."""
    return {name: method["card"].get(name, usual) for name, usual in CARD.items()}


def _end(world: World, intent: Object, ending: str, then: End | None) -> None:
    status = ending if ending in ENDINGS else "failed"
    paid = world.keep(INTENTS, to_ended(world, intent, status))
    if then:
        then(paid)
    # What was charged for is announced first, the payment itself last.
    world.announce(f"payment_intent.{status}", paid, mode=paid["mode"])


def is_charged(intent: Object) -> bool:
    """Return whether the intent is of the second generation: it charges a saved payment method."""
    return intent["payment_method"] is not None


def read_intent(call: Call) -> Object:
    """Return the intent a request describes: it waits for a customer. Its widget token is not stored."""
    body = call.body
    return draft_intent(
        call.world,
        mode=call.mode,
        amount=require_amount(body),
        currency=require_currency(body),
        payment_type=read_choice(body, "payment_type", TYPES, default="bank_transfer"),
        reference_id=read_text(body, "reference_id"),
        metadata=read_metadata(body),
        customer_email=read_text(body, "customer_email"),
        recipient_account=body.get("recipient_account"),
        business_profile=read_business_profile(body),
    )


def create_intent(call: Call) -> Answer:
    """Start a customer-present flow; the widget token is in this answer alone."""
    intent = call.world.keep(INTENTS, read_intent(call))
    return Answer({**intent, "widget_token": f"{intent['id']}_sec_{call.world.new_secret('w')}"}, 201)


def expire_intent(call: Call) -> Answer:
    intent = call.get(INTENTS)
    check_status("payment intent", intent, "created")
    return Answer(call.world.keep(INTENTS, {**intent, "status": "expired"}, event="payment_intent.expired"))


def charge_method(call: Call) -> Answer:
    """Charge a saved payment method; an event says how it ends."""
    body = call.body
    amount, currency = require_amount(body), require_currency(body)
    method = call.world.get(call.mode, "payment_methods", require_text(body, "payment_method"))
    return Answer(charge(call.world, method, amount, currency, metadata=read_metadata(body)), 201)


def check_eligibility(call: Call) -> Answer:
    """Return whether an amount may be paid from an account, without creating anything; pesos only."""
    amount = require_amount(call.body)
    currency = require_currency(call.body, ("CLP",))
    sender = require_mapping(call.body, "sender_account")
    require_text(sender, "institution_id")
    is_eligible = amount <= LARGEST_TRANSFER
    reason = None if is_eligible else "amount_limit_reached"
    return Answer(
        {"object": "eligibility", "eligible": is_eligible, "reason": reason, "amount": amount, "currency": currency}
    )


CHARGED = Filter((), lambda _: is_charged)
PRESENT = Filter((), lambda _: lambda intent: not is_charged(intent))
FILTERS = (one_of("status", STATUSES), exactly("customer"), between())

ROUTES = (
    Route("POST", "/v1/payment_intents", "create payment intent", create_intent),
    Route("GET", "/v1/payment_intents", "list payment intents", offset_list(INTENTS, PRESENT, *FILTERS)),
    Route("GET", "/v1/payment_intents/{id}", "get payment intent", get_one(INTENTS)),
    Route("POST", "/v1/payment_intents/{id}/expire", "expire payment intent", expire_intent),
    Route("POST", "/v1/payment_intents/check_eligibility", "check eligibility (v1)", check_eligibility, LATEST),
    Route("POST", "/v2/payment_intents", "charge payment method", charge_method),
    Route("GET", "/v2/payment_intents", "list charged intents", cursor_list(INTENTS, CHARGED, *FILTERS), LATEST),
    Route("GET", "/v2/payment_intents/{id}", "get charged intent", get_one(INTENTS), LATEST),
    Route("POST", "/v2/payment_intents/check_eligibility", "check eligibility", check_eligibility, LATEST),
)
