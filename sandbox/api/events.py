"""The event log over HTTP, and the webhook endpoints that events are sent to."""

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit

import httpx

from sandbox.api.call import Answer, Call, Route
from sandbox.api.fields import read_choice, read_mapping, require
from sandbox.api.lists import (
    CURSORS,
    RANGE,
    cursor_page,
    offset_list,
    read_routes,
    read_since,
    read_until,
    read_values,
)
from sandbox.engine.world import ENDPOINTS
from sandbox.state.clock import to_iso
from sandbox.state.events import TYPES, About, Event, EventLog, family_of
from sandbox.state.refusal import RefusalError, invalid, invalid_enum, missing_resource
from sandbox.state.store import Object

ENDPOINT_STATUSES = ("enabled", "disabled")


@dataclass(frozen=True, slots=True)
class Window:
    """The events of one stretch of time that may be seen by now."""

    log: EventLog
    since: datetime | None
    until: datetime | None
    about: About
    now: datetime

    def newest_first(self) -> Iterator[Object]:
        return self.older_than(None)

    def older_than(self, id_: str | None) -> Iterator[Object]:
        return self._hide_later(self.log.newest_first(self.since, self.until, after=id_, about=self.about))

    def newer_than(self, id_: str) -> Iterator[Object]:
        return self._hide_later(self.log.oldest_first(self.since, self.until, before=id_, about=self.about))

    def _hide_later(self, events: Iterator[Event]) -> Iterator[Object]:
        return (event.envelope() for event in events if event.visible_at <= self.now)


def list_events(call: Call) -> Answer:
    world = call.world
    about = About(read_values(call, "type"), call.query.get("resource_id"))
    window = Window(world.logs[call.mode], read_since(call), read_until(call), about, world.now())
    return cursor_page(call, window, lambda _: True)


def get_event(call: Call) -> Answer:
    event = call.world.logs[call.mode].find(call.params["id"], call.world.now())
    if event is None:
        raise missing_resource("event", call.params["id"])
    return Answer(event.envelope())


def trigger_event(call: Call) -> Answer:
    """Announce a made-up change to every endpoint that wants its type; test mode only."""
    if call.mode != "test":
        raise RefusalError(403, "invalid_mode", "Events can be triggered in test mode only")
    type_ = read_choice(call.body, "type", TYPES)
    kind = family_of(type_)
    overrides = read_mapping(call.body, "overrides")
    data = {"id": f"{kind.prefix}_00000000", "object": kind.object, **overrides, "mode": call.mode}
    return Answer(call.world.announce(type_, data, mode=call.mode).envelope(), 201)


EVENT_ROUTES = (
    Route("GET", "/v2/events", "list events", list_events, query=("type", "resource_id", *RANGE, *CURSORS)),
    Route("GET", "/v2/events/{id}", "get event", get_event),
    Route("POST", "/v1/events/trigger", "trigger event", trigger_event),
)


def create_endpoint(call: Call) -> Answer:
    """Open an endpoint; the answer is the only one that ever shows its secret."""
    world = call.world
    endpoint: Object = {
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
    """Forget an endpoint and answer what it was: the oldest library reads JSON of every answer."""
    found = call.world.get(call.mode, ENDPOINTS, call.params["id"])
    call.world.collection(call.mode, ENDPOINTS).forget(found["id"])
    del call.world.secrets[found["id"]]
    return Answer(found)


def test_endpoint(call: Call) -> Answer:
    """Send one made-up event of a type; its object exists nowhere else."""
    endpoint = call.world.get(call.mode, ENDPOINTS, call.params["id"])
    type_ = read_choice(call.body, "type", TYPES)
    call.world.try_out(type_, mode=call.mode, endpoint_id=endpoint["id"])
    return Answer({"object": "webhook_test", "type": type_, "webhook_endpoint": endpoint["id"]})


def _changes(body: Object) -> Object:
    changes: Object = {key: _check_text(key, body[key]) for key in ("description", "name") if key in body}
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
    if status in ENDPOINT_STATUSES:
        return str(status)
    raise invalid_enum("status", status, ENDPOINT_STATUSES)


def _check_types(types: object) -> list[str]:
    if not isinstance(types, list) or not types:
        raise invalid("array", "enabled_events", "a list of event types, at least one")
    for type_ in types:
        if type_ not in TYPES:
            raise invalid_enum("enabled_events", type_, TYPES)
    return list(dict.fromkeys(types))


def _check_url(url: object) -> str:
    """Return an https address, or plain http on this machine. Raise `invalid_url`."""
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


ENDPOINT_ROUTES = (
    Route("POST", "/v1/webhook_endpoints", "create webhook endpoint", create_endpoint),
    *read_routes("/v1/webhook_endpoints", "webhook endpoint", offset_list(ENDPOINTS)),
    Route("PATCH", "/v1/webhook_endpoints/{id}", "update webhook endpoint", update_endpoint),
    Route("DELETE", "/v1/webhook_endpoints/{id}", "delete webhook endpoint", delete_endpoint),
    Route("POST", "/v1/webhook_endpoints/{id}/test", "test webhook endpoint", test_endpoint),
)
