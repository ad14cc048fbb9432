"""The Movements API: links to accounts at other banks, what was read there, and refreshes on demand."""

from datetime import timedelta

from sandbox.api.call import Answer, Call, Route
from sandbox.api.fields import read_flag, require
from sandbox.api.listing import between, offset_list, read_boolean, read_since
from sandbox.api.paging import offset_page
from sandbox.state.clock import to_iso
from sandbox.state.collection import Object
from sandbox.state.refusal import RefusalError, invalid, missing_resource

LINKS, ACCOUNTS, MOVEMENTS, REFRESHES = "links", "link_accounts", "link_movements", "refresh_intents"
REFRESHED_AFTER = timedelta(seconds=20)


def link_of(call: Call, token: str | None = None) -> Object:
    """The link whose token came with the request. Raises `invalid_link_token`."""
    token = token or call.query.get("link_token") or call.body.get("link_token")
    if not token:
        raise RefusalError(400, "missing_parameter", "Missing required parameter: link_token", param="link_token")
    for link in call.world.collection(call.mode, LINKS).newest_first():
        if link["link_token"] == token:
            return link
    raise RefusalError(400, "invalid_link_token", "The link_token is not known in this mode", param="link_token")


def _without_secrets(link: Object) -> Object:
    return {**link, "link_token": None, "accounts": None}


def get_link(call: Call) -> Answer:
    link = _named(call)
    return Answer({**_without_secrets(link), "accounts": [_bare(row) for row in _accounts(call, link)]})


def _named(call: Call) -> Object:
    try:
        return link_of(call, call.params["link_token"])
    except RefusalError:
        raise missing_resource("link", "with that link_token", param="link_token") from None


def update_link(call: Call) -> Answer:
    """Only `active` can change; a link that is not active is no longer refreshed."""
    link = _named(call)
    if set(call.body) - {"active"}:
        raise RefusalError(400, "invalid_params", "Only active can change")
    require(call.body, "active")
    changed = {**link, "active": read_flag(call.body, "active")}
    return Answer(_without_secrets(call.world.keep(LINKS, changed)))


def delete_link(call: Call) -> Answer:
    call.world.collection(call.mode, LINKS).forget(_named(call)["id"])
    return Answer(None, 204)


def _accounts(call: Call, link: Object) -> list[Object]:
    rows = call.world.collection(call.mode, ACCOUNTS).newest_first()
    return [row for row in rows if row["_link"] == link["id"]]


def _bare(row: Object) -> Object:
    return {name: value for name, value in row.items() if not name.startswith("_")}


def list_accounts(call: Call) -> Answer:
    return offset_page(call, _accounts(call, link_of(call)))


def get_account(call: Call) -> Answer:
    return Answer(_find_account(call, "id"))


def _find_account(call: Call, param: str) -> Object:
    for row in _accounts(call, link_of(call)):
        if row["id"] == call.params[param]:
            return row
    raise missing_resource("account", call.params[param])


def list_movements(call: Call) -> Answer:
    """Confirmed ones, unless `confirmed_only` is false; dates are of posting."""
    account = _find_account(call, "account")
    keep_dates, updated_since = between("post_date")(call), read_since(call, "updated_since")
    all_states = read_boolean(call, "confirmed_only") is False
    rows = [
        row
        for row in call.world.collection(call.mode, MOVEMENTS).newest_first()
        if row["_account"] == account["id"]
        and (all_states or row["status"] == "confirmed")
        and (keep_dates is None or keep_dates(row))
        and (updated_since is None or str(row.get("updated_at", row["post_date"])) >= to_iso(updated_since))
    ]
    return offset_page(call, sorted(rows, key=lambda row: str(row["post_date"]), reverse=True))


def get_movement(call: Call) -> Answer:
    account = _find_account(call, "account")
    found = call.get(MOVEMENTS)
    if found["_account"] != account["id"]:
        raise missing_resource("movement", found["id"])
    return Answer(found)


def create_refresh(call: Call) -> Answer:
    """Ask for a refresh; its result comes as an event."""
    link, world = link_of(call), call.world
    if not link["active"]:
        raise RefusalError(422, "on_demand_policy_required", "The link is not active", param="link_token")
    kind = call.body.get("refresh_type", "only_last")
    if kind not in ("only_last", "historical"):
        raise invalid("refresh_type", "refresh_type", "only_last or historical")
    if any(row["_link"] == link["id"] and row["status"] == "created" for row in _refreshes(call)):
        raise RefusalError(422, "refresh_intent_in_progress", "A refresh is on its way", param="link_token")
    refresh = call.draft(
        "ri",
        "refresh_intent",
        refreshed_object="link",
        refreshed_object_id=link["id"],
        status="created",
        public_error=None,
        type=kind,
        new_movements=0,
        requires_mfa=None,
        _link=link["id"],
    )
    world.keep(REFRESHES, refresh)
    done = {**refresh, "status": "succeeded"}
    world.put_off(REFRESHED_AFTER, lambda: world.keep(REFRESHES, done, event="link.refresh_intent.succeeded"))
    return Answer(refresh, 201)


def _refreshes(call: Call) -> list[Object]:
    return list(call.world.collection(call.mode, REFRESHES).newest_first())


def list_refreshes(call: Call) -> Answer:
    link = link_of(call)
    return offset_page(call, [row for row in _refreshes(call) if row["_link"] == link["id"]])


def get_refresh(call: Call) -> Answer:
    found, link = call.get(REFRESHES), link_of(call)
    if found["_link"] != link["id"]:
        raise missing_resource("refresh intent", found["id"])
    return Answer(found)


ROUTES = (
    Route("GET", "/v1/links", "list links", offset_list(LINKS, view=_without_secrets)),
    Route("GET", "/v1/links/{link_token}", "get link", get_link),
    Route("PATCH", "/v1/links/{link_token}", "update link", update_link),
    Route("DELETE", "/v1/links/{link_token}", "delete link", delete_link),
    Route("GET", "/v1/accounts", "list link accounts", list_accounts),
    Route("GET", "/v1/accounts/{id}", "get link account", get_account),
    Route("GET", "/v1/accounts/{account}/movements", "list link movements", list_movements),
    Route("GET", "/v1/accounts/{account}/movements/{id}", "get link movement", get_movement),
    Route("POST", "/v1/refresh_intents", "create refresh intent", create_refresh),
    Route("GET", "/v1/refresh_intents", "list refresh intents", list_refreshes),
    Route("GET", "/v1/refresh_intents/{id}", "get refresh intent", get_refresh),
)
