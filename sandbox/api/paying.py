"""What a customer does on the provider's pages: pays a session, an intent or a link, or fails to."""

from sandbox.api.agreeing import agree
from sandbox.api.charging import ENDINGS
from sandbox.api.checkout_sessions import SESSIONS
from sandbox.api.fields import refuse_status
from sandbox.api.intent import INTENTS, draft_intent, end_intent
from sandbox.api.payment_links import LINKS
from sandbox.api.splits import apply_split
from sandbox.engine.world import MODES, World
from sandbox.state.collection import Object
from sandbox.state.refusal import invalid_enum, missing_resource

OPEN = ("created", "pending", "requires_action", "in_progress")


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
    if intent["status"] not in OPEN:
        raise refuse_status("payment intent", intent["status"], "open")
    return end_intent(world, intent, ending, **event_only)


def _pay_session(world: World, session: Object, ending: str) -> Object:
    """The session is finished however the payment ends: finished is not paid."""
    if session["status"] != "created":
        raise refuse_status("checkout session", session["status"], "created")
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
    if link["status"] != "active":
        raise refuse_status("payment link", link["status"], "active")
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
