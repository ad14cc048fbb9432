"""Webhooks on their way: what is due, how it is signed and sent, what came back, and when it is tried again."""

import hashlib
import heapq
import hmac
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from itertools import count
from typing import Protocol

import httpx
import msgspec

from sandbox.engine.faults import to_conflicting
from sandbox.state.clock import to_iso
from sandbox.state.events import Event
from sandbox.state.store import Object, Store, from_micros, to_key, to_micros

FIRST_RETRY = timedelta(seconds=3)
RETRIES = 17
TIMEOUT = 10.0
POOL = 4
LONG_AGO = 3600  # seconds: how old a stale signature is
KEPT_BODY = 500


def sign(secret: str, body: bytes, timestamp: int) -> str:
    """Return the signature header: the time in seconds and the digest over time, full stop and raw body."""
    signed = f"{timestamp}.".encode() + body
    digest = hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    return f"t={timestamp},v1={digest}"


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

    def to_json(self) -> Object:
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
        return self.response_code in range(200, 300)


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
        """Return everything due by now, in order; held ones behind the rest once a later one has overtaken them."""
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
        """Return the held ones, whether anything overtook them or not."""
        held, self._held = self._held, []
        return held

    def history(self) -> list[Attempt]:
        """Return every attempt there was, in order of time."""
        asked = "SELECT endpoint, event, attempt, at, code, body FROM attempts ORDER BY at, event, endpoint, attempt"
        return [
            Attempt(endpoint, event, attempt, from_micros(at), code, body.decode(errors="surrogatepass"))
            for endpoint, event, attempt, at, code, body in self._store.rows(asked)
        ]

    def counts(self) -> tuple[int, int]:
        """Return how many attempts there were, and how many events arrived by them."""
        asked = "SELECT count(*), count(DISTINCT CASE WHEN code BETWEEN 200 AND 299 THEN event END) FROM attempts"
        row = self._store.row(asked)
        return (row[0], row[1]) if row else (0, 0)

    def record(self, delivery: Delivery, code: int | None, body: str) -> None:
        """Record one attempt and plan the next try or the follow-up, if there is one."""
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


@dataclass(frozen=True, slots=True)
class Addressee:
    """Where an endpoint listens and the secret it verifies with."""

    url: str
    secret: str


class Directory(Protocol):
    """Who knows the endpoints and guards the outbox."""

    lock: threading.RLock
    outbox: Outbox

    def now(self) -> datetime: ...

    def addressee(self, endpoint_id: str) -> Addressee | None: ...


class Postman:
    """Sends what is due. One flush at a time; inside it, a few at once."""

    def __init__(
        self, directory: Directory, *, header_prefix: str = "Fintoc", transport: httpx.BaseTransport | None = None
    ) -> None:
        self._directory = directory
        self._header = f"{header_prefix}-Signature"
        self._transport = transport
        self._pool = ThreadPoolExecutor(POOL, thread_name_prefix="sandbox-postman")
        self._waker = ThreadPoolExecutor(1, thread_name_prefix="sandbox-waker")
        self._flushing = threading.Lock()

    @cached_property
    def _client(self) -> httpx.Client:
        # Built for the first delivery: loading the certificates takes longer than starting the whole sandbox.
        return httpx.Client(transport=self._transport, timeout=TIMEOUT, trust_env=False)

    def close(self) -> None:
        self._waker.shutdown(cancel_futures=True)
        self._pool.shutdown(cancel_futures=True)
        if "_client" in self.__dict__:
            self._client.close()

    def flush(self, now: datetime, *, is_last: bool = False) -> None:
        """Try everything due by then, retries that fall due included; `is_last` sends what is held back too."""
        with self._flushing:
            while batch := self._take(self._directory.outbox.take_due, now):
                self._carry(batch)
            if is_last and (batch := self._take(lambda _: self._directory.outbox.take_held(), now)):
                self._carry(batch)

    @contextmanager
    def hold_back(self) -> Iterator[None]:
        """Hold back every delivery inside this block."""
        with self._flushing:
            yield

    def wake(self) -> None:
        """Send what is due now without making the caller wait."""
        self._waker.submit(lambda: self.flush(self._directory.now()))

    def _take(self, take: Callable[[datetime], list[Delivery]], now: datetime) -> list[Delivery]:
        with self._directory.lock:
            return take(now)

    def _carry(self, batch: list[Delivery]) -> None:
        """A few at once; what is held back goes when the others have arrived, or it might come before them."""
        for is_held in (False, True):
            some = [delivery for delivery in batch if delivery.is_held is is_held]
            for _ in self._pool.map(self._attempt, some):
                pass

    def _attempt(self, delivery: Delivery) -> None:
        with self._directory.lock:
            addressee = self._directory.addressee(delivery.endpoint_id)
        if addressee is None:
            return  # deleted or disabled since
        code, body = self._send(addressee, delivery)
        with self._directory.lock:
            self._directory.outbox.record(delivery, code, body)

    def _send(self, addressee: Addressee, delivery: Delivery) -> tuple[int | None, str]:
        envelope = delivery.event.envelope()
        body = msgspec.json.encode(to_conflicting(envelope) if delivery.is_conflicting else envelope)
        signed_at = int(time.time()) - (LONG_AGO if delivery.is_stale and delivery.attempts else 0)
        headers = {"Content-Type": "application/json", self._header: sign(addressee.secret, body, signed_at)}
        try:
            with self._client.stream("POST", addressee.url, content=body, headers=headers) as answer:
                return answer.status_code, _beginning(answer)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return None, type(error).__name__


def _beginning(answer: httpx.Response) -> str:
    """Return as much of the answer as is kept; one that never ends must not stop the clock."""
    content, ends_at = b"", time.monotonic() + TIMEOUT
    for chunk in answer.iter_bytes():
        content += chunk
        if len(content) > KEPT_BODY or time.monotonic() > ends_at:
            break
    return content.decode(answer.encoding or "utf-8", errors="replace")[:KEPT_BODY]
