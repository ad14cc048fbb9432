"""Account verifications: a tiny transfer that proves an account exists."""

from datetime import timedelta

from sandbox.api.call import Answer, Call, Route
from sandbox.api.fields import read_metadata, require_text
from sandbox.api.listing import between, cursor_list, exactly, get_one
from sandbox.engine.world import World
from sandbox.state.clock import to_iso
from sandbox.state.collection import Object
from sandbox.state.outcomes import outcome

VERIFICATIONS = "account_verifications"
ANSWERED_AFTER = timedelta(seconds=30)


def create_verification(call: Call) -> Answer:
    """Send the tiny transfer; an account number of zeros does not exist."""
    world = call.world
    number = require_text(call.body, "account_number")
    verification = call.draft(
        "accv",
        "account_verification",
        status="pending",
        reason=None,
        transfer_id=world.new_id("tr"),
        counterparty={"account_number": number, "holder_id": None, "holder_name": None, "institution": None},
        receipt_url=None,
        transaction_date=to_iso(world.now()),
        metadata=read_metadata(call.body),
    )
    world.keep(VERIFICATIONS, verification)
    world.put_off(ANSWERED_AFTER, lambda: _answer(world, verification))
    return Answer(verification, 201)


def _answer(world: World, verification: Object) -> None:
    exists = outcome(verification["metadata"]) == "succeeded" and verification["counterparty"]["account_number"].strip(
        "0"
    )
    if exists:
        holder = {"holder_id": "ND", "holder_name": "Titular de prueba"}
        changes: Object = {
            "status": "succeeded",
            "counterparty": {**verification["counterparty"], **holder},
            "receipt_url": f"https://receipts.example/{verification['id']}",
        }
    else:
        changes = {"status": "failed", "reason": "non_existing_account"}
    event = f"account_verification.{changes['status']}"
    world.keep(VERIFICATIONS, {**verification, **changes}, event=event)


ROUTES = (
    Route("POST", "/v2/account_verifications", "create account verification", create_verification, needs_jws=True),
    Route(
        "GET",
        "/v2/account_verifications",
        "list account verifications",
        cursor_list(
            VERIFICATIONS,
            exactly("account_number", field="counterparty.account_number"),
            exactly("transfer_id"),
            between("transaction_date"),
        ),
    ),
    Route("GET", "/v2/account_verifications/{id}", "get account verification", get_one(VERIFICATIONS)),
)
