"""Pure: where the bars of a picture lie, in whole units of its view box; the templates draw them."""

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH = 1000


@dataclass(frozen=True, slots=True)
class Bar:
    """One step of a waterfall: its name, its amount, and where its bar begins and how long it is."""

    name: str
    amount: int
    x: int
    width: int


def bars(steps: Sequence[tuple[str, int, int]]) -> list[Bar]:
    """Scale steps of (name, start, amount) to one width; a bar is never thinner than can be seen."""
    ends = [start + amount for _, start, amount in steps]
    low, high = min([0, *ends]), max([0, *ends, 1])
    reach = high - low
    placed = []
    for (name, start, amount), end in zip(steps, ends, strict=True):
        left = (min(start, end) - low) * WIDTH // reach
        placed.append(Bar(name, amount, min(left, WIDTH - 3), max(3, abs(amount) * WIDTH // reach)))
    return placed
