"""Scenarios built once and shared by the tests of their plan."""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache

import pytest

from sandbox.happening import Scenario
from sandbox.scenarios import build

Builder = Callable[[str, int, float], Scenario]


@cache
def _built(name: str, seed: int, scale: float) -> Scenario:
    return build(name, seed=seed, scale=scale, start=datetime(2026, 10, 1, 3, tzinfo=UTC))


@pytest.fixture
def scenario() -> Builder:
    """Builds a scenario of the default start, once per arguments."""
    return _built
