"""Deterministic stretches of trade with a known truth."""

from collections.abc import Callable
from datetime import datetime

from sandbox.happening import Scenario
from sandbox.scenarios import busy_month, mexico, quiet, stress

_BUILDERS: dict[str, Callable[..., Scenario]] = {
    "busy-month": busy_month.build,
    "mexico": mexico.build,
    "quiet": quiet.build,
    "stress": stress.build,
}
NAMES = tuple(_BUILDERS)


def build(name: str, *, seed: int, scale: float, start: datetime) -> Scenario:
    """The scenario of that name; the same arguments give the same scenario."""
    if name not in _BUILDERS:
        raise ValueError(f"there is no scenario {name!r}: choose one of {', '.join(NAMES)}")
    if scale <= 0:
        raise ValueError(f"the scale of a scenario must be above 0, not {scale:g}")
    if start.tzinfo is None:
        raise ValueError("the start of a scenario must be a moment with a zone")
    return _BUILDERS[name](seed=seed, scale=scale, start=start)
