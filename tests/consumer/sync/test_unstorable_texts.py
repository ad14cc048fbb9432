"""Texts with characters that no text column holds: kept with U+FFFD in their place, the body as sent, named once."""

import json
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlmodel import select

from consumer.facts.installation import Installation
from consumer.facts.tables.inbox import Event, Source
from consumer.facts.tables.provider import Customer, PaymentIntent
from consumer.facts.work import Completion
from consumer.inbox.apply import drain
from consumer.inbox.record import read_arrival, record_all
from consumer.provider.client import Provider
from consumer.sync.drift import compare_streams
from consumer.sync.pull import STREAMS, read_streams
from consumer.sync.windows import unclosed_windows

pytestmark = pytest.mark.both_databases

NOW = datetime(2026, 10, 1, 3, tzinfo=UTC)
CUSTOMERS = [STREAMS["customers"]]
LOGGER = "consumer.facts.versions"


@pytest.fixture
def customer(list_server: Any) -> dict[str, Any]:
    """The one customer of the list, whose name a test may spoil."""
    row = {
        "id": "cus_1", "object": "customer", "mode": "test", "name": "Ana\0 Pérez", "email": "ana@example.com",
        "created_at": "2026-09-30T18:00:00Z", "metadata": {"note": "a\0b"},
    }  # fmt: skip
    list_server.lists["/v2/customers"] = [row]
    return row


def kept(installation: Installation) -> Customer:
    with installation.store.reading() as session:
        return session.exec(select(Customer)).one()


def test_a_null_character_in_a_name_leaves_the_night_complete_and_is_told_once(
    installation: Installation,
    lists: Provider,
    list_server: Any,
    customer: dict[str, Any],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Two nights are complete, the name bears the mark, the body is as sent, drift finds nothing, one line says so."""
    caplog.set_level(logging.WARNING, logger=LOGGER)
    for _ in range(2):
        assert read_streams(installation, lists, CUSTOMERS).status is Completion.DONE
    assert kept(installation).name == "Ana\ufffd Pérez"
    assert json.loads(kept(installation).body)["name"] == "Ana\0 Pérez"
    list_server.lists["/v2/events"] = []
    assert compare_streams(installation, lists, CUSTOMERS, days=100, repair=False).left == 0
    shown = [one.getMessage() for one in caplog.records if one.name == LOGGER]
    assert shown == ["customer cus_1 of main: U+FFFD in name for a character that no text holds"]

    customer["name"], list_server.now = "Ana Pérez", NOW + timedelta(days=1)
    assert read_streams(installation, lists, CUSTOMERS).status is Completion.DONE
    assert kept(installation).name == "Ana Pérez"
    with installation.store.reading() as session:
        assert unclosed_windows(session) == []


@pytest.mark.parametrize("character", ["\0", "\ud83d"], ids=["null", "half an emoji"])
def test_an_event_with_such_a_character_is_applied(
    installation: Installation, make_payment: Callable[[int], dict[str, Any]], character: str
) -> None:
    """Its raw body stays, and the object it tells of is kept like a pulled one."""
    data = make_payment(1) | {"customer": {"id": "cus_1", "name": f"Ana{character}"}, "status": "succeeded"}
    event = {
        "id": "evt_1", "object": "event", "type": "payment_intent.succeeded", "mode": "test",
        "created_at": "2026-09-30T18:00:00Z", "data": data,
    }  # fmt: skip
    raw = json.dumps(event).encode()
    main = installation.settings.connection("main")
    with installation.store.connection() as line:
        record_all(line, [read_arrival(raw, connection=main, source=Source.WEBHOOK, received_at=NOW)])
    drain(installation.store, installation.settings, worker="w", now=lambda: NOW)
    with installation.store.reading() as session:
        stored = session.exec(select(Event)).one()
        assert session.exec(select(PaymentIntent.customer_name)).one() == "Ana\ufffd"
    assert (stored.state, stored.error, stored.body) == ("applied", None, raw)
