"""Signed deliveries over HTTP, and senders that deliver until each is acknowledged."""

import hashlib
import hmac
import http.client
import json
import random
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

SECRET = b"whsec_test_secret"


def deliver(
    connection: http.client.HTTPConnection, body: bytes, *, secret: bytes = SECRET
) -> tuple[int, dict[str, Any], str | None]:
    at = str(int(time.time())).encode()
    digest = hmac.new(secret, at + b"." + body, hashlib.sha256).hexdigest()
    connection.request("POST", "/webhooks", body, {"Fintoc-Signature": f"t={at.decode()},v1={digest}"})
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read()), answer.getheader("Retry-After")


@dataclass
class Senders:
    """Threads that deliver trade as the provider does: in any order, again what was not answered, again what was."""

    port: int
    events: Callable[[int], dict[str, Any]]
    count: int = 8
    pause: float = 0.01
    acknowledged: set[str] = field(default_factory=set)
    unanswered: list[dict[str, Any]] = field(default_factory=list)
    statuses: set[int] = field(default_factory=set)
    # How long each answer of 200 took.
    seconds: list[float] = field(default_factory=list)

    def start(self) -> None:
        self._stopped = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(place,)) for place in range(self.count)]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    def _run(self, place: int) -> None:
        chance = random.Random(place)  # noqa: S311 - repeatable
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        number = place
        while not self._stopped.wait(self.pause):
            kind = chance.random()
            if kind < 0.15 and number > self.count:
                event = self.events(chance.randrange(place, number, self.count))
            elif kind < 0.3 and (again := self._take_unanswered()) is not None:
                event = again
            else:
                event = self.events(number)
                number += self.count
            self.send(connection, event)
        connection.close()

    def _take_unanswered(self) -> dict[str, Any] | None:
        # Another thread may take the last one between a look and the taking.
        with suppress(IndexError):
            return self.unanswered.pop()
        return None

    def send(self, connection: http.client.HTTPConnection, event: dict[str, Any]) -> None:
        began = time.perf_counter()
        try:
            status = deliver(connection, json.dumps(event).encode())[0]
        except (OSError, http.client.HTTPException):
            connection.close()
            status = 0
            self._stopped.wait(0.1)
        self.statuses.add(status)
        if status == 200:
            self.acknowledged.add(event["id"])
            self.seconds.append(time.perf_counter() - began)
        else:
            self.unanswered.append(event)

    def _deliver_all(self, events: Sequence[dict[str, Any]]) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        for event in events:
            self.send(connection, event)
        connection.close()

    def deliver_the_rest(self) -> bool:
        """Deliver again what has no 200 yet, as the provider does; tells whether nothing is left."""
        events = [self.unanswered.pop() for _ in range(len(self.unanswered))]
        with ThreadPoolExecutor(self.count) as pool:
            list(pool.map(self._deliver_all, [events[start :: self.count] for start in range(self.count)]))
        return not self.unanswered
