"""A list server in memory: the event log of facts and faults a test chooses, over the client's own transport."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx
import pytest
from sqlmodel import select

from consumer.facts.installation import Installation
from consumer.facts.settings import Settings
from consumer.facts.store import Store
from consumer.facts.tables.inbox import Event
from consumer.facts.tables.provider import PaymentIntent
from consumer.facts.tables.sync import Window
from consumer.provider.budget import Budget
from consumer.provider.client import Provider
from consumer.sync.windows import unclosed_windows

NOW = datetime(2026, 10, 1, 3, tzinfo=UTC)


def gaps(installation: Installation) -> list[Window]:
    with installation.store.reading() as session:
        return unclosed_windows(session)


def intents(installation: Installation) -> set[str]:
    with installation.store.reading() as session:
        return set(session.exec(select(PaymentIntent.id)))


def stored(installation: Installation) -> set[str]:
    with installation.store.reading() as session:
        return set(session.exec(select(Event.id)))


@dataclass
class LogServer:
    """Answers `GET /v2/events` newest first; `before` may change or refuse each answer."""

    events: list[dict[str, Any]] = field(default_factory=list)
    now: datetime = NOW
    page_size: int = 5
    asked: list[dict[str, str]] = field(default_factory=list)
    before: Callable[[dict[str, str]], httpx.Response | None] = lambda _query: None

    def add(self, number: int, at: datetime) -> None:
        """Append one event of a type without a handler."""
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


@dataclass
class ListServer:
    """Answers v1 lists by path, newest first, in numbered pages with a total that may lie."""

    lists: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    now: datetime = NOW
    page_size: int = 2
    lie: dict[str, int] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    before: Callable[[str], httpx.Response | None] = lambda _path: None

    def answer(self, request: httpx.Request) -> httpx.Response:
        path, query = request.url.path, dict(request.url.params)
        kind = query.get("resource_type")
        self.asked.append(f"{path} {kind or ''} {query.get('page', '')}".replace("  ", " ").strip())
        refused = self.before(path)
        if refused is not None:
            return refused
        name = f"{path}?{kind}" if kind else path
        if name not in self.lists and not kind:
            body = {"error": {"type": "invalid_request_error", "code": "invalid_url"}}
            return httpx.Response(404, json=body)
        rows = self.lists.get(name, [])
        page = int(query.get("page", "1"))
        shown = rows[(page - 1) * self.page_size : page * self.page_size]
        link = ""
        if page * self.page_size < len(rows):
            link = f'<{request.url.copy_merge_params({"page": str(page + 1)})}>; rel="next"'
        total = str(len(rows) + self.lie.get(name, 0))
        headers = {"Link": link, "X-Total-Count": total, "Date": format_datetime(self.now, usegmt=True)}
        return httpx.Response(200, json=shown, headers=headers)


def to_payment(number: int) -> dict[str, Any]:
    """A succeeded payment of 1,000 pesos."""
    created = (NOW - timedelta(hours=number)).isoformat().replace("+00:00", "Z")
    return {
        "id": f"pi_{number}",
        "object": "payment_intent",
        "mode": "test",
        "status": "succeeded",
        "amount": 1000,
        "currency": "CLP",
        "payment_type": "bank_transfer",
        "created_at": created,
        "updated_at": created,
        "made_up_field": {"kept": True},
    }


def to_payout(number: int, *, status: str = "succeeded", updated_at: datetime = NOW) -> dict[str, Any]:
    """A payout of 2,968 pesos."""
    return {
        "id": f"po_{number}",
        "object": "payout",
        "mode": "test",
        "status": status,
        "amount": 2968,
        "currency": "CLP",
        "created_at": "2026-09-30T18:00:00Z",
        "updated_at": (updated_at - timedelta(hours=1)).isoformat().replace("+00:00", "Z"),
        "recipient_account": {"institution_id": "cl_made_up", "number": "0000000"},
    }


@pytest.fixture
def list_server() -> ListServer:
    """One payout of three payments, and those payments under both generations of their path."""
    payments = [to_payment(number) for number in range(1, 4)]
    return ListServer(
        {
            "/v1/payouts": [to_payout(1)],
            "/v1/payouts/po_1/resources?payment_intent": payments,
            "/v1/payment_intents": payments[:2],
            "/v2/payment_intents": payments[2:],
            "/v1/refunds": [],
        }
    )


@pytest.fixture
def lists(list_server: ListServer, store: Store, settings: Settings, pauses: list[float]) -> Iterator[Provider]:
    """A client of the list server."""
    transport = httpx.MockTransport(list_server.answer)
    budget = Budget(store, 100_000)
    connection = settings.connection("main")
    with Provider(connection, settings, budget, transport=transport, sleep=pauses.append) as provider:
        yield provider


@pytest.fixture
def make_payout() -> Callable[..., dict[str, Any]]:
    return to_payout


@pytest.fixture
def make_payment() -> Callable[[int], dict[str, Any]]:
    return to_payment
