"""The query parameters of every operation that lists, as its description tells them; a test holds them to the code."""

from typing import Any

OFFSETS, CURSORS, RANGE = ("page", "per_page"), ("limit", "starting_after", "ending_before"), ("since", "until")
TOKEN = "link_token"  # noqa: S105 - the name of a parameter
OF_TRANSFERS = ("account_id", "account_number_id", "direction", "status", "tracking_key", "transfer_batch_id", *RANGE)

# By path without its generation: the filters are the same in both, the pages are not.
FILTERS: dict[str, tuple[str, ...]] = {
    "/webhook_endpoints": (),
    "/events": ("type", "resource_id", *RANGE),
    "/payouts": ("status", *RANGE),
    "/payouts/{id}/resources": ("resource_type",),
    "/payment_intents": ("status", "customer", *RANGE),
    "/refunds": ("status", "resource_id", *RANGE),
    "/charges": ("status", "subscription_id", *RANGE),
    "/subscription_intents": (),
    "/disputes": ("status", "resource_id", *RANGE),
    "/customers": ("tax_id", "tax_id_type"),
    "/checkout_sessions": ("status", *RANGE),
    "/payment_links": ("status", *RANGE),
    "/payment_methods": ("customer",),
    "/products": (),
    "/entities": ("holder_id", "status", "is_root"),
    "/entities/{entity}/onboardings": (),
    "/transfers": OF_TRANSFERS,
    "/transfers/accounts": ("entity_id",),
    "/account_numbers": ("account_id", "no_transfers_since"),
    "/account_verifications": ("account_number", "transfer_id", *RANGE),
    "/accounts/{account}/account_statements": RANGE,
    "/links": (),
    "/refresh_intents": (TOKEN,),
    "/tax_returns": (TOKEN,),
    "/tax_statements": (TOKEN,),
    "/institutions": ("country",),
}
# What differs between the generations, and what is no list.
EXACT: dict[str, tuple[str, ...]] = {
    "/v1/accounts": (TOKEN, *OFFSETS),
    "/v2/accounts": ("entity_id", *CURSORS),
    "/v1/accounts/{account}/movements": (TOKEN, *RANGE, "updated_since", "confirmed_only", *OFFSETS),
    "/v2/accounts/{account}/movements": ("direction", "resource_id", *RANGE, *CURSORS),
    "/v1/invoices": (TOKEN, *RANGE, "updated_since", "issue_type", "invoice_status", *OFFSETS),
    "/v2/invoices": ("subscription", "customer", "status", *RANGE, *CURSORS),
    "/v1/subscriptions": OFFSETS,
    "/v2/subscriptions": ("customer", "status", *CURSORS),
    "/v1/transfers": (*OF_TRANSFERS, *CURSORS),  # the one v1 list with cursors
    "/v1/accounts/{id}": (TOKEN,),
    "/v1/accounts/{account}/movements/{id}": (TOKEN,),
    "/v1/invoices/{id}": (TOKEN,),
    "/v1/refresh_intents/{id}": (TOKEN,),
    "/v1/tax_returns/{id}": (TOKEN,),
    "/v1/tax_statements/{id}": (TOKEN,),
}
REQUIRED = {TOKEN, "resource_type"}
COUNT = {"type": "integer", "minimum": 1, "maximum": 300, "default": 30}
MOMENT = {"type": "string", "description": "A calendar date or an ISO 8601 datetime"}
SCHEMAS: dict[str, dict[str, Any]] = {
    "page": {"type": "integer", "minimum": 1, "default": 1},
    "per_page": COUNT,
    "limit": COUNT,
    "since": MOMENT,
    "until": MOMENT,
    "updated_since": MOMENT,
    "no_transfers_since": {"type": "string", "format": "date"},
    "is_root": {"type": "boolean"},
    "confirmed_only": {"type": "boolean", "default": True},
    "direction": {"type": "string", "enum": ["inbound", "outbound"]},
    "tax_id_type": {"type": "string", "enum": ["cl_rut", "mx_rfc"]},
    "resource_type": {"type": "string", "enum": ["payment_intent", "charge", "refund", "refund_adjustment"]},
    "country": {"type": "string", "enum": ["cl", "mx"]},
}


def query_of(path: str) -> tuple[str, ...]:
    """The names of the query parameters a GET of this path reads."""
    generation, filters = path[:3], FILTERS.get(path[3:])
    if path in EXACT or filters is None:
        return EXACT.get(path, ())
    return (*filters, *(OFFSETS if generation == "/v1" else CURSORS))


def describe_query(path: str) -> list[dict[str, Any]]:
    """The same in the words of OpenAPI."""
    return [
        {"name": name, "in": "query", "required": name in REQUIRED, "schema": SCHEMAS.get(name, {"type": "string"})}
        for name in query_of(path)
    ]
