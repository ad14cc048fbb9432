"""Business accounts: their numbers, movements, monthly statements, and the verification of others' accounts."""

from datetime import timedelta

from sandbox.api.call import Answer, Call, Route
from sandbox.api.fields import read_choice, read_mapping, read_metadata, read_text, read_whole, require_text
from sandbox.api.lists import (
    CURSORS,
    RANGE,
    Filter,
    between,
    cursor_list,
    cursor_page,
    exactly,
    get_one,
    offset_list,
    read_routes,
    read_since,
    read_until,
)
from sandbox.engine.settlement import outcome
from sandbox.engine.world import World
from sandbox.scenarios.institutions import institution_of, is_clabe
from sandbox.scenarios.people import ACCOUNT_TYPES, CURRENCIES, clabe_check_digit
from sandbox.state.clock import to_day, to_iso, to_moment
from sandbox.state.ids import digest
from sandbox.state.refusal import RefusalError, invalid, missing_resource
from sandbox.state.store import Keep, Object

NUMBERS = "account_numbers"
PREFIXES = {"cl": "99001", "mx": "646180"}
LENGTHS = {"cl": 12, "mx": 18}
ACCOUNTS, MOVEMENTS, STATEMENTS = "accounts", "account_movements", "account_statements"
VERIFICATIONS = "account_verifications"
ANSWERED_AFTER = timedelta(seconds=30)


def draft_number(call: Call, account: str, *, country: str, is_root: bool) -> Object:
    """Return a new number, not stored yet; a Mexican one is a CLABE with its check digit."""
    now, body = to_iso(call.world.now()), call.body
    drafted = call.draft("acno", "account_number")
    length = LENGTHS[country] - len(PREFIXES[country]) - (country == "mx")
    number = PREFIXES[country] + str(int.from_bytes(digest(call.world.seed, drafted["id"])))[:length]
    return {
        **drafted,
        "account_id": account,
        "number": number + clabe_check_digit(number) if country == "mx" else number,
        "updated_at": now,
        "description": None if is_root else read_text(body, "description"),
        "metadata": {} if is_root else read_metadata(body),
        "status": "enabled",
        "is_root": is_root,
        "options": {"min_amount": None, "max_amount": None} if is_root else _read_options(body),
        "deleted_at": None,
        "last_transfer_at": None,
    }


def _read_options(body: Object) -> Object:
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
    """Delete a Mexican number that is not the root; a deleted one stays as it is."""
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


IDLE_SINCE = Filter(("no_transfers_since",), _idle_since)
NUMBER_ROUTES = (
    Route("POST", "/v2/account_numbers", "create account number", create_number),
    *read_routes("/v2/account_numbers", "account number", cursor_list(NUMBERS, exactly("account_id"), IDLE_SINCE)),
    Route("PATCH", "/v2/account_numbers/{id}", "update account number", update_number),
    Route("DELETE", "/v2/account_numbers/{id}", "delete account number", delete_number),
)


def create_account(call: Call) -> Answer:
    """An account of an entity, with its root number."""
    world, body = call.world, call.body
    entity = world.get(call.mode, "entities", require_text(body, "entity_id"))
    if entity["status"] != "operational":
        raise RefusalError(403, "entity_not_operational", f"The entity is {entity['status']}", param="entity_id")
    id_ = world.new_id("acc")
    number = draft_number(call, id_, country=entity["country_code"], is_root=True)
    account = {
        **call.draft("acc", "account"),
        "id": id_,
        "root_account_number": number["number"],
        "root_account_number_id": number["id"],
        "is_root": entity["is_root"],
        "available_balance": 0,
        "currency": CURRENCIES[entity["country_code"]],
        "entity": {name: entity[name] for name in ("id", "holder_name", "holder_id", "is_root")},
        "description": read_text(body, "description"),
        "status": "active",
    }
    world.keep("account_numbers", number)
    return Answer(world.keep(ACCOUNTS, account), 201)


def update_account(call: Call) -> Answer:
    """Only the description can change."""
    account = call.get(ACCOUNTS)
    others = set(call.body) - {"description"}
    if others:
        raise RefusalError(400, "invalid_params", f"Only description can change, not {', '.join(sorted(others))}")
    return Answer(call.world.keep(ACCOUNTS, {**account, "description": read_text(call.body, "description")}))


def list_movements(call: Call) -> Answer:
    account = call.world.get(call.mode, ACCOUNTS, call.params["account"])
    if call.query.get("direction"):
        read_choice(call.query, "direction", ("inbound", "outbound"))
    filters = (exactly("direction"), exactly("resource_id"), between("transaction_date"))
    keeps = [keep for keep in (part.choose(call) for part in filters) if keep]
    rows = call.world.collection(call.mode, MOVEMENTS)
    return cursor_page(call, rows, lambda row: row["account_id"] == account["id"] and all(keep(row) for keep in keeps))


def get_movement(call: Call) -> Answer:
    found = call.get(MOVEMENTS)
    if found["account_id"] != call.params["account"]:
        raise missing_resource("movement", found["id"])
    return Answer(found)


def list_statements(call: Call) -> Answer:
    """Return the months that lie within `since` and `until`."""
    account = call.world.get(call.mode, ACCOUNTS, call.params["account"])
    since, until = read_since(call), read_until(call)
    rows = call.world.collection(call.mode, STATEMENTS)

    def keep(row: Object) -> bool:
        if row["_account"] != account["id"]:
            return False
        is_late = since is not None and row["end_date"] < since.date().isoformat()
        is_early = until is not None and row["start_date"] > until.date().isoformat()
        return not is_late and not is_early

    return cursor_page(call, rows, keep)


OF_ENTITY = exactly("entity_id", field="entity.id")

ACCOUNT_ROUTES = (
    Route("POST", "/v2/accounts", "create account", create_account),
    Route("GET", "/v1/transfers/accounts", "list accounts", offset_list(ACCOUNTS, OF_ENTITY)),
    Route("GET", "/v2/accounts", "list accounts (v2)", cursor_list(ACCOUNTS, OF_ENTITY)),
    Route("GET", "/v2/accounts/{id}", "get account", get_one(ACCOUNTS)),
    Route("PATCH", "/v2/accounts/{id}", "update account", update_account),
    Route("GET", "/v2/accounts/{account}/movements", "list account movements", list_movements,
          query=("direction", "resource_id", *RANGE, *CURSORS)),
    Route("GET", "/v2/accounts/{account}/movements/{id}", "get account movement", get_movement),
    Route("GET", "/v2/accounts/{account}/account_statements", "list account statements", list_statements,
          query=(*RANGE, *CURSORS)),
)  # fmt: skip


def create_verification(call: Call) -> Answer:
    """Send the tiny transfer; an account number of zeros does not exist."""
    world = call.world
    number = require_text(call.body, "account_number")
    country = "mx" if is_clabe(number) else "cl"
    verification = call.draft(
        "accv",
        "account_verification",
        status="pending",
        reason=None,
        transfer_id=world.new_id("tr"),
        counterparty={
            "account_number": number,
            "account_type": ACCOUNT_TYPES[country],
            "holder_id": None,
            "holder_name": None,
            "institution": institution_of(country, number),
        },
        receipt_url=None,
        transaction_date=to_iso(world.now()),
        metadata=read_metadata(call.body),
    )
    world.keep(VERIFICATIONS, verification)
    world.put_off(ANSWERED_AFTER, lambda: _answer(world, verification))
    return Answer(verification, 201)


def _answer(world: World, verification: Object) -> None:
    number = verification["counterparty"]["account_number"]
    if outcome(verification["metadata"]) == "succeeded" and number.strip("0"):
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


LISTED_VERIFICATIONS = cursor_list(
    VERIFICATIONS,
    exactly("account_number", field="counterparty.account_number"),
    exactly("transfer_id"),
    between("transaction_date"),
)
VERIFICATION_ROUTES = (
    Route("POST", "/v2/account_verifications", "create account verification", create_verification, needs_jws=True),
    *read_routes("/v2/account_verifications", "account verification", LISTED_VERIFICATIONS),
)
