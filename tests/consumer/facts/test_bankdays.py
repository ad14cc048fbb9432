"""Bank days: the 14:00 window of Chile, holidays that move, the CNBV days of Mexico, both clock changes."""

from datetime import UTC, date, datetime, time

import pytest

from consumer.facts.bankdays import BankCalendar, calendar_of
from consumer.facts.clock import day_start, local_instant
from consumer.facts.countries import COUNTRIES

SANTIAGO = "America/Santiago"


@pytest.mark.parametrize(
    ("local", "bank_day"),
    [
        ("2026-11-10 13:59", "2026-11-10"),
        ("2026-11-10 14:00", "2026-11-11"),
        ("2026-11-13 14:00", "2026-11-16"),
        ("2026-11-14 10:00", "2026-11-16"),
        ("2026-11-16 13:59", "2026-11-16"),
        ("2026-09-17 14:00", "2026-09-21"),
        ("2026-04-02 14:00", "2026-04-06"),
        ("2026-12-30 14:00", "2027-01-04"),
        ("2025-12-30 15:00", "2026-01-02"),
    ],
)
def test_a_moment_belongs_to_the_day_whose_window_closes_next(local: str, bank_day: str) -> None:
    """In Chile a bank day runs from 14:00 of the one before to 13:59 of its own."""
    on, at = local.split()
    moment = local_instant(date.fromisoformat(on), time.fromisoformat(at), SANTIAGO)

    since, until = calendar_of("cl").window_of(date.fromisoformat(bank_day))
    assert since <= moment < until


def test_the_window_of_a_monday_begins_on_friday_afternoon() -> None:
    """A window is half-open and reaches back over the weekend."""
    assert calendar_of("cl").window_of(date(2026, 11, 16)) == (
        datetime(2026, 11, 13, 17, tzinfo=UTC),
        datetime(2026, 11, 16, 17, tzinfo=UTC),
    )


def test_the_bank_holidays_of_mexico_are_those_of_the_cnbv() -> None:
    """Every weekday the commission lists for 2026 is closed, and the banks open on the day after each."""
    listed = ["01-01", "02-02", "03-16", "04-02", "04-03", "05-01", "09-16", "11-02", "11-16", "12-25"]
    calendar = calendar_of("mx")
    weekdays = [date(2026, month, day) for month in range(1, 13) for day in range(1, 29)]

    closed = [f"{day:%m-%d}" for day in weekdays if day.weekday() < 5 and not calendar.is_bank_day(day)]

    assert closed == listed


def test_mexico_counts_local_dates() -> None:
    """In Mexico a late-evening payment of a bank day is of that day, and one of a Sunday of Monday."""
    calendar = calendar_of("mx")

    assert calendar.window_of(date(2026, 11, 10)) == (
        datetime(2026, 11, 10, 6, tzinfo=UTC),
        datetime(2026, 11, 11, 6, tzinfo=UTC),
    )
    assert calendar.window_of(date(2026, 11, 9))[0] == datetime(2026, 11, 7, 6, tzinfo=UTC)
    assert calendar.expected_arrival(date(2026, 11, 13)) == date(2026, 11, 17)


def test_bank_days_are_counted_between_dates() -> None:
    """From a Friday to the Monday after is one bank day, and backwards it is minus one."""
    calendar = calendar_of("cl")

    assert calendar.days_between(date(2026, 11, 13), date(2026, 11, 16)) == 1
    assert calendar.days_between(date(2026, 11, 16), date(2026, 11, 13)) == -1
    assert calendar.shift(date(2026, 11, 16), -1) == date(2026, 11, 13)


def test_an_override_adds_and_removes_days() -> None:
    """A law that moves a holiday is followed without a new release, and the edition says so."""
    calendar = BankCalendar(
        COUNTRIES["cl"], add=frozenset({date(2026, 11, 10)}), remove=frozenset({date(2026, 12, 31)})
    )

    assert not calendar.is_bank_day(date(2026, 11, 10))
    assert calendar.is_bank_day(date(2026, 12, 31))
    assert calendar.edition.endswith("cl +2026-11-10 -2026-12-31")


@pytest.mark.parametrize(
    ("on", "start"),
    [("2026-09-06", "2026-09-06T04:00:00+00:00"), ("2026-04-05", "2026-04-05T04:00:00+00:00")],
)
def test_a_local_day_starts_once_on_clock_changes(on: str, start: str) -> None:
    """The day without midnight starts at its first instant, the day after the long one when it is over."""
    assert day_start(date.fromisoformat(on), SANTIAGO).isoformat() == start
