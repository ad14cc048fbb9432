"""A provider to manage: a quiet sandbox over HTTP, and an installation pointed at it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from consumer.config import Settings, load
from consumer.facts.house import House
from consumer.facts.store import Store
from consumer.provider.client import Provider, open_provider
from sandbox.serve import RunningSandbox


@pytest.fixture
def running() -> Iterator[RunningSandbox]:
    """A provider with hardly any trade."""
    with RunningSandbox("quiet") as running:
        yield running


@pytest.fixture
def settings(running: RunningSandbox, tmp_path: Path) -> Settings:
    environ = {
        "CUADRE_PROVIDER_URL": running.url,
        "CUADRE_API_KEY": "sk_test_sandbox",
        "CUADRE_COUNTRY": "cl",
        "CUADRE_PUBLIC_URL": "http://127.0.0.1:9",
        "CUADRE_DATA_DIR": str(tmp_path / "instance"),
        "CUADRE_RATE_LIMIT": "100000",
    }
    return load(environ, folder=tmp_path)


@pytest.fixture
def house(settings: Settings, store: Store) -> House:
    return House(settings=settings, store=store)


@pytest.fixture
def provider(house: House) -> Iterator[Provider]:
    with open_provider(house, house.settings.connection("main")) as provider:
        yield provider
