"""The deliveries that are due, the backoff of those that failed, and the history of every attempt."""

import heapq
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count
from typing import Any

from sandbox.state.clock import to_iso
from sandbox.state.eventlog import Event
from sandbox.state.store import Store, from_micros, to_key, to_micros

FIRST_RETRY = timedelta(seconds=3)
RETRIES = 17


@dataclass(slots=True)
class Delivery:
    """One event on its way to one endpoint."""

    event: Event
    endpoint_id: str
    due_at: datetime
    is_held: bool = False
    is_conflicting: bool = False
    follow_up: "Delivery | None" = None  # sent once this one has arrived
    is_stale: bool = False  # its retries bear an old signature
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try and what came back."""

    endpoint_id: str
    event_id: str
    attempt: int
    at: datetime
    response_code: int | None
    response_body: str

    def to_json(self) -> dict[str, Any]:
        return {
            "endpoint_id": self.endpoint_id,
            "event_id": self.event_id,
            "attempt": self.attempt,
            "at": to_iso(self.at),
            "response_code": self.response_code,
            "response_body": self.response_body,
        }

    @property
    def has_arrived(self) -> bool:
        return self.response_code is not None and 200 <= self.response_code < 300  # noqa: PLR2004 - any 2xx


class Outbox:
    """What waits to be sent, and what was sent. Its owner holds the lock."""

    def __init__(self, store: Store) -> None:
        self._store = store  # holds every attempt: there may be a million
        self._waiting: list[tuple[datetime, int, Delivery]] = []
        self._held: list[Delivery] = []
        self._order = count()
        self.dropped: set[str] = set()

    def post(self, delivery: Delivery) -> None:
        heapq.heappush(self._waiting, (delivery.due_at, next(self._order), delivery))

    def next_due_at(self) -> datetime | None:
        return self._waiting[0][0] if self._waiting else None

    def is_due(self, now: datetime) -> bool:
        return bool(self._waiting) and self._waiting[0][0] <= now

    def take_due(self, now: datetime) -> list[Delivery]:
        """Everything due by now, in order; held ones behind the rest once a later one has overtaken them."""
        due: list[Delivery] = []
        overtaken = 0
        while self._waiting and self._waiting[0][0] <= now:
            delivery = heapq.heappop(self._waiting)[2]
            if delivery.is_held:
                self._held.append(delivery)
            else:
                due.append(delivery)
                overtaken = len(self._held)
        released, self._held = self._held[:overtaken], self._held[overtaken:]
        return due + released

    def take_held(self) -> list[Delivery]:
        """The held ones, whether anything overtook them or not."""
        held, self._held = self._held, []
        return held

    def history(self) -> list[Attempt]:
        """Every attempt there was, in order of time."""
        asked = "SELECT endpoint, event, attempt, at, code, body FROM attempts ORDER BY at, event, endpoint, attempt"
        return [
            Attempt(endpoint, event, attempt, from_micros(at), code, body.decode(errors="surrogatepass"))
            for endpoint, event, attempt, at, code, body in self._store.rows(asked)
        ]

    def counts(self) -> tuple[int, int]:
        """How many attempts there were, and how many events arrived by them."""
        asked = "SELECT count(*), count(DISTINCT CASE WHEN code BETWEEN 200 AND 299 THEN event END) FROM attempts"
        row = self._store.row(asked)
        return (row[0], row[1]) if row else (0, 0)

    def record(self, delivery: Delivery, code: int | None, body: str) -> None:
        """Write down one attempt and plan what follows it: the next try, the follow-up, or nothing."""
        delivery.attempts += 1
        attempt = Attempt(delivery.endpoint_id, delivery.event.id, delivery.attempts, delivery.due_at, code, body)
        self._store.write(
            "INSERT INTO attempts (at, event, endpoint, attempt, code, body) VALUES (?, ?, ?, ?, ?, ?)",
            to_micros(attempt.at),
            attempt.event_id,
            attempt.endpoint_id,
            attempt.attempt,
            code,
            to_key(body),
        )
        if attempt.has_arrived:
            if delivery.follow_up:
                self.post(delivery.follow_up)
        elif delivery.attempts <= RETRIES:
            delivery.is_held = False
            delivery.due_at += FIRST_RETRY * 2 ** (delivery.attempts - 1)
            self.post(delivery)
