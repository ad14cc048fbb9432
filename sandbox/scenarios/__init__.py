"""Deterministic stretches of trade with a known truth."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial

from sandbox.scenarios import busy_month, month, stress, tax_cl, tax_mx
from sandbox.scenarios.damages import BASE, STRESS, rates_of
from sandbox.scenarios.stream import stream
from sandbox.state.happening import Scenario, WholeScenario

_PLANTED: dict[str, Callable[..., WholeScenario]] = {
    "busy-month": busy_month.build,
    "mexico": busy_month.build_mexico,
    "quiet": month.build_quiet,
    "stress": stress.build,
    "tax-cl": tax_cl.build,
    "tax-mx": tax_mx.build,
}
_DAMAGED: dict[str, tuple[Mapping[str, float], bool]] = {
    "quiet-month": ({}, False),
    "month-end": (BASE, True),
    "chaos": (STRESS, True),
}
_STREAMED: dict[str, tuple[str, Mapping[str, float]]] = {
    "busy-month": ("cl", BASE),
    "mexico": ("mx", BASE),
    "stress": ("cl", STRESS),
    "quiet-month": ("cl", {}),
    "month-end": ("cl", BASE),
    "chaos": ("cl", STRESS),
}
_SIGNED = {"mexico"}  # where the traffic was recorded that signs transfers too
NAMES = (*_PLANTED, *_DAMAGED)
LARGEST = 2_000
LARGEST_WHOLE = 25  # the scale above which a scenario is made as it is walked through


class UnknownScenarioError(ValueError):
    """No scenario has that name, or it cannot be built like that."""


def build_scenario(
    name: object,
    seed: object,
    scale: object,
    start_at: datetime,
    *,
    damages: object = None,
    signed_transfers: object = None,
) -> Scenario:
    """Return the scenario of that name. Raise UnknownScenarioError with a sentence that lists the names."""
    is_flag = isinstance(seed, bool) or isinstance(scale, bool)
    if not isinstance(name, str) or not isinstance(seed, int) or not isinstance(scale, int | float) or is_flag:
        raise UnknownScenarioError("A scenario needs a name, a whole number as seed and a number as scale")
    if not 0 < scale <= LARGEST:
        message = f"The scale of a scenario is above 0 and at most {LARGEST}, which is more than a million"
        raise UnknownScenarioError(message)
    if not isinstance(damages, Mapping | None):
        raise UnknownScenarioError("The damages of a scenario are names, each with its rate")
    if not isinstance(signed_transfers, bool | None):
        raise UnknownScenarioError("signed_transfers of a scenario is true or false")
    is_signed = name in _SIGNED if signed_transfers is None else signed_transfers
    try:
        return replace(
            provide(name, seed=seed, scale=scale, start=start_at, damages=damages), signed_transfers=is_signed
        )
    except ValueError as error:
        raise UnknownScenarioError(str(error)) from None


def build(
    name: str, *, seed: int, scale: float, start: datetime, damages: Mapping[str, float] | None = None
) -> WholeScenario:
    """Return the scenario of that name; the same arguments give the same scenario. Raise ValueError with a sentence."""
    _check(name, scale, start)
    if scale > LARGEST_WHOLE:
        raise ValueError(f"a scenario is held in memory up to scale {LARGEST_WHOLE}, not {scale:g}")
    return _builder(name, damages or {})(seed=seed, scale=scale, start=start)


def provide(
    name: str, *, seed: int, scale: float, start: datetime, damages: Mapping[str, float] | None = None
) -> Scenario:
    """Return the scenario of that name at any scale; a large one is not held and has damages at rates alone.

    Raises ValueError with a sentence.
    """
    _check(name, scale, start)
    if scale <= LARGEST_WHOLE:
        return build(name, seed=seed, scale=scale, start=start, damages=damages)
    if name not in _STREAMED:
        raise ValueError(f"{name} has a scale of at most {LARGEST_WHOLE}; larger are {', '.join(_STREAMED)}")
    country, usual = _STREAMED[name]
    rates = rates_of(usual, damages or {})
    return stream(name=name, country=country, rates=rates, seed=seed, scale=scale, start=start)


def _check(name: str, scale: float, start: datetime) -> None:
    if name not in NAMES:
        raise ValueError(f"there is no scenario {name!r}: choose one of {', '.join(NAMES)}")
    if scale <= 0:
        raise ValueError(f"the scale of a scenario must be above 0, not {scale:g}")
    if start.tzinfo is None:
        raise ValueError("the start of a scenario must be a moment with a zone")


def _builder(name: str, damages: Mapping[str, float]) -> Callable[..., WholeScenario]:
    if name in _DAMAGED:
        usual, is_rushed = _DAMAGED[name]
        return partial(month.build, name=name, rates=rates_of(usual, damages), is_rushed=is_rushed)
    if damages:
        raise ValueError(f"the troubles of {name} are planted; damages go with {', '.join(_DAMAGED)}")
    return _PLANTED[name]
