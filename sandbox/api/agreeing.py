"""What a customer does in sessions without a payment: leaves a card, perhaps for a subscription."""

from sandbox.api import recurring
from sandbox.engine.world import World
from sandbox.state.clock import to_iso
from sandbox.state.collection import Object


def agree(world: World, session: Object, ending: str) -> Object:
    """Finish a setup or subscription session; the session as it is then."""
    finished = world.keep("checkout_sessions", {**session, "status": "finished"}, event="checkout_session.finished")
    if ending != "succeeded":
        if session["flow"] == "setup":
            _end_setup(world, session, "failed", None)
        return finished
    method = _save_card(world, session)
    if session["flow"] == "subscription":
        recurring.start(
            world,
            mode=session["mode"],
            customer=method["customer"],
            items=session["line_items"],
            collection_method="charge_automatically",
            payment_method=method["id"],
            metadata=session["metadata"],
        )
        return finished
    _end_setup(world, session, "succeeded", method["id"])
    if session["subscription"]:
        _replace_method(world, session, method["id"])
    return finished


def _save_card(world: World, session: Object) -> Object:
    method = {
        "id": world.new_id("pm"),
        "object": "payment_method",
        "mode": session["mode"],
        "created_at": to_iso(world.now()),
        "type": "card",
        "customer": session["customer"]["id"],
        "card": {"brand": "visa", "kind": "credit", "last_four_digits": "4242", "status": "active"},
        "metadata": {},
    }
    return world.keep("payment_methods", method)


def _end_setup(world: World, session: Object, status: str, method: str | None) -> None:
    setup = world.get(session["mode"], "setup_intents", session["setup_intent"]["id"])
    reason = None if method else "card_declined"
    world.keep("setup_intents", {**setup, "status": status, "payment_method": method, "error_reason": reason})


def _replace_method(world: World, session: Object, method: str) -> None:
    subscription = world.get(session["mode"], recurring.SUBSCRIPTIONS, session["subscription"])
    changed = {**subscription, "payment_method": method}
    world.keep(recurring.SUBSCRIPTIONS, changed, event="subscription.payment_method_updated")
