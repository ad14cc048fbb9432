"""Webhook endpoints: where events are sent, which ones, and the secret they are signed with."""

import ipaddress
from typing import Any
from urllib.parse import urlsplit

import httpx

from sandbox.api.call import Answer, Call, Route
from sandbox.api.fields import require
from sandbox.api.listing import get_one, offset_list
from sandbox.engine.world import ENDPOINTS
from sandbox.state.clock import to_iso
from sandbox.state.event_types import TYPES
from sandbox.state.refusal import RefusalError, invalid, invalid_enum

STATUSES = ("enabled", "disabled")


def create_endpoint(call: Call) -> Answer:
    """Open an endpoint; the answer is the only one that ever shows its secret."""
    world = call.world
    endpoint: dict[str, Any] = {
        "id": world.new_id("we"),
        "object": "webhook_endpoint",
        "created_at": to_iso(world.now()),
        "description": None,
        "enabled_events": _check_types(require(call.body, "enabled_events")),
        "mode": call.mode,
        "name": None,
        "secret": None,
        "status": "enabled",
        "url": _check_url(require(call.body, "url")),
    }
    world.keep(ENDPOINTS, {**endpoint, **_changes(call.body)})
    world.secrets[endpoint["id"]] = world.new_secret(f"whsec_{call.mode}")
    return Answer({**world.get(call.mode, ENDPOINTS, endpoint["id"]), "secret": world.secrets[endpoint["id"]]}, 201)


def update_endpoint(call: Call) -> Answer:
    found = call.world.get(call.mode, ENDPOINTS, call.params["id"])
    return Answer(call.world.keep(ENDPOINTS, {**found, **_changes(call.body)}))


def delete_endpoint(call: Call) -> Answer:
    id_ = call.world.get(call.mode, ENDPOINTS, call.params["id"])["id"]
    call.world.collection(call.mode, ENDPOINTS).forget(id_)
    del call.world.secrets[id_]
    return Answer(None, 204)


def test_endpoint(call: Call) -> Answer:
    """Send one made-up event of a type; its object exists nowhere else."""
    endpoint = call.world.get(call.mode, ENDPOINTS, call.params["id"])
    type_ = require(call.body, "type")
    if type_ not in TYPES:
        raise invalid_enum("type", type_, TYPES)
    call.world.try_out(type_, mode=call.mode, endpoint_id=endpoint["id"])
    return Answer({"object": "webhook_test", "type": type_, "webhook_endpoint": endpoint["id"]})


def _changes(body: dict[str, Any]) -> dict[str, Any]:
    changes: dict[str, Any] = {key: _check_text(key, body[key]) for key in ("description", "name") if key in body}
    if "url" in body:
        changes["url"] = _check_url(body["url"])
    if "enabled_events" in body:
        changes["enabled_events"] = _check_types(body["enabled_events"])
    if "disabled" in body:
        if not isinstance(body["disabled"], bool):
            raise invalid("boolean", "disabled", "true or false")
        changes["status"] = "disabled" if body["disabled"] else "enabled"
    elif "status" in body:
        changes["status"] = _check_status(body["status"])
    return changes


def _check_text(name: str, value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise invalid("string", name, "text or null")


def _check_status(status: object) -> str:
    if status in STATUSES:
        return str(status)
    raise invalid_enum("status", status, STATUSES)


def _check_types(types: object) -> list[str]:
    if not isinstance(types, list) or not types:
        raise invalid("array", "enabled_events", "a list of event types, at least one")
    for type_ in types:
        if type_ not in TYPES:
            raise invalid_enum("enabled_events", type_, TYPES)
    return list(dict.fromkeys(types))


def _check_url(url: object) -> str:
    """An https address, or plain http on this machine. Raises `invalid_url`."""
    if isinstance(url, str):
        parts = urlsplit(url) if _is_sendable(url) else None
        host = parts.hostname if parts else None
        if parts and host and (parts.scheme == "https" or (parts.scheme == "http" and _is_loopback(host))):
            return url
    raise RefusalError(400, "invalid_url", "The url must be a valid HTTPS URL", param="url")


def _is_sendable(url: str) -> bool:
    if any(letter.isspace() or not letter.isprintable() for letter in url):
        return False
    try:
        parsed = httpx.URL(url)
        return parsed.port is None or urlsplit(url).port is not None
    except (httpx.InvalidURL, ValueError):
        return False


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


ROUTES = (
    Route("POST", "/v1/webhook_endpoints", "create webhook endpoint", create_endpoint),
    Route("GET", "/v1/webhook_endpoints", "list webhook endpoints", offset_list(ENDPOINTS)),
    Route("GET", "/v1/webhook_endpoints/{id}", "get webhook endpoint", get_one(ENDPOINTS)),
    Route("PATCH", "/v1/webhook_endpoints/{id}", "update webhook endpoint", update_endpoint),
    Route("DELETE", "/v1/webhook_endpoints/{id}", "delete webhook endpoint", delete_endpoint),
    Route("POST", "/v1/webhook_endpoints/{id}/test", "test webhook endpoint", test_endpoint),
)
