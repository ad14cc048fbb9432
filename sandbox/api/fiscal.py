"""The fiscal API: the tax authority's invoices, yearly returns (F22) and monthly statements (F29) of a link."""

from collections.abc import Callable
from typing import Any

from sandbox.api.call import Answer, Call, Route
from sandbox.api.links import link_of
from sandbox.api.listing import one_of, read_since, read_until
from sandbox.api.paging import offset_page
from sandbox.state.clock import to_day, to_moment
from sandbox.state.collection import Object
from sandbox.state.refusal import missing_resource
from sandbox.state.versions import OLDEST

INVOICES, RETURNS, STATEMENTS = "tax_invoices", "tax_returns", "tax_statements"
ISSUE_TYPES = ("issued", "received")
INVOICE_STATUSES = ("registered", "pending")


def list_invoices(call: Call) -> Answer:
    """By document date, newest first; the oldest version leaves the last day out."""
    since, until = read_since(call), read_until(call)
    last_day = to_day(call.query["until"]) if until and call.version == OLDEST else None
    updated_since = read_since(call, "updated_since")
    keep_type = one_of("issue_type", ISSUE_TYPES)(call)
    keep_status = one_of("invoice_status", INVOICE_STATUSES)(call)

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

    return offset_page(call, _sorted(call, INVOICES, lambda row: row["date"], keep))


def _sorted(
    call: Call, collection: str, key: Callable[[Object], Any], keep: Callable[[Object], bool] = lambda _: True
) -> list[Object]:
    link = link_of(call)
    rows = call.world.collection(call.mode, collection).newest_first()
    return sorted((row for row in rows if row["_link"] == link["id"] and keep(row)), key=key, reverse=True)


def _get(call: Call, collection: str) -> Answer:
    link, found = link_of(call), call.get(collection)
    if found["_link"] != link["id"]:
        raise missing_resource(found["object"].replace("_", " "), found["id"])
    return Answer(found)


def get_invoice(call: Call) -> Answer:
    return _get(call, INVOICES)


def list_returns(call: Call) -> Answer:
    return offset_page(call, _sorted(call, RETURNS, lambda row: row["fiscal_year"]))


def get_return(call: Call) -> Answer:
    return _get(call, RETURNS)


def list_statements(call: Call) -> Answer:
    """Newest year and period first."""
    return offset_page(call, _sorted(call, STATEMENTS, lambda row: (row["fiscal_year"], row["period"])))


def get_statement(call: Call) -> Answer:
    return _get(call, STATEMENTS)


ROUTES = (
    Route("GET", "/v1/invoices", "list fiscal invoices", list_invoices),
    Route("GET", "/v1/invoices/{id}", "get fiscal invoice", get_invoice),
    Route("GET", "/v1/tax_returns", "list tax returns", list_returns),
    Route("GET", "/v1/tax_returns/{id}", "get tax return", get_return),
    Route("GET", "/v1/tax_statements", "list tax statements", list_statements),
    Route("GET", "/v1/tax_statements/{id}", "get tax statement", get_statement),
)
