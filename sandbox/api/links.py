"""What a link shows: accounts and movements at other banks, the tax authority's documents; and the banks known."""

from collections.abc import Callable
from datetime import timedelta

from sandbox.api.call import Answer, Call, Operation, Route
from sandbox.api.fields import read_flag, require
from sandbox.api.lists import (
    OF_LINK,
    OFFSETS,
    RANGE,
    between,
    cursor_list,
    exactly,
    get_one,
    offset_list,
    offset_page,
    one_of,
    read_boolean,
    read_since,
    read_until,
)
from sandbox.state.clock import to_day, to_iso, to_moment
from sandbox.state.refusal import RefusalError, invalid, missing_resource
from sandbox.state.store import Keep, Object
from sandbox.state.versions import OLDEST

LINKS, ACCOUNTS, MOVEMENTS, REFRESHES = "links", "link_accounts", "link_movements", "refresh_intents"
Key = Callable[[Object], str | tuple[object, ...]]
REFRESHED_AFTER = timedelta(seconds=20)
INVOICES, RETURNS, STATEMENTS = "tax_invoices", "tax_returns", "tax_statements"
ISSUE_TYPES = ("issued", "received")
INVOICE_STATUSES = ("registered", "pending")
INSTITUTIONS = "institutions"
INSTITUTION_ROUTES = (
    Route("GET", "/v1/institutions", "list institutions", offset_list(INSTITUTIONS, exactly("country"))),
    Route("GET", "/v2/institutions", "list institutions (v2)", cursor_list(INSTITUTIONS, exactly("country"))),
    Route("GET", "/v1/institutions/{id}", "get institution", get_one(INSTITUTIONS)),
    Route("GET", "/v2/institutions/{id}", "get institution (v2)", get_one(INSTITUTIONS)),
)


def link_of(call: Call, token: str | None = None) -> Object:
    """Return the link whose token came with the request. Raise `invalid_link_token`."""
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
    link = _find_link(call)
    return Answer({**_without_secrets(link), "accounts": [_bare(row) for row in _accounts(call, link)]})


def _find_link(call: Call) -> Object:
    try:
        return link_of(call, call.params["link_token"])
    except RefusalError:
        raise missing_resource("link", "with that link_token", param="link_token") from None


def update_link(call: Call) -> Answer:
    """Only `active` can change; a link that is not active is no longer refreshed."""
    link = _find_link(call)
    if set(call.body) - {"active"}:
        raise RefusalError(400, "invalid_params", "Only active can change")
    require(call.body, "active")
    changed = {**link, "active": read_flag(call.body, "active")}
    return Answer(_without_secrets(call.world.keep(LINKS, changed)))


def delete_link(call: Call) -> Answer:
    found = _find_link(call)
    call.world.collection(call.mode, LINKS).forget(found["id"])
    return Answer(_without_secrets(found))


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
    keep_dates, updated_since = between("post_date").choose(call), read_since(call, "updated_since")
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


LINK_ROUTES = (
    Route("GET", "/v1/links", "list links", offset_list(LINKS, view=_without_secrets)),
    Route("GET", "/v1/links/{link_token}", "get link", get_link),
    Route("PATCH", "/v1/links/{link_token}", "update link", update_link),
    Route("DELETE", "/v1/links/{link_token}", "delete link", delete_link),
    Route("GET", "/v1/accounts", "list link accounts", list_accounts, query=(*OF_LINK, *OFFSETS)),
    Route("GET", "/v1/accounts/{id}", "get link account", get_account, query=OF_LINK),
    Route("GET", "/v1/accounts/{account}/movements", "list link movements", list_movements,
          query=(*OF_LINK, *RANGE, "updated_since", "confirmed_only", *OFFSETS)),
    Route("GET", "/v1/accounts/{account}/movements/{id}", "get link movement", get_movement, query=OF_LINK),
    Route("POST", "/v1/refresh_intents", "create refresh intent", create_refresh),
    Route("GET", "/v1/refresh_intents", "list refresh intents", list_refreshes, query=(*OF_LINK, *OFFSETS)),
    Route("GET", "/v1/refresh_intents/{id}", "get refresh intent", get_refresh, query=OF_LINK),
)  # fmt: skip


def list_invoices(call: Call) -> Answer:
    """By document date, newest first; the oldest version leaves the last day out."""
    since, until = read_since(call), read_until(call)
    last_day = to_day(call.query["until"]) if until and call.version == OLDEST else None
    updated_since = read_since(call, "updated_since")
    keep_type = one_of("issue_type", ISSUE_TYPES).choose(call)
    keep_status = one_of("invoice_status", INVOICE_STATUSES).choose(call)

    def keep(row: Object) -> bool:
        at = to_moment(row["date"])
        updated_at = row.get("updated_at")
        return (
            (since is None or at >= since)
            and (until is None or at <= until)
            and (last_day is None or at.date() < last_day)
            and (updated_since is None or updated_at is None or to_moment(updated_at) >= updated_since)
            and (keep_type is None or keep_type(row))
            and (keep_status is None or keep_status(row["institution_invoice"]))
        )

    return offset_page(call, _sort_rows(call, INVOICES, lambda row: row["date"], keep))


def _sort_rows(call: Call, collection: str, key: Key, keep: Keep = lambda _: True) -> list[Object]:
    link = link_of(call)
    rows = call.world.collection(call.mode, collection).newest_first()
    return sorted((row for row in rows if row["_link"] == link["id"] and keep(row)), key=key, reverse=True)


def list_latest(collection: str, *fields: str) -> Operation:
    """Return the operation that lists a link's documents, the largest values of these fields first."""
    return lambda call: offset_page(call, _sort_rows(call, collection, lambda row: tuple(row[name] for name in fields)))


def get_of_link(collection: str) -> Operation:
    """Return the operation that gets one document of the link whose token came with the request."""

    def operation(call: Call) -> Answer:
        link, found = link_of(call), call.get(collection)
        if found["_link"] != link["id"]:
            raise missing_resource(found["object"].replace("_", " "), found["id"])
        return Answer(found)

    return operation


FISCAL_ROUTES = (
    Route("GET", "/v1/invoices", "list fiscal invoices", list_invoices,
          query=(*OF_LINK, *RANGE, "updated_since", "issue_type", "invoice_status", *OFFSETS)),
    Route("GET", "/v1/invoices/{id}", "get fiscal invoice", get_of_link(INVOICES), query=OF_LINK),
    Route("GET", "/v1/tax_returns", "list tax returns", list_latest(RETURNS, "fiscal_year"),
          query=(*OF_LINK, *OFFSETS)),
    Route("GET", "/v1/tax_returns/{id}", "get tax return", get_of_link(RETURNS), query=OF_LINK),
    Route("GET", "/v1/tax_statements", "list tax statements", list_latest(STATEMENTS, "fiscal_year", "period"),
          query=(*OF_LINK, *OFFSETS)),
    Route("GET", "/v1/tax_statements/{id}", "get tax statement", get_of_link(STATEMENTS), query=OF_LINK),
)  # fmt: skip
