"""Checkout sessions: the page a customer pays on, perhaps for several recipients."""

from datetime import timedelta
from typing import Any

from sandbox.api.call import Answer, Call, Route
from sandbox.api.fields import (
    read_business_profile,
    read_choice,
    read_list,
    read_metadata,
    read_text,
    refuse_status,
    require_amount,
    require_currency,
    require_mappings,
    require_text,
)
from sandbox.api.intent import INTENTS, end_intent
from sandbox.api.listing import between, cursor_list, get_one, offset_list, one_of
from sandbox.api.payment_intents import read_intent
from sandbox.api.recurring import billed_currency
from sandbox.api.splits import read_split
from sandbox.api.subscriptions import read_item
from sandbox.engine.world import World
from sandbox.state.clock import to_iso
from sandbox.state.collection import Object

STATUSES = ("created", "in_progress", "finished", "expired")
FLOWS = ("payment", "subscription", "setup")
SESSIONS = "checkout_sessions"
LIFE = timedelta(hours=24)


def create_session(call: Call) -> Answer:
    """Open a session; which fields it needs depends on its flow."""
    body, world = call.body, call.world
    flow = read_choice(body, "flow", FLOWS, default="payment")
    session = call.draft(
        "cs",
        "checkout_session",
        status="created",
        flow=flow,
        amount=None,
        currency=None,
        customer=None,
        customer_email=read_text(body, "customer_email"),
        payment_method_types=read_list(body, "payment_method_types") or ["bank_transfer"],
        payment_method_options={},
        payment_resource={"payment_intent": None},
        session_token=world.new_secret("cst"),
        success_url=read_text(body, "success_url"),
        cancel_url=read_text(body, "cancel_url"),
        line_items=read_list(body, "line_items"),
        business_profile=read_business_profile(body),
        metadata=read_metadata(body),
        expires_at=to_iso(world.now() + LIFE),
    )
    session = {**session, "redirect_url": f"https://checkout.example/{session['id']}", **_of_flow(call, flow)}
    world.keep(SESSIONS, session)
    world.put_off(LIFE, lambda: _expire_if_open(world, call.mode, session["id"]))
    return Answer(session, 201)


def _of_flow(call: Call, flow: str) -> dict[str, Any]:
    body = call.body
    if flow == "payment":
        amount, currency = require_amount(body), require_currency(body)
        split = read_split(body, amount)
        intent = call.world.keep(INTENTS, read_intent(call))
        shared = {"split": split} if split else {}
        return {"amount": amount, "currency": currency, "payment_resource": {"payment_intent": intent}, **shared}
    customer = call.world.get(call.mode, "customers", require_text(body, "customer"))
    if flow == "subscription":
        items = [read_item(call, entry) for entry in require_mappings(body, "line_items")]
        return {"currency": billed_currency(items), "customer": customer, "line_items": items}
    setup = call.draft("seti", "setup_intent", status="created", customer=customer["id"], error_reason=None)
    call.world.keep("setup_intents", setup)
    return {"customer": customer, "setup_intent": setup, "subscription": _replaced_on(call)}


def _replaced_on(call: Call) -> str | None:
    # A setup session may point at a subscription whose failed payment method it replaces.
    wanted = read_text(call.body, "subscription")
    return call.world.get(call.mode, "subscriptions", wanted)["id"] if wanted else None


def expire_session(call: Call) -> Answer:
    session = call.get(SESSIONS)
    if session["status"] != "created":
        raise refuse_status("checkout session", session["status"], "created")
    return Answer(_expire(call.world, session))


def _expire_if_open(world: World, mode: str, id_: str) -> None:
    session = world.collection(mode, SESSIONS).find(id_)
    if session and session["status"] == "created":
        _expire(world, session)


def _expire(world: World, session: Object) -> Object:
    """Close the session; a payment that was waiting in it goes with it."""
    waiting = session["payment_resource"]["payment_intent"]
    if waiting:
        intent = world.get(session["mode"], INTENTS, waiting["id"])
        if intent["status"] in {"created", "pending", "requires_action"}:
            session = {**session, "payment_resource": {"payment_intent": end_intent(world, intent, "expired")}}
    return world.keep(SESSIONS, {**session, "status": "expired"}, event="checkout_session.expired")


FILTERS = (one_of("status", STATUSES), between())
ROUTES = tuple(
    route
    for version, listed in (("v2", cursor_list(SESSIONS, *FILTERS)), ("v1", offset_list(SESSIONS, *FILTERS)))
    for route in (
        Route("POST", f"/{version}/checkout_sessions", "create checkout session", create_session),
        Route("GET", f"/{version}/checkout_sessions", "list checkout sessions", listed),
        Route("GET", f"/{version}/checkout_sessions/{{id}}", "get checkout session", get_one(SESSIONS)),
        Route("POST", f"/{version}/checkout_sessions/{{id}}/expire", "expire checkout session", expire_session),
    )
)
