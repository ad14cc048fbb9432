"""Payment intents in both generations: v1 with the customer present, v2 charging a saved payment method."""

from sandbox.api.call import Answer, Call, Route
from sandbox.api.charging import charge
from sandbox.api.fields import (
    read_business_profile,
    read_choice,
    read_metadata,
    read_text,
    refuse_status,
    require_amount,
    require_currency,
    require_mapping,
    require_text,
)
from sandbox.api.intent import INTENTS, draft_intent
from sandbox.api.listing import between, cursor_list, exactly, get_one, offset_list, one_of
from sandbox.state.collection import Keep, Object
from sandbox.state.versions import LATEST

STATUSES = ("created", "in_progress", "pending", "requires_action", "succeeded", "failed", "rejected", "expired")
TYPES = ("bank_transfer", "card", "installment", "cash", "pac")
LARGEST_TRANSFER = 7_000_000  # CLP, what the banks let through in one transfer


def is_charged(intent: Object) -> bool:
    """Whether the intent is of the second generation: it charges a saved payment method."""
    return intent["payment_method"] is not None


def _charged_only(_: Call) -> Keep:
    return is_charged


def _present_only(_: Call) -> Keep:
    return lambda intent: not is_charged(intent)


def read_intent(call: Call) -> Object:
    """The intent a request describes: it waits for a customer. Its widget token is not stored."""
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
    if intent["status"] != "created":
        raise refuse_status("payment intent", intent["status"], "created")
    return Answer(call.world.keep(INTENTS, {**intent, "status": "expired"}, event="payment_intent.expired"))


def charge_method(call: Call) -> Answer:
    """Charge a saved payment method; how it ends is told by an event."""
    body = call.body
    amount, currency = require_amount(body), require_currency(body)
    method = call.world.get(call.mode, "payment_methods", require_text(body, "payment_method"))
    return Answer(charge(call.world, method, amount, currency, metadata=read_metadata(body)), 201)


def check_eligibility(call: Call) -> Answer:
    """Whether an amount may be paid from an account, without creating anything; pesos only."""
    amount = require_amount(call.body)
    currency = require_currency(call.body, ("CLP",))
    sender = require_mapping(call.body, "sender_account")
    require_text(sender, "institution_id")
    is_eligible = amount <= LARGEST_TRANSFER
    reason = None if is_eligible else "amount_limit_reached"
    return Answer(
        {"object": "eligibility", "eligible": is_eligible, "reason": reason, "amount": amount, "currency": currency}
    )


FILTERS = (one_of("status", STATUSES), exactly("customer"), between())
ROUTES = (
    Route("POST", "/v1/payment_intents", "create payment intent", create_intent),
    Route("GET", "/v1/payment_intents", "list payment intents", offset_list(INTENTS, _present_only, *FILTERS)),
    Route("GET", "/v1/payment_intents/{id}", "get payment intent", get_one(INTENTS)),
    Route("POST", "/v1/payment_intents/{id}/expire", "expire payment intent", expire_intent),
    Route("POST", "/v1/payment_intents/check_eligibility", "check eligibility (v1)", check_eligibility, LATEST),
    Route("POST", "/v2/payment_intents", "charge payment method", charge_method),
    Route("GET", "/v2/payment_intents", "list charged intents", cursor_list(INTENTS, _charged_only, *FILTERS), LATEST),
    Route("GET", "/v2/payment_intents/{id}", "get charged intent", get_one(INTENTS), LATEST),
    Route("POST", "/v2/payment_intents/check_eligibility", "check eligibility", check_eligibility, LATEST),
)
