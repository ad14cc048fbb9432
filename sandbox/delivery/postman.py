"""Carries deliveries to their endpoints: a small pool on a keep-alive client, woken when something is due."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Protocol

import httpx
import msgspec

from sandbox.delivery.outbox import Delivery, Outbox
from sandbox.delivery.signature import sign
from sandbox.faults.announcing import conflicting

TIMEOUT = 10.0
POOL = 4
LONG_AGO = 3600  # seconds: how old a stale signature is
KEPT_BODY = 500


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
    def resting(self) -> Iterator[None]:
        """Nothing is on its way inside this block."""
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
        body = msgspec.json.encode(conflicting(envelope) if delivery.is_conflicting else envelope)
        signed_at = int(time.time()) - (LONG_AGO if delivery.is_stale and delivery.attempts else 0)
        headers = {"Content-Type": "application/json", self._header: sign(addressee.secret, body, signed_at)}
        try:
            with self._client.stream("POST", addressee.url, content=body, headers=headers) as answer:
                return answer.status_code, _beginning(answer)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return None, type(error).__name__


def _beginning(answer: httpx.Response) -> str:
    """As much of the answer as is kept; one that never ends must not stop the clock."""
    content, ends_at = b"", time.monotonic() + TIMEOUT
    for chunk in answer.iter_bytes():
        content += chunk
        if len(content) > KEPT_BODY or time.monotonic() > ends_at:
            break
    return content.decode(answer.encoding or "utf-8", errors="replace")[:KEPT_BODY]
