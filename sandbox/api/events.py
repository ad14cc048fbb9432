"""The event log over HTTP: newest first, by cursor, filtered by type, resource and time."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from sandbox.api.call import Answer, Call, Route
from sandbox.api.fields import read_mapping, require
from sandbox.api.listing import read_since, read_until, read_values
from sandbox.api.paging import cursor_page
from sandbox.state.collection import Object
from sandbox.state.event_types import OBJECTS, TYPES
from sandbox.state.eventlog import About, Event, EventLog
from sandbox.state.refusal import RefusalError, invalid_enum, missing_resource


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
        return self._seen(self.log.newest_first(self.since, self.until, after=id_, about=self.about))

    def newer_than(self, id_: str) -> Iterator[Object]:
        return self._seen(self.log.oldest_first(self.since, self.until, before=id_, about=self.about))

    def _seen(self, events: Iterator[Event]) -> Iterator[Object]:
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
    type_ = require(call.body, "type")
    if type_ not in TYPES:
        raise invalid_enum("type", type_, TYPES)
    kind = OBJECTS[type_.rpartition(".")[0]]
    overrides = read_mapping(call.body, "overrides")
    data = {"id": f"{kind.prefix}_00000000", "object": kind.object, **overrides, "mode": call.mode}
    return Answer(call.world.announce(type_, data, mode=call.mode).envelope(), 201)


ROUTES = (
    Route("GET", "/v2/events", "list events", list_events),
    Route("GET", "/v2/events/{id}", "get event", get_event),
    Route("POST", "/v1/events/trigger", "trigger event", trigger_event),
)
