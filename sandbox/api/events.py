"""The event log over HTTP: newest first, by cursor, filtered by type, resource and time."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from sandbox.call import Answer, Call, Route
from sandbox.collection import Object
from sandbox.eventlog import EventLog
from sandbox.listing import exactly, read_since, read_until, read_values
from sandbox.paging import cursor_page
from sandbox.refusal import missing_resource


@dataclass(frozen=True, slots=True)
class Window:
    """The events of one stretch of time that may be seen by now."""

    log: EventLog
    since: datetime | None
    until: datetime | None
    now: datetime

    def newest_first(self) -> Iterator[Object]:
        return self.older_than(None)

    def older_than(self, id_: str | None) -> Iterator[Object]:
        events = self.log.newest_first(self.since, self.until, after=id_)
        return (event.envelope() for event in events if event.visible_at <= self.now)

    def newer_than(self, id_: str) -> Iterator[Object]:
        events = self.log.oldest_first(self.since, self.until, before=id_)
        return (event.envelope() for event in events if event.visible_at <= self.now)


def list_events(call: Call) -> Answer:
    world = call.world
    window = Window(world.logs[call.mode], read_since(call), read_until(call), world.now())
    types, of_resource = read_values(call, "type"), exactly("resource_id", field="data.id")(call)

    def keep(event: Object) -> bool:
        return (not types or event["type"] in types) and (of_resource is None or of_resource(event))

    return cursor_page(call, window, keep)


def get_event(call: Call) -> Answer:
    event = call.world.logs[call.mode].find(call.params["id"], call.world.now())
    if event is None:
        raise missing_resource("event", call.params["id"])
    return Answer(event.envelope())


ROUTES = (
    Route("GET", "/v2/events", "list events", list_events),
    Route("GET", "/v2/events/{id}", "get event", get_event),
)
