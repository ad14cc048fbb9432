"""Pure: where the shapes of a picture lie, in whole units of its view box; the templates draw them.

Every picture stands beside a table of the same figures, so its shapes carry no words but the ends of its scales.
"""

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH = 1000
# The view box of a picture over time.
WIDE, HIGH = 640, 160
_NICE = (1, 2, 5)
_FEWEST = 14


@dataclass(frozen=True, slots=True)
class Bar:
    """One step of a waterfall: its name, its amount, and where its bar begins and how long it is."""

    name: str
    amount: int
    x: int
    width: int


@dataclass(frozen=True, slots=True)
class Column:
    """One value of a picture over time, as a column from the ground."""

    x: int
    y: int
    width: int
    height: int
    is_marked: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture over time: its columns or its line, and the round number at the top of its scale."""

    top: int
    columns: Sequence[Column] = ()
    dots: Sequence[tuple[int, int]] = ()

    @property
    def line(self) -> str:
        return " ".join(f"{x},{y}" for x, y in self.dots)


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


def columns(values: Sequence[int], marked: Sequence[bool] = ()) -> Chart:
    """Stand each value on the ground; the scale begins at zero, so that heights compare."""
    top = round_up(max([0, *values]))
    step = _step(values)
    marks = marked or [False] * len(values)
    placed = []
    for index, (value, is_marked) in enumerate(zip(values, marks, strict=True)):
        height = max(2, value * HIGH // top) if value else 0
        placed.append(Column(index * step, HIGH - height, max(2, step - 2), height, is_marked))
    return Chart(top, columns=placed)


def line(values: Sequence[int | None], *, top: int) -> Chart:
    """Join the values that are known, from zero to a given top."""
    step = _step(values)
    dots = [
        (index * step + step // 2, HIGH - value * HIGH // top)
        for index, value in enumerate(values)
        if value is not None
    ]
    return Chart(top, dots=dots)


def _step(values: Sequence[int | None]) -> int:
    """Share the width; a few values begin at the left instead of filling it as if they were many."""
    return WIDE // max(_FEWEST, len(values))


def round_up(value: int) -> int:
    """Find the next 1, 2 or 5 with noughts, so that the top of a scale reads at a glance."""
    power = 1
    while True:
        for nice in _NICE:
            if nice * power >= value:
                return nice * power
        power *= 10


def lengths(values: Sequence[int]) -> list[int]:
    """Scale values to bars by their order of magnitude: seconds and days in one picture."""
    highest = max([1, *(value.bit_length() for value in values)])
    return [max(3, value.bit_length() * WIDTH // highest) for value in values]
