"""Business accounts, their movements and monthly statements."""

from sandbox.api.account_numbers import draft_number
from sandbox.api.call import Answer, Call, Route
from sandbox.api.fields import read_choice, read_text, require_text
from sandbox.api.listing import between, cursor_list, exactly, get_one, offset_list, read_since, read_until
from sandbox.api.paging import cursor_page
from sandbox.state.collection import Keep, Object
from sandbox.state.refusal import RefusalError, missing_resource

ACCOUNTS, MOVEMENTS, STATEMENTS = "accounts", "account_movements", "account_statements"
CURRENCIES = {"cl": "CLP", "mx": "MXN"}


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
    wanted = [exactly("direction")(call), exactly("resource_id")(call), between("transaction_date")(call)]
    keeps: list[Keep] = [keep for keep in wanted if keep]
    rows = call.world.collection(call.mode, MOVEMENTS)
    return cursor_page(call, rows, lambda row: row["account_id"] == account["id"] and all(keep(row) for keep in keeps))


def get_movement(call: Call) -> Answer:
    found = call.get(MOVEMENTS)
    if found["account_id"] != call.params["account"]:
        raise missing_resource("movement", found["id"])
    return Answer(found)


def list_statements(call: Call) -> Answer:
    """The months that lie within `since` and `until`."""
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
ROUTES = (
    Route("POST", "/v2/accounts", "create account", create_account),
    Route("GET", "/v1/transfers/accounts", "list accounts", offset_list(ACCOUNTS, OF_ENTITY)),
    Route("GET", "/v2/accounts", "list accounts (v2)", cursor_list(ACCOUNTS, OF_ENTITY)),
    Route("GET", "/v2/accounts/{id}", "get account", get_one(ACCOUNTS)),
    Route("PATCH", "/v2/accounts/{id}", "update account", update_account),
    Route("GET", "/v2/accounts/{account}/movements", "list account movements", list_movements),
    Route("GET", "/v2/accounts/{account}/movements/{id}", "get account movement", get_movement),
    Route("GET", "/v2/accounts/{account}/account_statements", "list account statements", list_statements),
)
