"""The current objects of one kind in one mode, kept newest first."""

from bisect import bisect_left, insort
from collections.abc import Callable, Hashable, Iterator
from datetime import datetime
from typing import Any

from sandbox.clock import to_moment

Object = dict[str, Any]
REMEMBERED = 8  # questions
Place = tuple[datetime, int, str]  # created_at, order of arrival, id


class Collection:
    """Objects by id and by age. Objects are replaced whole, never changed in place."""

    def __init__(self) -> None:
        self._objects: dict[str, Object] = {}
        self._places: dict[str, Place] = {}
        self._order: list[Place] = []
        self._chosen: dict[Hashable, list[Object]] = {}  # by question, until something changes

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
        self._chosen.clear()

    def forget(self, id_: str) -> None:
        """Remove the object from lists and gets."""
        del self._objects[id_]
        del self._order[bisect_left(self._order, self._places[id_])]
        self._chosen.clear()

    def chosen(self, question: Hashable, keep: Callable[[Object], bool]) -> list[Object]:
        """The objects that answer the question, newest first; whoever asks page after page is answered at once."""
        if question not in self._chosen:
            if len(self._chosen) >= REMEMBERED:
                self._chosen.clear()
            self._chosen[question] = [found for found in self.newest_first() if keep(found)]
        return self._chosen[question]

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
