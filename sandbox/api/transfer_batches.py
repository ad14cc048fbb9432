"""Transfer batches: many outbound transfers in one signed request, sent once they are approved.

The specification names only the field `transfer_batch_id`. Paths and what is sent come from the provider's client
library for Python (fintoc 2.26, `v2.transfer_batches`); the fields and the states `pending_authorization` and
`in_progress` from the provider's page of the object. How a batch ends is the sandbox's own choice.
"""

from datetime import timedelta

from sandbox.api.call import Answer, Call, Route
from sandbox.api.fields import require_currency, require_mappings, require_text
from sandbox.api.lists import between, cursor_list, read_routes
from sandbox.api.transfers import Order, read_order
from sandbox.engine.settlement import ANSWERED_AFTER, TRANSFERS, draft_transfer, refuse, send
from sandbox.engine.world import World
from sandbox.state.clock import to_iso
from sandbox.state.refusal import RefusalError
from sandbox.state.store import Object

BATCHES = "transfer_batches"
MOST_TRANSFERS = 5_000
APPROVED_AFTER = timedelta(minutes=1)


def create_batch(call: Call) -> Answer:
    """Take all transfers or none; their money moves after the approval."""
    body, world = call.body, call.world
    description, currency = require_text(body, "description"), require_currency(body)
    wanted = require_mappings(body, "transfers")
    if len(wanted) > MOST_TRANSFERS:
        raise RefusalError(
            400, "invalid_array", f"transfers must be a list of 1 to {MOST_TRANSFERS} transfers", param="transfers"
        )
    orders = [read_order(call, {**order, "currency": currency}) for order in wanted]
    batch = call.draft(
        "trbatch",
        "transfer_batch",
        description=description,
        currency=currency,
        amount=sum(order.terms["amount"] for order in orders),
        settled_amount=0,
        status="pending_authorization",
        authorized_at=None,
    )
    world.put_off(APPROVED_AFTER, lambda: _approve(world, batch, orders))
    return Answer(world.keep(BATCHES, batch), 201)


def _approve(world: World, batch: Object, orders: list[Order]) -> None:
    """Send every transfer that the account can still pay; the others fail at once."""
    going = {**batch, "status": "in_progress", "authorized_at": to_iso(world.now())}
    world.keep(BATCHES, going, event="transfer_batch.in_progress")
    for order in orders:
        transfer = draft_transfer(world, order.number, "outbound", order.terms)
        transfer["transfer_batch_id"] = batch["id"]
        account = world.get(batch["mode"], "accounts", order.number["account_id"])
        if transfer["amount"] > account["available_balance"]:
            refuse(world, transfer)
        else:
            send(world, transfer)
    # The banks' answers stand before it in the same second.
    world.put_off(ANSWERED_AFTER, lambda: _settle(world, going))


def _settle(world: World, batch: Object) -> None:
    rows = world.collection(batch["mode"], TRANSFERS).newest_first()
    amounts = [
        row["amount"] for row in rows if row.get("transfer_batch_id") == batch["id"] and row["status"] == "succeeded"
    ]
    settled = sum(amounts)
    status = "succeeded" if settled == batch["amount"] else "partially_succeeded" if settled else "failed"
    world.keep(BATCHES, {**batch, "status": status, "settled_amount": settled}, event=f"transfer_batch.{status}")


LISTED = cursor_list(BATCHES, between("created_at"))
ROUTES = (
    Route("POST", "/v2/transfer_batches", "create transfer batch", create_batch, needs_jws=True),
    *read_routes("/v2/transfer_batches", "transfer batch", LISTED, many="transfer batches"),
)
