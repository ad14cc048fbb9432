"""Clients of a provider that a test writes as one function."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

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
def told() -> list[str]:
    """What a client said while it waited."""
    return []


@pytest.fixture
def open_client(
    settings: Settings,
    migrated_sqlite: Path,
    tmp_path_factory: pytest.TempPathFactory,
    pauses: list[float],
    told: list[str],
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
            tell=told.append,
        )

    yield build
    store.close()
