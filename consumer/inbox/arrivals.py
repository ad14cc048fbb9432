"""One event as it arrives from either source: its identity is read strictly, the rest is kept whatever it is."""

import hashlib
import re
from datetime import datetime
from typing import Any, TypeGuard

import msgspec

from consumer.facts.clock import to_instant
from consumer.facts.meaning import NotJsonError, meaning_sha256, read_object
from consumer.facts.settings import Connection
from consumer.facts.tables.inbox import EventState, Source
from consumer.inbox.handlers import HANDLERS, NEEDS_NO_OBJECT

_LONGEST = 255
# What a trial delivery of the provider speaks of: an object that exists nowhere.
_MADE_UP = re.compile(r"[a-z]+_0{8,}")


class UnusableEventError(Exception):
    """Authentic bytes that carry no event id, and so cannot be kept once: an HTTP 422."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Arrival(msgspec.Struct, frozen=True, gc=False):
    """One delivery of one event."""

    connection: str
    id: str
    type: str
    mode: str
    created_at: datetime | None
    received_at: datetime
    source: Source
    state: EventState
    error: str | None
    resource_id: str | None
    body: bytes
    raw_sha256: str
    meaning_sha256: str

    @property
    def key(self) -> tuple[str, str]:
        return (self.connection, self.id)


def read_arrival(body: bytes, *, connection: Connection, source: Source | str, received_at: datetime) -> Arrival:
    """Read one event's raw bytes; raises UnusableEventError where there is no object with a usable id."""
    try:
        value = read_object(body)
    except NotJsonError as problem:
        raise UnusableEventError("not_json", str(problem)) from None
    event_id = value.get("id")
    if not is_identifier(event_id):
        raise UnusableEventError("no_id", "the event's id must be text of 1 to 255 printable characters")
    state, error = judge(value, connection)
    data = value.get("data")
    resource = data.get("id") if isinstance(data, dict) else None
    return Arrival(
        connection=connection.name,
        id=event_id,
        type=_text(value.get("type")),
        mode=_text(value.get("mode")),
        created_at=_created_at(value),
        received_at=received_at,
        source=Source(source),
        state=state,
        error=error,
        resource_id=resource if is_identifier(resource) else None,
        body=body,
        raw_sha256=hashlib.sha256(body).hexdigest(),
        meaning_sha256=meaning_sha256(value),
    )


def judge(value: dict[str, Any], connection: Connection) -> tuple[EventState, str | None]:
    """Decide what becomes of an authentic event: made up, of another mode or unknown type, or to be applied."""
    mode, kind, data = value.get("mode"), value.get("type"), value.get("data")
    if mode is not None and mode != connection.mode:
        shown = repr(mode)[:20]
        return EventState.QUARANTINED, f"mode is {shown} but connection {connection.name} is {connection.mode}"
    if not isinstance(kind, str) or kind not in HANDLERS:
        return EventState.IGNORED, None
    if mode is None:
        return EventState.QUARANTINED, "the event has no mode"
    if not isinstance(data, dict):
        return EventState.QUARANTINED, "data is not an object"
    if kind not in NEEDS_NO_OBJECT and not is_identifier(data.get("id")):
        return EventState.QUARANTINED, "data.id must be text of 1 to 255 printable characters"
    if _created_at(value) is None:
        return EventState.QUARANTINED, "created_at is not an ISO 8601 time with a zone"
    if connection.mode == "test" and _MADE_UP.fullmatch(str(data.get("id"))):
        return EventState.IGNORED, None
    return EventState.WAITING, None


def is_identifier(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and 0 < len(value) <= _LONGEST and value.isprintable()


def _text(value: object) -> str:
    """Text fit for a column; what is not text or not printable is readable in the body alone."""
    return value if is_identifier(value) else ""


def _created_at(value: dict[str, Any]) -> datetime | None:
    text = value.get("created_at")
    if not isinstance(text, str):
        return None
    try:
        return to_instant(text)
    except (ValueError, OverflowError):
        return None
