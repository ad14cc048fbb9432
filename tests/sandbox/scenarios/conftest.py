"""Scenarios built once and shared by the tests of their plan."""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache

import pytest

from sandbox.happening import WholeScenario
from sandbox.scenarios import build
from sandbox.scenarios.damages import BY_NAME

# The proof walks through every seed; the tests of every day through a few.
SEEDS = range(1, 51) if os.environ.get("CUADRE_TEST_PROOF") == "1" else (1, 2, 3)
Builder = Callable[[str, int, float], WholeScenario]


@cache
def _built(name: str, seed: int, scale: float) -> WholeScenario:
    name, _, damage = name.partition("+")
    damages = {damage: BY_NAME[damage].stress} if damage else {}
    return build(name, seed=seed, scale=scale, start=datetime(2026, 10, 1, 3, tzinfo=UTC), damages=damages)


@pytest.fixture
def scenario() -> Builder:
    """Builds a scenario of the default start, once per arguments; `name+damage` has that one at its stress rate."""
    return _built


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give `any_seed` its values: what takes it is an invariant."""
    if "any_seed" in metafunc.fixturenames:
        metafunc.parametrize("any_seed", SEEDS)


@pytest.fixture
def fresh() -> Builder:
    """Builds a scenario of the default start and keeps nothing, for walks through many seeds."""
    return _built.__wrapped__
