"""Deterministic stretches of trade with a known truth."""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial

from sandbox.happening import WholeScenario
from sandbox.scenarios import busy_month, mexico, month, quiet, stress
from sandbox.scenarios.damages import BASE, STRESS, rates_of

_PLANTED: dict[str, Callable[..., WholeScenario]] = {
    "busy-month": busy_month.build,
    "mexico": mexico.build,
    "quiet": quiet.build,
    "stress": stress.build,
}
_DAMAGED: dict[str, tuple[Mapping[str, float], bool]] = {
    "quiet-month": ({}, False),
    "month-end": (BASE, True),
    "chaos": (STRESS, True),
}
NAMES = (*_PLANTED, *_DAMAGED)


def build(
    name: str, *, seed: int, scale: float, start: datetime, damages: Mapping[str, float] | None = None
) -> WholeScenario:
    """The scenario of that name; the same arguments give the same scenario. Raises ValueError with a sentence."""
    if name not in NAMES:
        raise ValueError(f"there is no scenario {name!r}: choose one of {', '.join(NAMES)}")
    if scale <= 0:
        raise ValueError(f"the scale of a scenario must be above 0, not {scale:g}")
    if start.tzinfo is None:
        raise ValueError("the start of a scenario must be a moment with a zone")
    return _builder(name, damages or {})(seed=seed, scale=scale, start=start)


def _builder(name: str, damages: Mapping[str, float]) -> Callable[..., WholeScenario]:
    if name in _DAMAGED:
        usual, is_rushed = _DAMAGED[name]
        return partial(month.build, name=name, rates=rates_of(usual, damages), is_rushed=is_rushed)
    if damages:
        raise ValueError(f"the troubles of {name} are planted; damages go with {', '.join(_DAMAGED)}")
    return _PLANTED[name]
