"""Where the shapes of a picture lie: to scale, from zero, inside the box."""

import pytest

from reports.pages import drawing
from reports.pages.drawing import HIGH, WIDE


def test_columns_stand_on_the_ground_to_one_scale() -> None:
    """The scale ends at a round number above the highest value, and heights are in proportion."""
    chart = drawing.columns([0, 50, 100, 180], [False, True, False, False])
    assert chart.top == 200
    assert [(column.y, column.height) for column in chart.columns] == [(160, 0), (120, 40), (80, 80), (16, 144)]
    assert [column.is_marked for column in chart.columns] == [False, True, False, False]


def test_a_small_value_can_still_be_seen() -> None:
    """One beside a million is two units high, and nothing is none."""
    heights = [column.height for column in drawing.columns([0, 1, 1_000_000]).columns]
    assert heights == [0, 2, 160]


@pytest.mark.parametrize("count", [1, 14, 30, 48])
def test_everything_lies_inside_the_box(count: int) -> None:
    """However many values there are, none is drawn outside."""
    chart = drawing.columns(list(range(count)))
    assert all(column.x >= 0 and column.x + column.width <= WIDE for column in chart.columns)
    assert all(0 <= column.y <= HIGH for column in chart.columns)
    assert all(0 <= x <= WIDE for x, _ in drawing.line(list(range(count)), top=100).dots)


def test_a_line_leaves_out_what_is_not_known() -> None:
    """A day without items has no rate, and is no zero."""
    chart = drawing.line([10_000, None, 0], top=10_000)
    assert [y for _, y in chart.dots] == [0, 160]


@pytest.mark.parametrize(("value", "top"), [(0, 1), (1, 1), (3, 5), (6, 10), (11, 20), (139_866_345, 200_000_000)])
def test_scales_end_at_round_numbers(value: int, top: int) -> None:
    """1, 2 or 5 with noughts."""
    assert drawing.round_up(value) == top


def test_lengths_compare_orders_of_magnitude() -> None:
    """Seconds and days are both to be seen; a longer time is never a shorter bar."""
    lengths = drawing.lengths([1, 60, 3600, 86_400])
    assert lengths == sorted(lengths)
    assert (lengths[0] >= 3, lengths[-1]) == (True, 1000)
