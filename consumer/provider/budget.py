"""The request budget that all processes on one database share.

The budget is a fixed number of places. A request holds a place until its answer begins, and the place then rests for a
second before another request may take it. So however long a request was on its way, any second at the provider's door
holds at most as many requests as there are places: no promise about scheduling or network is needed.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import ceil, floor

import sqlalchemy as sa

from consumer.facts.clock import utc_now
from consumer.facts.store import Store, insert_once
from consumer.facts.tables.columns import core_of
from consumer.facts.tables.sync import RateSlot

MOST_PLACES = 50
# A place bears several requests where the budget is wide; whoever took it may start them within this time.
HOLD_SECONDS = 0.1
# Longer than the client's time-outs until an answer begins; a killed process gives its place back after it.
LEASE_SECONDS = 60.0
_POLL_SECONDS = 0.02
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class _Place:
    number: int
    lease_ends_at: datetime
    taken: float
    left: int
    under_way: int = 0
    ended: float = 0.0


class Budget:
    """Never more than `rate` requests in any one second, over every process and thread that shares the store."""

    def __init__(self, store: Store, rate: float, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self._store = store
        self._sleep = sleep
        self._rest = 1.0 if rate >= 1 else 1.0 / rate
        self._per_place = max(1, ceil(rate / MOST_PLACES))
        self._places = max(1, floor(rate) // self._per_place)
        self._table = core_of(RateSlot)
        self._line = threading.Lock()
        self._state = threading.Lock()
        self._waiting = 0
        self._current: _Place | None = None
        self._ended: list[_Place] = []
        self._laid_out = False

    @contextmanager
    def spend(self) -> Iterator[None]:
        """Wait for one request's turn; the block must end when its answer has begun."""
        place = self._enter()
        try:
            yield
        finally:
            self._leave(place)

    def close(self) -> None:
        """Give back what this process still holds."""
        with self._line:
            if self._current is not None:
                self._retire(self._current)
                self._current = None
            self._give_back()

    def _enter(self) -> _Place:
        with self._state:
            self._waiting += 1
        with self._line:
            place = self._current
            if place is None or place.left == 0 or time.monotonic() - place.taken > HOLD_SECONDS:
                if place is not None:
                    self._retire(place)
                place = self._current = self._take()
            with self._state:
                self._waiting -= 1
                place.left -= 1
                place.under_way += 1
            return place

    def _leave(self, place: _Place) -> None:
        with self._state:
            place.under_way -= 1
            place.ended = time.monotonic()
            if place.left == 0 and place.under_way == 0:
                self._ended.append(place)
            alone = self._waiting == 0 and bool(self._ended)
        if alone:  # otherwise the next in line gives it back in its own transaction
            self._give_back()

    def _retire(self, place: _Place) -> None:
        with self._state:
            unused, place.left = place.left, 0
            if unused and place.under_way == 0:
                place.ended = place.ended or place.taken
                self._ended.append(place)

    def _take(self) -> _Place:
        self._lay_out()
        while True:
            with self._store.connection() as connection:
                self._write_back(connection)
                taken = self._take_free(connection)
            if isinstance(taken, _Place):
                return taken
            self._sleep(taken if taken <= self._rest else _POLL_SECONDS)

    def _take_free(self, connection: sa.Connection) -> _Place | float:
        """Take the place that has rested longest, or say how long until one has rested."""
        slot = self._table.c
        first = (
            sa.select(slot.number, slot.free_at)
            .where(slot.number < self._places)
            .order_by(slot.free_at)
            .limit(1)
            .with_for_update(skip_locked=True)
        )
        started = time.monotonic()
        found = connection.execute(first).one_or_none()
        now = self._now(connection)
        if found is None:
            return self._rest + _POLL_SECONDS
        wait: float = (found.free_at - now).total_seconds()
        # A place that is taken for longer than any lease was written by a clock that has been set back since.
        if 0 < wait <= LEASE_SECONDS + self._rest:
            return wait
        ends_at = now + timedelta(seconds=LEASE_SECONDS)
        connection.execute(self._table.update().where(slot.number == found.number).values(free_at=ends_at))
        return _Place(number=found.number, lease_ends_at=ends_at, taken=started, left=self._per_place)

    def _give_back(self) -> None:
        with self._store.connection() as connection:
            self._write_back(connection)

    def _write_back(self, connection: sa.Connection) -> None:
        with self._state:
            ended, self._ended = self._ended, []
        if not ended:
            return
        before = time.monotonic()
        now = self._now(connection)
        slot = self._table.c
        for place in ended:
            free_at = now + timedelta(seconds=self._rest - (before - place.ended))
            mine = (slot.number == place.number) & (slot.free_at == place.lease_ends_at)
            connection.execute(self._table.update().where(mine).values(free_at=free_at))

    def _now(self, connection: sa.Connection) -> datetime:
        # Machines that share a PostgreSQL do not share a clock, so its clock decides there.
        if self._store.is_sqlite:
            return utc_now()
        now: datetime = connection.execute(sa.text("SELECT clock_timestamp()")).scalar_one()
        return now.astimezone(UTC)

    def _lay_out(self) -> None:
        if self._laid_out:
            return
        rows = [{"number": number, "free_at": _EPOCH} for number in range(self._places)]
        with self._store.connection() as connection:
            insert_once(connection, RateSlot, rows, keys=["number"])
        self._laid_out = True
