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


@pytest.mark.parametrize("count", [0, 1, 2, 30, 400])
def test_any_number_of_values_fills_the_width(count: int) -> None:
    """The first value stands at the left edge and the last at the right one, under the days the picture names."""
    chart = drawing.columns([5] * count)
    edges = [(chart.columns[0].x, chart.columns[-1].x + chart.columns[-1].width)] if count > 1 else []
    assert edges == ([(0, WIDE)] if count > 1 else [])
    assert [column.x for column in chart.columns] == sorted(column.x for column in chart.columns)
    assert all(column.width >= 1 for column in chart.columns)


def test_values_below_zero_hang_from_the_ground() -> None:
    """A balance paid too much points down, to the same scale."""
    chart = drawing.columns([100, -50, 0])
    assert (chart.top, chart.bottom, chart.ground) == (100, -50, 106)
    assert [(column.y, column.height) for column in chart.columns] == [(0, 106), (106, 53), (106, 0)]


def test_one_huge_value_hides_no_other() -> None:
    """Beside a thousand million a one is still two units high, and nothing leaves the box."""
    chart = drawing.columns([1, 1_000_000_000, -1])
    assert [column.height for column in chart.columns] == [2, 159, 2]
    assert all(column.y >= 0 and column.y + column.height <= HIGH for column in chart.columns)


def test_nothing_but_zero_draws_nothing() -> None:
    """Days without risk are an empty picture, not a row of slivers."""
    assert [column.height for column in drawing.columns([0, 0]).columns] == [0, 0]
    assert [bar.width for bar in drawing.bars([("Payments", 0, 0), ("Paid out", 0, 0)])] == [0, 0]
    assert drawing.lengths([0]) == [0]


def test_a_rate_outside_its_scale_stays_in_the_box() -> None:
    """What lies above the top is drawn at the top."""
    assert [y for _, y in drawing.line([20_000, -1], top=10_000).dots] == [0, 160]


def test_a_waterfall_below_zero_stays_in_its_box() -> None:
    """A payout of more refunds than payments walks left of zero."""
    bars = drawing.bars([("Payments", 0, 100), ("Refunds", 100, -300), ("Paid out", 0, -200)])
    assert [(bar.x, bar.width) for bar in bars] == [(666, 333), (0, 1000), (0, 666)]
