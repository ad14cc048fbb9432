"""Legacy direct debit: subscriptions, the intents that make them, and the charges on them."""

from datetime import timedelta

from sandbox.api.call import Answer, Call, Route
from sandbox.api.fields import (
    check_status,
    read_business_profile,
    read_metadata,
    require_amount,
    require_currency,
    require_text,
)
from sandbox.api.lists import between, exactly, offset_list, one_of, read_routes
from sandbox.engine.settlement import outcome
from sandbox.engine.world import World
from sandbox.state.clock import to_iso
from sandbox.state.refusal import RefusalError
from sandbox.state.store import Object

STATUSES = ("pending", "in_progress", "succeeded", "failed", "canceled")
CHARGES, SUBSCRIPTIONS, INTENTS = "charges", "legacy_subscriptions", "subscription_intents"
COLLECTED_AFTER = timedelta(minutes=1)


def create_charge(call: Call) -> Answer:
    """Ask for money on an active subscription; in test mode the collection is simulated a minute later."""
    world, body = call.world, call.body
    subscription = world.get(call.mode, SUBSCRIPTIONS, require_text(body, "subscription_id"))
    check_status("subscription", subscription, "active")
    charge = call.draft(
        "ch",
        "charge",
        amount=require_amount(body),
        currency=require_currency(body),
        status="pending",
        subscription_id=subscription["id"],
        failure_code=None,
        metadata=read_metadata(body),
        business_profile=read_business_profile(body),
        recipient_account=None,
        updated_at=to_iso(world.now()),
    )
    world.keep(CHARGES, charge)
    if call.mode == "test":
        world.put_off(COLLECTED_AFTER, lambda: _collect(world, call.mode, charge["id"]))
    return Answer(charge, 201)


def _collect(world: World, mode: str, id_: str) -> None:
    charge = world.get(mode, CHARGES, id_)
    if charge["status"] != "pending":
        return
    has_failed = outcome(charge["metadata"]) != "succeeded"
    status = "failed" if has_failed else "succeeded"
    failure = "insufficient_funds" if has_failed else None
    changed = {**charge, "status": status, "failure_code": failure, "updated_at": to_iso(world.now())}
    world.keep(CHARGES, changed, event=f"charge.{status}")


def _get_pending(call: Call) -> Object:
    charge = call.get(CHARGES)
    check_status("charge", charge, "pending")
    return charge


def update_charge(call: Call) -> Answer:
    """Amount and currency, while pending."""
    charge, body = _get_pending(call), call.body
    unknown = set(body) - {"amount", "currency"}
    if unknown:
        raise RefusalError(
            400, "invalid_params", f"Only amount and currency can change, not {', '.join(sorted(unknown))}"
        )
    changes: Object = {"amount": require_amount(body)} if "amount" in body else {}
    if "currency" in body:
        changes["currency"] = require_currency(body)
    return Answer(call.world.keep(CHARGES, {**charge, **changes, "updated_at": to_iso(call.world.now())}))


def cancel_charge(call: Call) -> Answer:
    changed = {**_get_pending(call), "status": "canceled", "updated_at": to_iso(call.world.now())}
    return Answer(call.world.keep(CHARGES, changed))


def create_intent(call: Call) -> Answer:
    """Begin a consent; the widget token is in this answer alone. In test mode the payer signs or fails at once."""
    world = call.world
    intent = call.draft(
        "si",
        "subscription_intent",
        status="created",
        subscription=None,
        public_error=None,
        widget_token=None,
        business_profile=read_business_profile(call.body),
        metadata=read_metadata(call.body),
    )
    world.keep(INTENTS, intent)
    if call.mode == "test":
        world.put_off(COLLECTED_AFTER, lambda: _sign(call, intent))
    return Answer({**intent, "widget_token": f"{intent['id']}_sec_{world.new_secret('w')}"}, 201)


def _sign(call: Call, intent: Object) -> None:
    ending = outcome(intent["metadata"])
    changes: Object = {"status": ending if ending in {"succeeded", "rejected"} else "failed"}
    if changes["status"] == "failed":
        changes["public_error"] = "login_invalid_credentials"
    if changes["status"] == "succeeded":
        changes["subscription"] = call.draft("sub", "subscription", status="active", metadata={})
        call.world.keep(SUBSCRIPTIONS, changes["subscription"])
    call.world.keep(INTENTS, {**intent, **changes}, event=f"subscription_intent.{changes['status']}")


LISTED = offset_list(CHARGES, one_of("status", STATUSES), exactly("subscription_id"), between())
ROUTES = (
    Route("POST", "/v1/charges", "create charge", create_charge),
    *read_routes("/v1/charges", "charge", LISTED),
    Route("PATCH", "/v1/charges/{id}", "update charge", update_charge),
    Route("POST", "/v1/charges/{id}/cancel", "cancel charge", cancel_charge),
    Route("POST", "/v1/subscription_intents", "create subscription intent", create_intent),
    *read_routes("/v1/subscription_intents", "subscription intent", offset_list(INTENTS)),
    *read_routes("/v1/subscriptions", "direct debit subscription", offset_list(SUBSCRIPTIONS)),
)
