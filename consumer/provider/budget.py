"""The request budget that all processes on one database share.

The budget is a fixed number of places. A request holds a place until its answer begins, and the place then rests for a
second before another request may take it. So however long a request was on its way, any second at the provider's door
holds at most as many requests as there are places: no promise about scheduling or network is needed. A process takes a
fifth of the places in one write, uses them one after another, and gives back those that ended with its next write.
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
from consumer.facts.tables.sync import RateSlot
from consumer.facts.tables.types import core_of

MOST_PLACES = 50
# Places are taken several at once, since each taking is a write; what is not begun within this time is given back.
HOLD_SECONDS = 1.0
_AT_ONCE = 5
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
    # When its newest answer began; a place that bore no request needs no rest.
    ended: float | None = None


class Budget:
    """Allows at most `rate` requests in any one second, over all processes and threads that share the store."""

    def __init__(self, store: Store, rate: float, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self._store = store
        self._sleep = sleep
        self._rest = 1.0 if rate >= 1 else 1.0 / rate
        self._per_place = max(1, ceil(rate / MOST_PLACES))
        self._places = max(1, floor(rate) // self._per_place)
        self._at_once = max(1, self._places // _AT_ONCE)
        self._table = core_of(RateSlot)
        self._line = threading.Lock()
        self._state = threading.Lock()
        self._held: list[_Place] = []
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
        """Free the places that this process still holds."""
        with self._line:
            self._retire()
            if self._ended:
                with self._store.connection() as connection:
                    self._write_back(connection)

    def _enter(self) -> _Place:
        with self._line:
            if not self._held or time.monotonic() - self._held[0].taken > HOLD_SECONDS:
                self._retire()
                self._held = self._take()
            place = self._held[0]
            with self._state:
                place.left -= 1
                place.under_way += 1
            if place.left == 0:
                del self._held[0]
            return place

    def _leave(self, place: _Place) -> None:
        with self._state:
            place.under_way -= 1
            place.ended = time.monotonic()
            if place.left == 0 and place.under_way == 0:
                self._ended.append(place)

    def _retire(self) -> None:
        """Stop beginning requests on the places that are held."""
        with self._state:
            for place in self._held:
                place.left = 0
                if place.under_way == 0:
                    self._ended.append(place)
        self._held = []

    def _take(self) -> list[_Place]:
        while True:
            with self._store.connection() as connection:
                self._lay_out(connection)
                self._write_back(connection)
                taken = self._take_free(connection)
            self._laid_out = True
            if isinstance(taken, list):
                return taken
            self._sleep(taken if taken <= self._rest else _POLL_SECONDS)

    def _take_free(self, connection: sa.Connection) -> list[_Place] | float:
        """Take the places that have rested longest, or return how long until one has rested."""
        slot = self._table.c
        first = (
            sa.select(slot.number, slot.free_at)
            .where(slot.number < self._places)
            .order_by(slot.free_at)
            .limit(self._at_once)
            .with_for_update(skip_locked=True)
        )
        started = time.monotonic()
        found = connection.execute(first).all()
        now = self._now(connection)
        if not found:
            return self._rest + _POLL_SECONDS
        waits: list[float] = [(row.free_at - now).total_seconds() for row in found]
        # A place that is taken for longer than any lease was written by a clock that has been set back since.
        longest = LEASE_SECONDS + self._rest
        free = [row.number for row, wait in zip(found, waits, strict=True) if not 0 < wait <= longest]
        if not free:
            return min(waits)
        ends_at = now + timedelta(seconds=LEASE_SECONDS)
        connection.execute(self._table.update().where(slot.number.in_(free)).values(free_at=ends_at))
        return [_Place(number, ends_at, taken=started, left=self._per_place) for number in free]

    def _write_back(self, connection: sa.Connection) -> None:
        with self._state:
            ended, self._ended = self._ended, []
        if not ended:
            return
        before = time.monotonic()
        now = self._now(connection)
        slot = self._table.c
        for place in ended:
            rested = self._rest if place.ended is None else before - place.ended
            free_at = now + timedelta(seconds=self._rest - rested)
            mine = (slot.number == place.number) & (slot.free_at == place.lease_ends_at)
            connection.execute(self._table.update().where(mine).values(free_at=free_at))

    def _now(self, connection: sa.Connection) -> datetime:
        # Machines that share a PostgreSQL do not share a clock, so its clock decides there.
        if self._store.is_sqlite:
            return utc_now()
        now: datetime = connection.execute(sa.text("SELECT clock_timestamp()")).scalar_one()
        return now.astimezone(UTC)

    def _lay_out(self, connection: sa.Connection) -> None:
        if not self._laid_out:
            rows = [{"number": number, "free_at": _EPOCH} for number in range(self._places)]
            insert_once(connection, RateSlot, rows, keys=["number"])
