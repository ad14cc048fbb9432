"""Where a window stands after a page, and what a run asks for beside windows that are there already."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from consumer.facts.completeness import BEGINNING
from consumer.facts.tables.sync import Window
from consumer.provider.paging import Page
from consumer.sync.windows import next_place, plan_news, plan_range, to_spans

NOW = datetime(2026, 9, 10, 12, tzinfo=UTC)
LONG_AGO = NOW - timedelta(days=3)
FIRST, SECOND, THIRD = (datetime(2026, 9, day, tzinfo=UTC) for day in (1, 2, 3))


def window(since: datetime | None, until: datetime, **changes: Any) -> Window:
    plain: dict[str, Any] = {"connection": "main", "stream": "events", "state": "open", "opened_at": LONG_AGO}
    return Window(**(plain | {"since": since, "until": until} | changes))


def closed(since: datetime | None, until: datetime) -> Window:
    return window(since, until, state="closed", closed_at=LONG_AGO)


def page(items: int, following: str | None = None) -> Page:
    return Page(items=(b"{}",) * items, at=NOW, next=following, total=None)


def test_a_first_read_is_repeated() -> None:
    """Its events are counted as they came, known or not, and the window stays open for the second read."""
    place = next_place(window(FIRST, SECOND, pages=4, events=40), page(10), added=3, now=NOW)
    assert place == {
        "pages": 5, "events": 50, "reason": None, "cursor": None, "added_in_pass": 0, "state": "open", "pass_number": 2,
    }  # fmt: skip


def test_in_mid_read_the_cursor_moves_and_new_events_add_up() -> None:
    """A page with a next one leaves the pass as it is; in a repeated read only new events are counted."""
    repeated = window(FIRST, SECOND, pass_number=2, added_in_pass=2, pages=4, events=40)
    place = next_place(repeated, page(10, "starting_after=evt_9"), added=3, now=NOW)
    assert place == {
        "pages": 5, "events": 43, "reason": None, "state": "open", "cursor": "starting_after=evt_9", "added_in_pass": 5,
    }  # fmt: skip


def test_a_repeated_read_without_a_new_event_closes_the_window() -> None:
    """It is closed at the moment of its last page."""
    place = next_place(window(FIRST, SECOND, pass_number=2), page(10), added=0, now=NOW)
    assert (place["state"], place["closed_at"], "pass_number" in place) == ("closed", NOW, False)


@pytest.mark.parametrize(("before", "added"), [(2, 0), (0, 2), (2, 2)])
def test_a_repeated_read_with_a_new_event_is_repeated(before: int, added: int) -> None:
    """Wherever in the pass the new event came, the window is read once more."""
    place = next_place(window(FIRST, SECOND, pass_number=2, added_in_pass=before), page(10), added=added, now=NOW)
    assert (place["state"], place["pass_number"]) == ("open", 3)


def test_a_log_that_never_rests_fails_its_window_after_ten_reads() -> None:
    """The ninth read is repeated, the tenth gives up with the reason, and the next run begins with a first read."""
    ninth = next_place(window(FIRST, SECOND, pass_number=9), page(10), added=1, now=NOW)
    assert (ninth["state"], ninth["pass_number"]) == ("open", 10)
    tenth = next_place(window(FIRST, SECOND, pass_number=10), page(10), added=1, now=NOW)
    assert (tenth["state"], tenth["pass_number"], tenth["reason"]) == (
        "failed", 1, "events kept appearing in 10 reads",
    )  # fmt: skip


def test_a_range_leaves_out_what_is_read_from_end_to_end_anyway() -> None:
    """A window in its first read is not asked for twice; one whose repeat has begun missed what came since."""
    first = [window(SECOND, THIRD)]
    assert plan_range(first, FIRST, NOW, now=NOW).spans == [(FIRST, SECOND), (THIRD, NOW)]
    repeated = [window(SECOND, THIRD, pass_number=2)]
    assert plan_range(repeated, FIRST, NOW, now=NOW).spans == [(FIRST, NOW)]
    assert plan_range([closed(SECOND, THIRD)], FIRST, NOW, now=NOW).spans == [(FIRST, NOW)]


def test_a_reading_of_the_last_day_is_continued_whole() -> None:
    """Its closed windows are not asked for again either; a day later they are."""
    begun = NOW - timedelta(hours=23)
    reading = [window(FIRST, SECOND, state="closed", opened_at=begun), window(SECOND, THIRD, opened_at=begun)]
    plan = plan_range(reading, FIRST, THIRD, now=NOW)
    assert (plan.spans, plan.reading) == ([], begun)
    plan = plan_range(reading, FIRST, THIRD, now=begun + timedelta(days=1))
    assert (plan.spans, plan.reading) == ([(FIRST, SECOND)], None)


def test_news_begin_an_overlap_before_what_was_read() -> None:
    """All of the log is asked for once; then what is new with the overlap before it, or `back` where that is more."""
    hour, day = timedelta(hours=1), timedelta(days=1)
    whole = plan_news([], THIRD, overlap=hour, back=hour, now=NOW)
    assert (whole.spans, whole.below) == ([(BEGINNING, THIRD)], False)
    read = [closed(None, SECOND)]
    assert plan_news(read, THIRD, overlap=hour, back=hour, now=NOW).spans == [(SECOND - hour, THIRD)]
    assert plan_news(read, THIRD, overlap=hour, back=day, now=NOW).spans == [(SECOND - day, THIRD)]
    again = plan_news(read, SECOND, overlap=hour, back=hour, now=NOW)
    assert (again.spans, again.below) == ([(SECOND - hour, SECOND)], False)


def test_a_hole_below_what_was_read_is_asked_for_and_marked_as_old() -> None:
    """Its events are old without being late; the end of the log is asked for with its overlap as ever."""
    hour = timedelta(hours=1)
    plan = plan_news([closed(None, FIRST), closed(SECOND, THIRD)], THIRD, overlap=hour, back=hour, now=NOW)
    assert plan.below
    assert plan.spans == [(FIRST - hour, SECOND), (THIRD - hour, THIRD)]
    wide = plan_news([closed(None, FIRST), closed(SECOND, THIRD)], THIRD, overlap=THIRD - SECOND, back=hour, now=NOW)
    assert wide.spans == [(FIRST - timedelta(days=1), THIRD)]


@pytest.mark.parametrize(
    ("seconds", "most", "edges"),
    [
        (10, 8, [0, 10]),
        (119, 8, [0, 119]),
        (120, 8, [0, 60, 120]),
        (200, 8, [0, 66, 133, 200]),
        (200, 2, [0, 100, 200]),
    ],
)
def test_a_stretch_is_cut_on_whole_seconds(seconds: int, most: int, edges: list[int]) -> None:
    """No window is shorter than a minute here, none is missing, and there are never more than allowed."""
    moments = [FIRST + timedelta(seconds=edge) for edge in edges]
    cut = to_spans(FIRST, FIRST + timedelta(seconds=seconds), shortest=timedelta(minutes=1), most=most)
    assert cut == list(pairwise(moments))


def test_no_time_is_no_window() -> None:
    """A stretch that ends where it begins asks nothing."""
    assert to_spans(FIRST, FIRST, shortest=timedelta(minutes=1), most=8) == []
