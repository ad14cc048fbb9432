"""Events as the provider writes them, for the tests of the inbox and of its commands."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from click.testing import CliRunner, Result

from consumer.facts.installation import Installation
from consumer.facts.settings import Settings
from consumer.facts.store import Store
from consumer.inbox.record import Arrival, read_arrival, record_all

RECEIVED = datetime(2026, 10, 5, 12, 0, 0, tzinfo=UTC)

Deliver = Callable[..., Arrival]
Run = Callable[..., Result]


def refund(**changes: Any) -> dict[str, Any]:
    return {
        "id": "re_1",
        "object": "refund",
        "mode": "test",
        "amount": 1500,
        "currency": "CLP",
        "status": "succeeded",
        "resource_id": "pi_1",
        "created_at": "2026-10-05T10:00:00Z",
        "updated_at": "2026-10-05T11:00:00Z",
    } | changes


def event(event_id: str = "evt_1", **changes: Any) -> dict[str, Any]:
    return {
        "id": event_id,
        "object": "event",
        "type": "refund.succeeded",
        "mode": "test",
        "created_at": "2026-10-05T11:00:00.250Z",
        "data": refund(),
    } | changes


def record(store: Store, *arrivals: Arrival) -> None:
    with store.connection() as connection:
        record_all(connection, arrivals)


@pytest.fixture
def run(installation: Installation) -> Run:
    """Run a command of the consumer in this process, on the installation of the test."""
    return lambda command, *words: CliRunner().invoke(command, list(words), obj=lambda: installation)


@pytest.fixture
def deliver(settings: Settings) -> Deliver:
    """Read a body, or the event it is made of, as an arrival on connection main."""

    def read(body: dict[str, Any] | bytes, *, source: str = "webhook", received_at: datetime = RECEIVED) -> Arrival:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        return read_arrival(raw, connection=settings.connection("main"), source=source, received_at=received_at)

    return read


@pytest.fixture
def make_event() -> Callable[..., dict[str, Any]]:
    return event


@pytest.fixture
def make_refund() -> Callable[..., dict[str, Any]]:
    return refund
