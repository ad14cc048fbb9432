"""Payment links: an address that asks for one payment."""

from datetime import timedelta

from sandbox.api.call import Answer, Call, Route
from sandbox.api.fields import read_metadata, read_text, read_whole, refuse_status, require_amount, require_currency
from sandbox.api.listing import between, cursor_list, get_one, offset_list, one_of
from sandbox.engine.world import World
from sandbox.state.clock import to_iso

STATUSES = ("active", "expired", "canceled")
LINKS = "payment_links"
LONGEST_LIFE = 366 * 86_400


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
        world.put_off(life, lambda: _expire(world, call.mode, link["id"]))
    return Answer(link, 201)


def _expire(world: World, mode: str, id_: str) -> None:
    link = world.get(mode, LINKS, id_)
    if link["status"] == "active":
        world.keep(LINKS, {**link, "status": "expired"})


def cancel_link(call: Call) -> Answer:
    """Close the link for good."""
    link = call.get(LINKS)
    if link["status"] != "active":
        raise refuse_status("payment link", link["status"], "active")
    return Answer(call.world.keep(LINKS, {**link, "status": "canceled"}))


FILTERS = (one_of("status", STATUSES), between())
ROUTES = tuple(
    route
    for version, listed in (("v1", offset_list(LINKS, *FILTERS)), ("v2", cursor_list(LINKS, *FILTERS)))
    for route in (
        Route("POST", f"/{version}/payment_links", "create payment link", create_link),
        Route("GET", f"/{version}/payment_links", "list payment links", listed),
        Route("GET", f"/{version}/payment_links/{{id}}", "get payment link", get_one(LINKS)),
        Route("PATCH", f"/{version}/payment_links/{{id}}/cancel", "cancel payment link", cancel_link),
        Route("POST", f"/{version}/payment_links/{{id}}/cancel", "cancel payment link", cancel_link),
    )
)
