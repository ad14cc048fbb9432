"""Transfers between accounts: sent, received, simulated, given back, and many in one signed request."""

from dataclasses import dataclass
from datetime import timedelta

from sandbox.api.call import Answer, Call, Route
from sandbox.api.fields import (
    check_status,
    read_choice,
    read_metadata,
    read_text,
    require_amount,
    require_currency,
    require_mapping,
    require_mappings,
    require_text,
)
from sandbox.api.lists import between, cursor_list, exactly, get_one, one_of, read_routes
from sandbox.engine.settlement import ANSWERED_AFTER, TRANSFERS, draft_transfer, give_back, receive, refuse, send
from sandbox.engine.world import World
from sandbox.scenarios.institutions import institution_of
from sandbox.scenarios.people import ACCOUNT_TYPES
from sandbox.state.clock import to_iso
from sandbox.state.refusal import RefusalError
from sandbox.state.store import Object

STATUSES = (
    "pending",
    "succeeded",
    "failed",
    "returned",
    "return_pending",
    "rejected",
    "reject_failed",
    "reverse_pending",
    "reversed",
)
DIRECTIONS = ("inbound", "outbound")
COUNTERPARTY = {
    "CLP": ("holder_id", "holder_name", "account_number", "account_type", "institution_id"),
    "MXN": ("account_number",),
}
# Of batches the specification names only the field `transfer_batch_id`. Paths and what is sent come from the provider's
# client library for Python (fintoc 2.26, `v2.transfer_batches`); the fields and the states `pending_authorization` and
# `in_progress` from the provider's page of the object. How a batch ends is the sandbox's own choice.
BATCHES = "transfer_batches"
MOST_TRANSFERS = 5_000
APPROVED_AFTER = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Order:
    """A transfer that was asked for: the number it leaves from and what it says."""

    number: Object
    terms: Object


def read_order(call: Call, body: Object) -> Order:
    """Return what a body asks to be sent, from an account that may send it."""
    world = call.world
    account = world.get(call.mode, "accounts", require_text(body, "account_id"))
    amount, currency = require_amount(body), require_currency(body)
    if currency != account["currency"]:
        raise RefusalError(400, "currency_mismatch", f"The account holds {account['currency']}", param="currency")
    counterparty = _read_counterparty(require_mapping(body, "counterparty"), currency)
    if account["status"] != "active":
        raise RefusalError(403, "account_not_active", f"The account is {account['status']}", param="account_id")
    terms = {
        "amount": amount,
        "currency": currency,
        "counterparty": counterparty,
        "comment": read_text(body, "comment"),
        "reference_id": read_text(body, "reference_id"),
        "metadata": read_metadata(body),
    }
    return Order(world.get(call.mode, "account_numbers", account["root_account_number_id"]), terms)


def create_transfer(call: Call) -> Answer:
    """Send money; the bank's answer comes a few seconds later."""
    order = read_order(call, call.body)
    account = call.world.get(call.mode, "accounts", order.number["account_id"])
    if order.terms["amount"] > account["available_balance"]:
        raise RefusalError(409, "insufficient_balance", "The account does not hold enough", param="amount")
    return Answer(send(call.world, draft_transfer(call.world, order.number, "outbound", order.terms)), 201)


def _read_counterparty(given: Object, currency: str) -> Object:
    needed = {name: require_text(given, name) for name in COUNTERPARTY[currency]}
    if currency == "CLP":
        read_choice(given, "account_type", ("checking", "sight", "checking_account", "sight_account"))
    country = "cl" if currency == "CLP" else "mx"
    return {
        "holder_id": read_text(given, "holder_id"),
        "holder_name": read_text(given, "holder_name"),
        "account_number": needed["account_number"],
        "account_type": read_text(given, "account_type") or ACCOUNT_TYPES[country],
        "institution": institution_of(country, needed["account_number"], read_text(given, "institution_id")),
        "email": read_text(given, "email"),
    }


def return_transfer(call: Call) -> Answer:
    """Send an inbound Mexican transfer back."""
    transfer = call.world.get(call.mode, TRANSFERS, require_text(call.body, "transfer_id"))
    if transfer["direction"] != "inbound" or transfer["currency"] != "MXN":
        raise RefusalError(
            409, "invalid_transfer_direction", "Only inbound transfers in MXN can be returned", param="transfer_id"
        )
    check_status("transfer", transfer, "succeeded")
    return Answer(give_back(call.world, transfer))


def simulate_transfer(call: Call) -> Answer:
    """Simulate money that arrives; test keys only."""
    if call.mode != "test":
        raise RefusalError(403, "invalid_mode", "Transfers can be simulated in test mode only")
    world, body = call.world, call.body
    number = world.get(call.mode, "account_numbers", require_text(body, "account_number_id"))
    account = world.get(call.mode, "accounts", number["account_id"])
    currency = require_currency(body) if body.get("currency") else account["currency"]
    if currency != account["currency"]:
        raise RefusalError(400, "currency_mismatch", f"The account holds {account['currency']}", param="currency")
    country = "cl" if currency == "CLP" else "mx"
    number_there = read_text(body, "counterparty_account_number")
    counterparty = {
        "holder_id": read_text(body, "counterparty_holder_id"),
        "holder_name": read_text(body, "counterparty_holder_name"),
        "account_number": number_there,
        "account_type": read_text(body, "counterparty_account_type"),
        "institution": institution_of(country, number_there or "", read_text(body, "counterparty_institution_id")),
        "email": None,
    }
    terms = {
        "amount": require_amount(body),
        "currency": currency,
        "counterparty": counterparty,
        "comment": read_text(body, "comment"),
        "reference_id": None,
        "metadata": read_metadata(body),
    }
    return Answer(receive(world, draft_transfer(world, number, "inbound", terms), number), 201)


LIST = cursor_list(
    TRANSFERS,
    exactly("account_id", field="account_number.account_id"),
    exactly("account_number_id", field="account_number.id"),
    one_of("direction", DIRECTIONS),
    one_of("status", STATUSES),
    exactly("tracking_key"),
    exactly("transfer_batch_id"),
    between("transaction_date"),
)
ROUTES = (
    Route("GET", "/v1/transfers", "list transfers", LIST),
    Route("GET", "/v2/transfers", "list transfers (v2)", LIST),
    Route("POST", "/v2/transfers", "create transfer", create_transfer, takes_jws=True),
    Route("POST", "/v1/transfers", "create transfer (v1)", create_transfer, takes_jws=True),
    Route("GET", "/v1/transfers/{id}", "get transfer (v1)", get_one(TRANSFERS)),
    Route("GET", "/v2/transfers/{id}", "get transfer", get_one(TRANSFERS)),
    Route("POST", "/v2/transfers/return", "return transfer", return_transfer, needs_jws=True),
    Route("POST", "/v2/simulate/receive_transfer", "simulate receive transfer", simulate_transfer),
)


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


BATCH_LIST = cursor_list(BATCHES, between("created_at"))
BATCH_ROUTES = (
    Route("POST", "/v2/transfer_batches", "create transfer batch", create_batch, needs_jws=True),
    *read_routes("/v2/transfer_batches", "transfer batch", BATCH_LIST, many="transfer batches"),
)
