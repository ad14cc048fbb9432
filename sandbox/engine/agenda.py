"""What is to come: happenings that were written beforehand, and actions that requests put off."""

import heapq
from collections.abc import Callable, Iterable
from datetime import datetime
from itertools import count

from sandbox.state.happening import Happening

Action = Callable[[], object]


class Agenda:
    """Two queues played as one: happenings that were written beforehand and actions that requests put off."""

    def __init__(self, happenings: Iterable[Happening]) -> None:
        self._happenings = enumerate(happenings)
        self._coming = next(self._happenings, None)  # only the next one is known: there may be millions
        self._actions: list[tuple[datetime, int, Action]] = []
        self._order = count()

    def put_off(self, at: datetime, action: Action) -> None:
        heapq.heappush(self._actions, (at, next(self._order), action))

    def next_at(self) -> datetime | None:
        """Return when the next thing happens."""
        moments = [self._actions[0][0]] if self._actions else []
        if self._coming is not None:
            moments.append(self._coming[1].at)
        return min(moments, default=None)

    def take(self, now: datetime) -> tuple[datetime, tuple[int, Happening] | Action] | None:
        """Return what is due next and its moment: a happening with its position, or an action; happenings first."""
        action_at = self._actions[0][0] if self._actions else None
        if self._coming is not None:
            coming, at = self._coming, self._coming[1].at
            if at <= now and (action_at is None or at <= action_at):
                self._coming = next(self._happenings, None)
                return at, coming
        if action_at is not None and action_at <= now:
            at, _, action = heapq.heappop(self._actions)
            return at, action
        return None
