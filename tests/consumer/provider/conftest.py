"""Clients of a provider that a test writes as one function, and a payment as the provider tells it."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from consumer.facts.settings import Connection, Settings
from consumer.facts.store import Store
from consumer.provider.budget import Budget
from consumer.provider.client import Provider


@pytest.fixture
def pauses() -> list[float]:
    """The pauses that a client would have made."""
    return []


@pytest.fixture
def shown() -> list[str]:
    """What a client said while it waited."""
    return []


@pytest.fixture
def open_client(
    settings: Settings,
    migrated_sqlite: Path,
    tmp_path_factory: pytest.TempPathFactory,
    pauses: list[float],
    shown: list[str],
) -> Iterator[Callable[..., Provider]]:
    """Clients that do not sleep and have no limit worth noticing."""
    store = Store(f"sqlite:///{shutil.copy(migrated_sqlite, tmp_path_factory.mktemp('budget'))}")

    def build(answers: Callable[[httpx.Request], httpx.Response], connection: Connection | None = None) -> Provider:
        return Provider(
            connection or settings.connection("main"),
            settings,
            Budget(store, 100_000),
            transport=httpx.MockTransport(answers),
            sleep=pauses.append,
            tell=shown.append,
        )

    yield build
    store.close()


def to_payment(**changes: Any) -> dict[str, Any]:
    return {
        "id": "pi_1",
        "object": "payment_intent",
        "mode": "test",
        "amount": 1500,
        "currency": "clp",
        "status": "succeeded",
        "payment_type": "bank_transfer",
        "created_at": "2026-10-05T11:59:00Z",
        "sender_account": {"holder_id": "11.111.111-1", "institution_id": "cl_banco_estado"},
        "customer": {"name": "Ana", "tax_id": {"type": "cl_rut", "value": "222222222"}},
    } | changes


@pytest.fixture
def payment() -> Callable[..., dict[str, Any]]:
    """A succeeded payment of 1,500 pesos, with the changes that a test makes to it."""
    return to_payment
