"""Pure: where the shapes of a picture lie, in whole units of its view box; the templates draw them.

Every picture has a table of the same figures next to it, so its shapes carry no words but the ends of its scales.
"""

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH = 1000
# The view box of a picture over time.
WIDE, HIGH = 640, 160
_NICE = (1, 2, 5)
_WIDEST = 46
_THINNEST = 3


@dataclass(frozen=True, slots=True)
class Bar:
    """One step of a waterfall: its name, its amount, and where its bar begins and how long it is."""

    name: str
    amount: int
    x: int
    width: int


@dataclass(frozen=True, slots=True)
class Column:
    """One value of a picture over time, as a column from the ground, down from it where it is below zero."""

    x: int
    y: int
    width: int
    height: int
    is_marked: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture over time: its columns or its line, the round numbers its scale ends at, and where zero lies."""

    top: int
    columns: Sequence[Column] = ()
    dots: Sequence[tuple[int, int]] = ()
    bottom: int = 0
    ground: int = HIGH

    @property
    def line(self) -> str:
        return " ".join(f"{x},{y}" for x, y in self.dots)


def bars(steps: Sequence[tuple[str, int, int]]) -> list[Bar]:
    """Scale steps of (name, start, amount) to one width; a bar that is not zero is never thinner than can be seen."""
    ends = [start + amount for _, start, amount in steps]
    starts = [start for _, start, _ in steps]
    low, high = min([0, *starts, *ends]), max([0, *starts, *ends])
    reach = max(1, high - low)
    placed = []
    for (name, start, amount), end in zip(steps, ends, strict=True):
        width = max(_THINNEST, abs(amount) * WIDTH // reach) if amount else 0
        left = (min(start, end) - low) * WIDTH // reach
        placed.append(Bar(name, amount, min(left, WIDTH - width), width))
    return placed


def columns(values: Sequence[int], marked: Sequence[bool] = ()) -> Chart:
    """Draw each value from the line of zero, so that heights compare and small values can be seen."""
    top = round_up(max([0, *values]))
    lowest = min([0, *values])
    bottom = -round_up(-lowest) if lowest else 0
    ground = top * HIGH // (top - bottom)
    marks = marked or [False] * len(values)
    placed = []
    for (x, width), value, is_marked in zip(_places(len(values)), values, marks, strict=True):
        height = max(2, abs(value) * HIGH // (top - bottom)) if value else 0
        y = ground - height if value >= 0 else ground
        placed.append(Column(x, min(max(0, y), HIGH - height), width, height, is_marked))
    return Chart(top, columns=placed, bottom=bottom, ground=ground)


def line(values: Sequence[int | None], *, top: int) -> Chart:
    """Join the values that are known, from zero to a given top; what lies beyond is drawn at the edge."""
    dots = [
        (x + width // 2, HIGH - min(max(0, value), top) * HIGH // top)
        for (x, width), value in zip(_places(len(values)), values, strict=True)
        if value is not None
    ]
    return Chart(top, dots=dots)


def _places(count: int) -> list[tuple[int, int]]:
    """Spread values from the left edge to the right one, so that the days below stand under the first and the last."""
    if not count:
        return []
    width = max(1, min(_WIDEST, WIDE // count - (1 if count < WIDE // _THINNEST else 0)))
    if count == 1:
        return [(0, width)]
    return [(index * (WIDE - width) // (count - 1), width) for index in range(count)]


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
    return [max(_THINNEST, value.bit_length() * WIDTH // highest) if value else 0 for value in values]
