"""Describes every operation in OpenAPI: paths, parameters, and the statuses each may answer with."""

import re
from typing import Any

from sandbox.api.call import Route
from sandbox.api.parameters import describe_query
from sandbox.api.routes import ROUTES
from sandbox.state.event_types import TYPES
from sandbox.state.versions import LATEST

SUCCESSES = {"GET": ("200",), "POST": ("200", "201"), "PATCH": ("200",), "DELETE": ("200", "204")}
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


def describe() -> dict[str, Any]:
    """The whole description, ready to be written as JSON."""
    paths: dict[str, dict[str, Any]] = {}
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


def _operation(route: Route) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": f"{route.method.lower()} {route.path}",
        "summary": route.name,
        "parameters": [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
            for name in NAME.findall(route.path)
        ]
        + (describe_query(route.path) if route.method == "GET" else []),
        "responses": {
            **{status: {"description": "Done"} for status in SUCCESSES[route.method]},
            **{status: _refusal(text) for status, text in REFUSALS.items()},
        },
    }
    if route.method in {"POST", "PATCH"}:
        described["requestBody"] = {"content": {"application/json": {"schema": {"type": "object"}}}}
    return described


def _refusal(text: str) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Error"}
    return {"description": text, "content": {"application/json": {"schema": schema}}}
