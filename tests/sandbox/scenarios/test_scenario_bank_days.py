"""The sandbox's own bank calendar, against days written down elsewhere."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import holidays
import pytest

from sandbox.scenarios.calendar import CLOSED, add_bank_days, bank_day, bank_days, is_bank_day, local_date

SANTIAGO = ZoneInfo("America/Santiago")
MEXICO = ZoneInfo("America/Mexico_City")


@pytest.mark.parametrize(
    ("local", "expected"),
    [
        ("2026-11-10T13:59:59", date(2026, 11, 10)),
        ("2026-11-10T14:00:00", date(2026, 11, 11)),
        ("2026-11-13T14:00:00", date(2026, 11, 16)),
        ("2026-11-14T09:00:00", date(2026, 11, 16)),
        ("2026-11-16T13:59:00", date(2026, 11, 16)),
        ("2026-09-17T14:00:00", date(2026, 9, 21)),
        ("2026-04-02T14:00:00", date(2026, 4, 6)),
        ("2026-12-30T14:00:00", date(2027, 1, 4)),
    ],
)
def test_chilean_windows_close_at_two(local: str, expected: date) -> None:
    """What happens from 14:00 on belongs to the next bank day."""
    assert bank_day(datetime.fromisoformat(local).replace(tzinfo=SANTIAGO).astimezone(UTC), "cl") == expected


def test_mexican_bank_day_is_the_local_date_or_the_next_one_banks_open() -> None:
    """Mexico has no cut inside the day."""
    assert bank_day(datetime(2026, 10, 15, 23, 30, tzinfo=MEXICO), "mx") == date(2026, 10, 15)
    assert bank_day(datetime(2026, 10, 31, 12, tzinfo=MEXICO), "mx") == date(2026, 11, 3)


def test_chilean_table_agrees_with_a_library_written_by_others() -> None:
    """Every day of both years, public holidays and the bank's own."""
    known = holidays.country_holidays("CL", years=(2026, 2027), categories=("public", "bank"))
    assert CLOSED["cl"] == set(known)


def test_mexican_table_holds_the_published_list() -> None:
    """The CNBV's days of 2026."""
    days = ["01-01", "02-02", "03-16", "04-02", "04-03", "05-01", "09-16", "11-02", "11-16", "12-12", "12-25"]
    assert {day for day in CLOSED["mx"] if day.year == 2026} == {date.fromisoformat(f"2026-{day}") for day in days}


def test_counting_bank_days_steps_over_weekends_and_holidays() -> None:
    """Forward, backward and from a closed day."""
    assert add_bank_days(date(2026, 10, 9), 1, "cl") == date(2026, 10, 13)
    assert add_bank_days(date(2026, 10, 13), -1, "cl") == date(2026, 10, 9)
    assert add_bank_days(date(2026, 10, 10), 1, "cl") == date(2026, 10, 13)
    assert add_bank_days(date(2026, 10, 10), 0, "cl") == date(2026, 10, 13)
    assert bank_days(date(2026, 10, 9), date(2026, 10, 14), "cl") == [date(2026, 10, 9), date(2026, 10, 13)]


def test_a_year_without_a_table_is_refused() -> None:
    """No day outside the tables is ever guessed."""
    with pytest.raises(ValueError, match="no bank calendar for 2028"):
        is_bank_day(date(2028, 1, 3), "cl")


def test_local_date_follows_the_country() -> None:
    """Three in the morning UTC is already the new day in Chile and still the old one in Mexico."""
    at = datetime(2026, 10, 1, 3, tzinfo=UTC)
    assert (local_date(at, "cl"), local_date(at, "mx")) == (date(2026, 10, 1), date(2026, 9, 30))
    assert local_date(at - timedelta(milliseconds=1), "cl") == date(2026, 9, 30)
