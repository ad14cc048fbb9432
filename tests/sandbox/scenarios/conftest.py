"""Scenarios built once and shared by the tests of their plan."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache

import pytest

from sandbox.scenarios import build
from sandbox.scenarios.damages import BASE, BY_NAME, STRESS
from sandbox.scenarios.stream import stream
from sandbox.state.happening import WholeScenario
from tests.thoroughness import for_run

# The proof walks through every seed; the tests of every day through a few.
SEEDS = for_run(short=(1, 2, 3), full=range(1, 51))
KEPT_SEEDS = 10
START_AT = datetime(2026, 10, 1, 3, tzinfo=UTC)
RATES: dict[str, Mapping[str, float]] = {"none": {}, "base": BASE, "stress": STRESS}
BRANCH_SALES = 4  # so that every day has several branches
Builder = Callable[[str, int, float], WholeScenario]


@cache
def _built(name: str, seed: int, scale: float) -> WholeScenario:
    name, _, damage = name.partition("+")
    damages = {damage: BY_NAME[damage].stress} if damage else {}
    if name.startswith("stream/"):
        country, _, rates = name.removeprefix("stream/").partition("/")
        return _held(country, damages or RATES[rates], seed, scale)
    return build(name, seed=seed, scale=scale, start=START_AT, damages=damages)


def _held(country: str, rates: Mapping[str, float], seed: int, scale: float) -> WholeScenario:
    shown = stream(
        name="large", country=country, rates=rates, seed=seed, scale=scale, start=START_AT, per_branch=BRANCH_SALES
    )
    return WholeScenario(
        shown.name,
        country,
        tuple(shown.happenings),
        tuple(shown.documents),
        shown.tariff,
        lambda at: list(shown.truth(at)),
    )


@pytest.fixture
def scenario() -> Builder:
    """Builds a scenario of the default start, once per arguments; `name+damage` has that one at its stress rate.

    `stream/cl/base` is what is told of a large scenario, held whole.
    """
    return _built


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give `any_seed` its values: what takes it is an invariant."""
    if "any_seed" in metafunc.fixturenames:
        metafunc.parametrize("any_seed", SEEDS)


@pytest.fixture
def fresh() -> Builder:
    """Builds a scenario of the default start and, on a walk through many seeds, keeps nothing."""
    return _built if len(SEEDS) < KEPT_SEEDS else _built.__wrapped__
