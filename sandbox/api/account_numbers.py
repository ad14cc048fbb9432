"""Account numbers: what others send money to."""

from typing import Any

from sandbox.api.call import Answer, Call, Route
from sandbox.api.fields import read_choice, read_mapping, read_metadata, read_text, read_whole, require_text
from sandbox.api.listing import cursor_list, exactly, get_one
from sandbox.state.clock import to_day, to_iso, to_moment
from sandbox.state.collection import Keep, Object
from sandbox.state.ids import digest
from sandbox.state.refusal import RefusalError, invalid

NUMBERS = "account_numbers"
PREFIXES = {"cl": "99001", "mx": "646180"}
LENGTHS = {"cl": 12, "mx": 18}
CLABE_WEIGHTS = (3, 7, 1)


def draft_number(call: Call, account: str, *, country: str, is_root: bool) -> Object:
    """A new number, not stored yet; a Mexican one is a CLABE with its check digit."""
    now, body = to_iso(call.world.now()), call.body
    drafted = call.draft("acno", "account_number")
    length = LENGTHS[country] - len(PREFIXES[country]) - (country == "mx")
    number = PREFIXES[country] + str(int.from_bytes(digest(call.world.seed, drafted["id"])))[:length]
    return {
        **drafted,
        "account_id": account,
        "number": number + _check_digit(number) if country == "mx" else number,
        "updated_at": now,
        "description": None if is_root else read_text(body, "description"),
        "metadata": {} if is_root else read_metadata(body),
        "status": "enabled",
        "is_root": is_root,
        "options": {"min_amount": None, "max_amount": None} if is_root else _read_options(body),
        "deleted_at": None,
        "last_transfer_at": None,
    }


def _check_digit(number: str) -> str:
    weighed = (int(figure) * CLABE_WEIGHTS[place % 3] % 10 for place, figure in enumerate(number))
    return str(-sum(weighed) % 10)


def _read_options(body: dict[str, Any]) -> Object:
    options = read_mapping(body, "options")
    smallest, largest = read_whole(options, "min_amount"), read_whole(options, "max_amount")
    if smallest is not None and largest is not None and smallest > largest:
        raise invalid("amount", "options.min_amount", "no more than max_amount")
    return {"min_amount": smallest, "max_amount": largest}


def create_number(call: Call) -> Answer:
    account = call.world.get(call.mode, "accounts", require_text(call.body, "account_id"))
    country = "mx" if account["currency"] == "MXN" else "cl"
    number = draft_number(call, account["id"], country=country, is_root=False)
    return Answer(call.world.keep(NUMBERS, number), 201)


def update_number(call: Call) -> Answer:
    number, body = call.get(NUMBERS), call.body
    if number["deleted_at"] is not None:
        raise RefusalError(409, "invalid_account_status", "The account number is deleted", param="id")
    changes: Object = {}
    if "description" in body:
        changes["description"] = read_text(body, "description")
    if "status" in body:
        changes["status"] = read_choice(body, "status", ("enabled", "disabled"))
    if "metadata" in body:
        changes["metadata"] = read_metadata(body)
    if "options" in body:
        changes["options"] = _read_options(body)
    return Answer(call.world.keep(NUMBERS, {**number, **changes, "updated_at": to_iso(call.world.now())}))


def is_mexican(call: Call, number: Object) -> bool:
    return bool(call.world.get(call.mode, "accounts", number["account_id"])["currency"] == "MXN")


def delete_number(call: Call) -> Answer:
    """Mexico only, never the root; deleting again changes nothing."""
    number, world = call.get(NUMBERS), call.world
    if number["deleted_at"] is not None:
        return Answer(number)
    if not is_mexican(call, number):
        raise RefusalError(422, "not_supported_country", "Only Mexican account numbers can be deleted", param="id")
    if number["is_root"]:
        raise RefusalError(409, "operation_not_allowed", "The root account number cannot be deleted", param="id")
    now = to_iso(world.now())
    deleted = {**number, "status": "deleted", "deleted_at": now, "updated_at": now}
    return Answer(world.keep(NUMBERS, deleted, event="account_number.deleted"))


def _idle_since(call: Call) -> Keep | None:
    """Numbers of Mexican accounts without an inbound transfer since that date."""
    text = call.query.get("no_transfers_since")
    if text is None:
        return None
    try:
        day = to_day(text)
        since = to_moment(text)
    except ValueError:
        day = None
    if day is None:
        raise invalid("date", "no_transfers_since", "a calendar date")
    return lambda row: (
        is_mexican(call, row) and (row["last_transfer_at"] is None or to_moment(row["last_transfer_at"]) < since)
    )


ROUTES = (
    Route("POST", "/v2/account_numbers", "create account number", create_number),
    Route(
        "GET", "/v2/account_numbers", "list account numbers", cursor_list(NUMBERS, exactly("account_id"), _idle_since)
    ),
    Route("GET", "/v2/account_numbers/{id}", "get account number", get_one(NUMBERS)),
    Route("PATCH", "/v2/account_numbers/{id}", "update account number", update_number),
    Route("DELETE", "/v2/account_numbers/{id}", "delete account number", delete_number),
)
