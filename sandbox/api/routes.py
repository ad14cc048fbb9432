"""Every operation the sandbox answers, and their description in OpenAPI: paths, parameters and statuses."""

import re

from sandbox.api import (
    accounts,
    charges,
    checkout,
    customers,
    entities,
    events,
    invoices,
    links,
    payment_intents,
    payouts,
    subscriptions,
    transfers,
)
from sandbox.api.call import Route
from sandbox.api.lists import OF_LINK, List
from sandbox.state.events import TYPES
from sandbox.state.store import Object
from sandbox.state.versions import LATEST

ROUTES: tuple[Route, ...] = (
    *events.ENDPOINT_ROUTES,
    *events.EVENT_ROUTES,
    *payouts.PAYOUT_ROUTES,
    *payment_intents.ROUTES,
    *payouts.REFUND_ROUTES,
    *charges.ROUTES,
    *payouts.DISPUTE_ROUTES,
    *customers.CUSTOMER_ROUTES,
    *checkout.SESSION_ROUTES,
    *checkout.LINK_ROUTES,
    *customers.METHOD_ROUTES,
    *subscriptions.PRODUCT_ROUTES,
    *subscriptions.ROUTES,
    *invoices.ROUTES,
    *entities.ENTITY_ROUTES,
    *entities.ONBOARDING_ROUTES,
    *accounts.ACCOUNT_ROUTES,
    *accounts.NUMBER_ROUTES,
    *transfers.ROUTES,
    *transfers.BATCH_ROUTES,
    *accounts.VERIFICATION_ROUTES,
    *links.LINK_ROUTES,
    *links.FISCAL_ROUTES,
    *links.INSTITUTION_ROUTES,
)
SUCCESSES = {"GET": ("200",), "POST": ("200", "201"), "PUT": ("200",), "PATCH": ("200",), "DELETE": ("200",)}
REFUSALS = {
    "400": "The request cannot be read",
    "401": "The key or the signature is not accepted",
    "403": "Not in this mode or version",
    "404": "Not there, or not in this mode",
    "409": "Not at this moment of the object's life",
    "422": "Understood, but not possible",
    "429": "Too many requests",
}
NAME = re.compile(r"{(\w+)}")
ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["type", "code", "message"],
            "properties": {name: {"type": "string"} for name in ("type", "code", "param", "message", "doc_url")},
        }
    },
}
REQUIRED = {*OF_LINK, "resource_type"}
COUNT: Object = {"type": "integer", "minimum": 1, "maximum": 300, "default": 30}
MOMENT: Object = {"type": "string", "description": "A calendar date or an ISO 8601 datetime"}
SCHEMAS: dict[str, Object] = {
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


def describe() -> Object:
    """Return the whole description, ready to be written as JSON."""
    paths: dict[str, Object] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Sandbox of a payments and business accounts API", "version": LATEST},
        "paths": paths,
        "webhooks": {type_: {"post": {"responses": {"200": {"description": "Taken"}}}} for type_ in TYPES},
        "components": {
            "schemas": {"Error": ERROR},
            "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "Authorization"}},
        },
        "security": [{"key": []}],
    }


def query_of(route: Route) -> tuple[str, ...]:
    """Return the names of the query parameters that a route reads."""
    return route.operation.query if isinstance(route.operation, List) else route.query


def _operation(route: Route) -> Object:
    described: Object = {
        "operationId": f"{route.method.lower()} {route.path}",
        "summary": route.name,
        "parameters": [
            *({"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
              for name in NAME.findall(route.path)),
            *({"name": name, "in": "query", "required": name in REQUIRED,
               "schema": SCHEMAS.get(name, {"type": "string"})} for name in query_of(route)),
        ],
        "responses": {
            **{status: {"description": "Done"} for status in SUCCESSES[route.method]},
            **{status: _refusal(text) for status, text in REFUSALS.items()},
        },
    }  # fmt: skip
    if route.method in {"POST", "PATCH"}:
        described["requestBody"] = {"content": {"application/json": {"schema": {"type": "object"}}}}
    return described


def _refusal(text: str) -> Object:
    schema = {"$ref": "#/components/schemas/Error"}
    return {"description": text, "content": {"application/json": {"schema": schema}}}
