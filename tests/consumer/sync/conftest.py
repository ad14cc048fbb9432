"""A list server in memory: the event log of facts and faults a test chooses, over the client's own transport."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx
import pytest

from consumer.config import Settings
from consumer.facts.house import House
from consumer.facts.store import Store
from consumer.provider.budget import Budget
from consumer.provider.client import Provider

NOW = datetime(2026, 10, 1, 3, tzinfo=UTC)


@dataclass
class LogServer:
    """Answers `GET /v2/events` newest first; `before` may change or refuse each answer."""

    events: list[dict[str, Any]] = field(default_factory=list)
    now: datetime = NOW
    page_size: int = 5
    asked: list[dict[str, str]] = field(default_factory=list)
    before: Callable[[dict[str, str]], httpx.Response | None] = lambda _query: None

    def add(self, number: int, at: datetime) -> None:
        """Append one event of a type nobody handles."""
        created = at.isoformat().replace("+00:00", "Z")
        self.events.append(
            {"id": f"evt_{number}", "object": "event", "type": "test.made_up", "mode": "test", "created_at": created}
        )

    def answer(self, request: httpx.Request) -> httpx.Response:
        query = dict(request.url.params)
        self.asked.append(query)
        refused = self.before(query)
        if refused is not None:
            return refused
        rows = [event for event in self.events if self._is_asked(event, query)]
        rows.sort(key=lambda event: (event["created_at"], event["id"]), reverse=True)
        start = 0
        if "starting_after" in query:
            start = [row["id"] for row in rows].index(query["starting_after"]) + 1
        size = min(self.page_size, int(query["limit"]))
        shown = rows[start : start + size]
        link = ""
        if start + size < len(rows):
            following = request.url.copy_merge_params({"starting_after": shown[-1]["id"]})
            link = f'<{following}>; rel="next"'
        headers = {"Link": link, "Date": format_datetime(self.now, usegmt=True)}
        return httpx.Response(200, content=json.dumps(shown).encode(), headers=headers)

    @staticmethod
    def _is_asked(event: dict[str, Any], query: dict[str, str]) -> bool:
        at = datetime.fromisoformat(event["created_at"])
        since, until = query.get("since"), query.get("until")
        after = since is None or at >= datetime.fromisoformat(since)
        return after and (until is None or at <= datetime.fromisoformat(until))


@pytest.fixture
def log_server() -> LogServer:
    """A log of 40 events, one every six hours up to an hour before the server's clock."""
    server = LogServer()
    for number in range(40):
        server.add(number, NOW - timedelta(hours=1 + 6 * number))
    return server


@pytest.fixture
def pauses() -> list[float]:
    """The pauses that the client would have made."""
    return []


@pytest.fixture
def provider(log_server: LogServer, store: Store, settings: Settings, pauses: list[float]) -> Iterator[Provider]:
    """A client of the list server that does not sleep and has no limit worth noticing."""
    transport = httpx.MockTransport(log_server.answer)
    budget = Budget(store, 100_000)
    connection = settings.connection("main")
    with Provider(connection, settings, budget, transport=transport, sleep=pauses.append) as provider:
        yield provider


@pytest.fixture
def house(settings: Settings, store: Store) -> House:
    return House(settings=settings, store=store)
