"""The event log of one mode: everything that was announced, in order, each from the moment it may be seen."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sandbox.clock import to_iso


@dataclass(frozen=True, slots=True)
class Event:
    """One announced change; `data` is the object after it."""

    id: str
    type: str
    mode: str
    created_at: datetime
    visible_at: datetime
    data: dict[str, Any]

    def envelope(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "object": "event",
            "type": self.type,
            "mode": self.mode,
            "created_at": to_iso(self.created_at),
            "data": self.data,
        }


class EventLog:
    """Events in order of `created_at`; only ever appended to."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._index: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._events)

    def last(self) -> Event | None:
        return self._events[-1] if self._events else None

    def append(self, event: Event) -> None:
        assert not self._events or event.created_at >= self._events[-1].created_at
        self._index[event.id] = len(self._events)
        self._events.append(event)

    def find(self, id_: str, now: datetime) -> Event | None:
        """The event, if it may be seen by now."""
        index = self._index.get(id_)
        if index is None or self._events[index].visible_at > now:
            return None
        return self._events[index]

    def newest_first(self, since: datetime | None, until: datetime | None, *, after: str | None) -> Iterator[Event]:
        """From `until` back to `since`, both included, beginning behind the event `after`. Raises KeyError."""
        first, last = self._bounds(since, until)
        if after is not None:
            last = min(last, self._index[after])
        return (self._events[i] for i in range(last - 1, first - 1, -1))

    def oldest_first(self, since: datetime | None, until: datetime | None, *, before: str) -> Iterator[Event]:
        """From just before the event `before` on towards the newest. Raises KeyError."""
        first, last = self._bounds(since, until)
        first = max(first, self._index[before] + 1)
        return (self._events[i] for i in range(first, last))

    def _bounds(self, since: datetime | None, until: datetime | None) -> tuple[int, int]:
        first = bisect_left(self._events, since, key=_created_at) if since else 0
        last = bisect_right(self._events, until, key=_created_at) if until else len(self._events)
        return first, last


def _created_at(event: Event) -> datetime:
    return event.created_at
