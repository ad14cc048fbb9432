"""The current objects of one kind in one mode, kept newest first."""

from bisect import bisect_left, insort
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from sandbox.clock import to_moment

Object = dict[str, Any]
Place = tuple[datetime, int, str]  # created_at, order of arrival, id


class Collection:
    """Objects by id and by age. Objects are replaced whole, never changed in place."""

    def __init__(self) -> None:
        self._objects: dict[str, Object] = {}
        self._places: dict[str, Place] = {}
        self._order: list[Place] = []

    def __len__(self) -> int:
        return len(self._objects)

    def __contains__(self, id_: str) -> bool:
        return id_ in self._objects

    def find(self, id_: str) -> Object | None:
        return self._objects.get(id_)

    def keep(self, found: Object, at: datetime) -> None:
        """Make this the current version of the object; its place in lists comes with its first version."""
        id_ = found["id"]
        if id_ not in self._objects:
            created = found.get("created_at")
            place = (to_moment(created) if created else at, len(self._places), id_)
            self._places[id_] = place
            insort(self._order, place)
        self._objects[id_] = found

    def forget(self, id_: str) -> None:
        """Remove the object from lists and gets."""
        del self._objects[id_]
        del self._order[bisect_left(self._order, self._places[id_])]

    def newest_first(self) -> Iterator[Object]:
        return (self._objects[place[2]] for place in reversed(self._order))

    def older_than(self, id_: str) -> Iterator[Object]:
        """Newest first, beginning behind that object. Raises KeyError for an unknown id."""
        index = bisect_left(self._order, self._places[id_])
        return (self._objects[self._order[i][2]] for i in range(index - 1, -1, -1))

    def newer_than(self, id_: str) -> Iterator[Object]:
        """Oldest first, beginning before that object. Raises KeyError for an unknown id."""
        index = bisect_left(self._order, self._places[id_])
        start = index + 1 if id_ in self._objects else index
        return (self._objects[self._order[i][2]] for i in range(start, len(self._order)))
