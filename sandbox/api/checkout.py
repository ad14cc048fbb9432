"""The pages a customer pays on: checkout sessions, payment links, split payments, and what the customer does."""

from datetime import timedelta
from fractions import Fraction
from math import floor

from sandbox.api.call import Answer, Call, Route
from sandbox.api.fields import (
    check_status,
    read_business_profile,
    read_choice,
    read_flag,
    read_list,
    read_metadata,
    read_text,
    read_whole,
    require_amount,
    require_currency,
    require_mappings,
    require_text,
)
from sandbox.api.lists import between, cursor_list, offset_list, one_of, read_routes
from sandbox.api.payment_intents import ENDINGS, INTENTS, draft_intent, end_intent, read_intent
from sandbox.api.subscriptions import SUBSCRIPTIONS, billed_currency, read_item, start
from sandbox.engine.world import MODES, World
from sandbox.state.clock import to_iso
from sandbox.state.refusal import RefusalError, invalid_enum, missing_resource
from sandbox.state.store import Object

MOST_ENTRIES = 10
BASIS_POINTS = 10_000
SESSION_STATUSES = ("created", "in_progress", "finished", "expired")
FLOWS = ("payment", "subscription", "setup")
SESSIONS = "checkout_sessions"
LIFE = timedelta(hours=24)
LINK_STATUSES = ("active", "expired", "canceled")
LINKS = "payment_links"
LONGEST_LIFE = 366 * 86_400
OPEN = ("created", "pending", "requires_action", "in_progress")


def read_split(body: Object, amount: int) -> list[Object]:
    """Return the recipients of a payment: shares that add up to it exactly, and one who carries the fee."""
    if body.get("split") is None:
        return []
    if not read_list(body, "split"):
        raise _refusal(f"A split has 1 to {MOST_ENTRIES} entries, not 0")
    entries = [_read_entry(entry) for entry in require_mappings(body, "split")]
    if len(entries) > MOST_ENTRIES:
        raise _refusal(f"A split has 1 to {MOST_ENTRIES} entries, not {len(entries)}")
    if sum(entry["charge_processing_fee"] for entry in entries) != 1:
        raise _refusal("Exactly one entry of a split carries charge_processing_fee")
    # Exactly, before any rounding: thirds of a hundred percent add up although thirds of an amount may not.
    shared = sum(_exact(entry, amount) for entry in entries)
    if shared != amount:
        raise _refusal(f"The shares of a split must add up to {amount}, not {round(shared)}")
    return entries


def apply_split(entries: list[Object], amount: int) -> list[Object]:
    """Return what each recipient gets, as events show it; the one that carries the fee gets what rounding leaves."""
    parts = [_half_up(_exact(entry, amount)) for entry in entries]
    left = amount - sum(parts)
    return [
        {
            "entity_id": entry["entity_id"],
            "amount": part + left if entry["charge_processing_fee"] else part,
            "charge_processing_fee": entry["charge_processing_fee"],
        }
        for entry, part in zip(entries, parts, strict=True)
    ]


def _exact(entry: Object, amount: int) -> Fraction:
    flat = entry["flat"]
    return Fraction(amount * entry["percentage"], BASIS_POINTS) if flat is None else Fraction(flat)


def _half_up(exact: Fraction) -> int:
    return floor(exact + Fraction(1, 2))


def _read_entry(entry: Object) -> Object:
    flat, percentage = read_whole(entry, "flat"), read_whole(entry, "percentage")
    if (flat is None) == (percentage is None):
        raise _refusal("An entry of a split has either flat or percentage")
    return {
        "entity_id": require_text(entry, "entity_id"),
        "flat": flat,
        "percentage": percentage,
        "charge_processing_fee": read_flag(entry, "charge_processing_fee"),
    }


def _refusal(message: str) -> RefusalError:
    return RefusalError(400, "invalid_params", message, param="split")


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


def _of_flow(call: Call, flow: str) -> Object:
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
    return {"customer": customer, "setup_intent": setup, "subscription": _subscription_to_mend(call)}


def _subscription_to_mend(call: Call) -> str | None:
    # A setup session may point at a subscription whose failed payment method it replaces.
    wanted = read_text(call.body, "subscription")
    return call.world.get(call.mode, "subscriptions", wanted)["id"] if wanted else None


def expire_session(call: Call) -> Answer:
    session = call.get(SESSIONS)
    check_status("checkout session", session, "created")
    return Answer(_expire_session(call.world, session))


def _expire_if_open(world: World, mode: str, id_: str) -> None:
    session = world.collection(mode, SESSIONS).find(id_)
    if session and session["status"] == "created":
        _expire_session(world, session)


def _expire_session(world: World, session: Object) -> Object:
    """Close the session; a payment that was waiting in it goes with it."""
    waiting = session["payment_resource"]["payment_intent"]
    if waiting:
        intent = world.get(session["mode"], INTENTS, waiting["id"])
        if intent["status"] in {"created", "pending", "requires_action"}:
            session = {**session, "payment_resource": {"payment_intent": end_intent(world, intent, "expired")}}
    return world.keep(SESSIONS, {**session, "status": "expired"}, event="checkout_session.expired")


SESSION_FILTERS = (one_of("status", SESSION_STATUSES), between())

SESSION_ROUTES = tuple(
    route
    for version, paged in (("v2", cursor_list), ("v1", offset_list))
    for route in (
        Route("POST", f"/{version}/checkout_sessions", "create checkout session", create_session),
        *read_routes(f"/{version}/checkout_sessions", "checkout session", paged(SESSIONS, *SESSION_FILTERS)),
        Route("POST", f"/{version}/checkout_sessions/{{id}}/expire", "expire checkout session", expire_session),
    )
)


def create_link(call: Call) -> Answer:
    world, body = call.world, call.body
    seconds = read_whole(body, "expires_after_seconds", least=1)
    life = None if seconds is None else timedelta(seconds=min(seconds, LONGEST_LIFE))
    link = call.draft(
        "plink",
        "payment_link",
        status="active",
        amount=require_amount(body),
        currency=require_currency(body),
        customer_email=read_text(body, "customer_email"),
        checkout={"description": read_text(body, "description")},
        recipient_account=body.get("recipient_account"),
        expires_at=None if life is None else to_iso(world.now() + life),
        metadata=read_metadata(body),
    )
    link["url"] = f"https://pay.example/{link['id']}"
    world.keep(LINKS, link)
    if life is not None:
        world.put_off(life, lambda: _expire_link(world, call.mode, link["id"]))
    return Answer(link, 201)


def _expire_link(world: World, mode: str, id_: str) -> None:
    link = world.get(mode, LINKS, id_)
    if link["status"] == "active":
        world.keep(LINKS, {**link, "status": "expired"})


def cancel_link(call: Call) -> Answer:
    """Close the link for good."""
    link = call.get(LINKS)
    check_status("payment link", link, "active")
    return Answer(call.world.keep(LINKS, {**link, "status": "canceled"}))


LINK_FILTERS = (one_of("status", LINK_STATUSES), between())

LINK_ROUTES = tuple(
    route
    for version, paged in (("v1", offset_list), ("v2", cursor_list))
    for route in (
        Route("POST", f"/{version}/payment_links", "create payment link", create_link),
        *read_routes(f"/{version}/payment_links", "payment link", paged(LINKS, *LINK_FILTERS)),
        Route("PATCH", f"/{version}/payment_links/{{id}}/cancel", "cancel payment link", cancel_link),
        Route("POST", f"/{version}/payment_links/{{id}}/cancel", "cancel payment link", cancel_link),
    )
)


def agree(world: World, session: Object, ending: str) -> Object:
    """Finish a setup or subscription session; the session as it is then."""
    finished = world.keep("checkout_sessions", {**session, "status": "finished"}, event="checkout_session.finished")
    if ending != "succeeded":
        if session["flow"] == "setup":
            _end_setup(world, session, "failed", None)
        return finished
    method = _save_card(world, session)
    if session["flow"] == "subscription":
        terms = {
            "customer": method["customer"],
            "collection_method": "charge_automatically",
            "payment_method": method["id"],
            "metadata": session["metadata"],
        }
        start(world, session["mode"], session["line_items"], terms)
        return finished
    _end_setup(world, session, "succeeded", method["id"])
    if session["subscription"]:
        _replace_method(world, session, method["id"])
    return finished


def _save_card(world: World, session: Object) -> Object:
    method = world.draft(
        session["mode"],
        "pm",
        "payment_method",
        type="card",
        customer=session["customer"]["id"],
        card={"brand": "visa", "kind": "credit", "last_four_digits": "4242", "status": "active"},
        metadata={},
    )
    return world.keep("payment_methods", method)


def _end_setup(world: World, session: Object, status: str, method: str | None) -> None:
    setup = world.get(session["mode"], "setup_intents", session["setup_intent"]["id"])
    reason = None if method else "card_declined"
    world.keep("setup_intents", {**setup, "status": status, "payment_method": method, "error_reason": reason})


def _replace_method(world: World, session: Object, method: str) -> None:
    subscription = world.get(session["mode"], SUBSCRIPTIONS, session["subscription"])
    changed = {**subscription, "payment_method": method}
    world.keep(SUBSCRIPTIONS, changed, event="subscription.payment_method_updated")


def pay(world: World, id_: str, ending: object = "succeeded") -> Object:
    """Let the customer finish; what came of it. Raises the provider's refusals."""
    if not isinstance(ending, str) or ending not in ENDINGS:
        raise invalid_enum("outcome", ending, ENDINGS)
    for mode in MODES:
        session = world.collection(mode, SESSIONS).find(id_)
        if session:
            return _pay_session(world, session, ending)
        intent = world.collection(mode, INTENTS).find(id_)
        if intent:
            return _finish(world, intent, ending)
        link = world.collection(mode, LINKS).find(id_)
        if link:
            return _pay_link(world, link, ending)
    raise missing_resource("payment, session or link", id_)


def _finish(world: World, intent: Object, ending: str, **event_only: object) -> Object:
    check_status("payment intent", intent, *OPEN, named="open")
    return end_intent(world, intent, ending, **event_only)


def _pay_session(world: World, session: Object, ending: str) -> Object:
    """Return the session is finished however the payment ends: finished is not paid."""
    check_status("checkout session", session, "created")
    if session["flow"] != "payment":
        return agree(world, session, ending)
    waiting = session["payment_resource"]["payment_intent"]
    shares = {}
    if ending == "succeeded" and session.get("split"):
        shares = {"split_applied": apply_split(session["split"], session["amount"])}
    intent = _finish(world, world.get(session["mode"], INTENTS, waiting["id"]), ending, **shares)
    finished = {**session, "status": "finished", "payment_resource": {"payment_intent": intent}}
    world.keep(SESSIONS, finished, event="checkout_session.finished", **shares)
    return intent


def _pay_link(world: World, link: Object, ending: str) -> Object:
    check_status("payment link", link, "active")
    intent = draft_intent(
        world,
        mode=link["mode"],
        amount=link["amount"],
        currency=link["currency"],
        metadata=link["metadata"],
        customer_email=link["customer_email"],
        recipient_account=link["recipient_account"],
    )
    return end_intent(world, intent, ending)
