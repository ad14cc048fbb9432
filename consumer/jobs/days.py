"""On which days a job is due where it is not every day: bank days, and the days of the Chilean tax office."""

from collections.abc import Callable
from datetime import date
from pathlib import Path

from consumer.facts.bankdays import CalendarError, calendar_of, read_calendar

# Issuers close a month's sales register until the 20th, and the F29 is filed between the 10th and the 28th.
_REGISTER_DAYS = range(1, 22)
_STATEMENT_DAYS = range(10, 29)
_MONDAY = 0


def bank_days_of(data_dir: Path, country: str) -> Callable[[date], bool]:
    """Tell bank days as the merchant's own file has them whenever it is asked, since laws move days within weeks."""

    def is_bank_day(on: date) -> bool:
        try:
            calendar = read_calendar(data_dir, country)
        except CalendarError:
            # The job must still wake: its run refuses the file, and the tick then says what is wrong with it.
            calendar = calendar_of(country)
        return calendar.is_bank_day(on)

    return is_bank_day


def fiscal_streams(on: date) -> tuple[str, ...]:
    """Name the fiscal streams to read on a day: in season daily, and all of them on Mondays for what was rectified."""
    if on.weekday() == _MONDAY:
        return ("tax-invoices", "tax-returns", "tax-statements")
    register = ("tax-invoices",) if on.day in _REGISTER_DAYS else ()
    return register + (("tax-statements",) if on.day in _STATEMENT_DAYS else ())


def is_fiscal_day(on: date) -> bool:
    return bool(fiscal_streams(on))
