"""The merchant's own bank days: a file over the library's, trusted as far as it says, and kept with each run."""

from datetime import date
from pathlib import Path

import pytest

from consumer.facts.bankdays import CalendarError, calendar_of, read_calendar, to_calendar

FILE = """
until = 2030
[[add]]
on = 2026-11-20
reason = "Law 21.999"
[[remove]]
on = 2026-12-31
reason = "abolished again"
"""


def _write(folder: Path, text: str) -> Path:
    (folder / "calendars").mkdir()
    (folder / "calendars" / "cl.toml").write_text(text, encoding="utf-8")
    return folder


def test_a_file_closes_and_opens_days(tmp_path: Path) -> None:
    """A new law counts from the day it is written down."""
    calendar = read_calendar(_write(tmp_path, FILE), "cl")
    assert not calendar.is_bank_day(date(2026, 11, 20))
    assert calendar.is_bank_day(date(2026, 12, 31))
    assert (calendar.knows(2030), calendar.knows(2031)) == (True, False)


def test_without_a_file_the_library_holds(tmp_path: Path) -> None:
    """Chile's 31 December is a bank holiday there, and years outside it are not known."""
    calendar = read_calendar(tmp_path, "cl")
    assert calendar == calendar_of("cl")
    assert not calendar.is_bank_day(date(2026, 12, 31))
    assert [calendar.knows(year) for year in (2014, 2015, 2050, 2051)] == [False, True, True, False]


def test_a_run_names_the_calendar_it_used(tmp_path: Path) -> None:
    """The edition of a kept run brings the same days back, whatever the file says by then."""
    calendar = read_calendar(_write(tmp_path, FILE), "cl")
    assert calendar.edition.endswith(" cl +2026-11-20 -2026-12-31 until:2030")
    assert to_calendar("cl", calendar.edition) == calendar
    assert to_calendar("cl", calendar_of("cl").edition) == calendar_of("cl")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("add = 3", "cl.toml in calendars: add must be written [[add]] with on and reason"),
        ('[[add]]\non = "20-11-2026"\nreason = "x"', "cl.toml in calendars: each [[add]] needs on = YYYY-MM-DD"),
        ("[[remove]]\non = 2026-12-31", "cl.toml in calendars: 2026-12-31 needs its reason"),
        ('until = "2030"', "cl.toml in calendars: until must be a year, not '2030'"),
        ("closed = 1", "cl.toml in calendars: closed is not known; known are add, remove, until"),
    ],
)
def test_a_file_that_cannot_be_meant_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    """Every day needs its reason, and nothing is guessed."""
    with pytest.raises(CalendarError) as caught:
        read_calendar(_write(tmp_path, text), "cl")
    assert str(caught.value) == reason


def test_a_file_that_is_no_toml_is_refused(tmp_path: Path) -> None:
    """The message names the file."""
    with pytest.raises(CalendarError, match=r"cl\.toml in calendars cannot be read"):
        read_calendar(_write(tmp_path, "= ="), "cl")
