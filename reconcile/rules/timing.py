"""Bank days of whole columns: local times, the bank day of a moment, moves by bank days, payout windows."""

from collections.abc import Callable
from datetime import date, timedelta

import numpy as np
import pandas as pd
import pyarrow as pa
from pandas import Series

from consumer.facts.bankdays import BankCalendar
from reconcile.rules.columns import Cells, Ints, look_up, to_arrow, to_text_cells
from reconcile.rules.inputs import DAY, MOMENT


def to_local_times(moments: Series, calendar: BankCalendar) -> Series:
    """Return the wall clock of the country, without a zone."""
    local: Series = moments.dt.tz_convert(calendar.country.zone).dt.tz_localize(None)
    return local


def format_clock_times(local: Series) -> Cells:
    """Write the time of day as hours, minutes and seconds."""
    seconds = to_arrow(local).cast(pa.time64("us")).cast(pa.time32("s"), safe=False)
    return to_text_cells(seconds.cast(pa.large_string()))


def move_days(days: Series, move: Callable[[date], date]) -> Series:
    """Apply a rule of the calendar once per distinct day, since years of rows hold few days."""
    moved = {day: pd.Timestamp(move(day.date())) for day in days.dropna().unique()}
    return look_up(days, pd.Series(moved, dtype=DAY))


def shift_days(days: Series, count: int, calendar: BankCalendar) -> Series:
    return move_days(days, lambda day: calendar.shift(day, count))


def to_bank_days(moments: Series, calendar: BankCalendar) -> Series:
    """Return the bank day whose window holds each moment."""
    local = to_local_times(moments, calendar)
    days = local.dt.normalize().astype(DAY)
    after = move_days(days, calendar.next_bank_day)
    cutoff = calendar.country.cutoff
    if cutoff is None:
        return move_days(days, calendar.on_or_after)
    open_until = timedelta(hours=cutoff.hour, minutes=cutoff.minute)
    return _choose_days(_are_bank_days(days, calendar) & ((local - days) < open_until), days, after)


def to_payout_bank_days(created: Series, last_item: Series, calendar: BankCalendar) -> Series:
    """Return each payout's bank day: the window its items belong to.

    The provider makes the payout of a window just after the cut, so a payout without items from after the cut
    belongs to the day that was cut, not to the next one.
    """
    by_clock = to_bank_days(created, calendar)
    if calendar.country.cutoff is None:
        return by_clock
    today = to_local_times(created, calendar).dt.normalize().astype(DAY)
    return _choose_days(_are_bank_days(today, calendar) & ~(last_item > today), today, by_clock)


def _are_bank_days(days: Series, calendar: BankCalendar) -> Series:
    return days.isin([day for day in days.dropna().unique() if calendar.is_bank_day(day.date())])


def _choose_days(mask: Series, days: Series, others: Series) -> Series:
    chosen: Series = days.where(mask, others)
    return chosen


def expect_arrivals(days: Series, schedule: str, calendar: BankCalendar) -> Series:
    """Return the day the money should be in the bank; the midnight schedule of Chile takes one bank day more."""
    if schedule == "00:00" and calendar.country.cutoff is not None:
        return shift_days(days, 1, calendar)
    return move_days(days, calendar.expected_arrival)


def to_windows(days: Series, calendar: BankCalendar) -> tuple[Series, Series]:
    edges = {day: calendar.window_of(day.date()) for day in days.dropna().unique()}
    since = pd.Series({day: edge[0] for day, edge in edges.items()}, dtype=MOMENT)
    until = pd.Series({day: edge[1] for day, edge in edges.items()}, dtype=MOMENT)
    return look_up(days, since), look_up(days, until)


def to_day_numbers(days: Series) -> Ints:
    """Turn days into whole numbers that compare and subtract; a missing day must be set aside before."""
    return days.to_numpy().astype("datetime64[D]").astype(np.int64)


def to_days(numbers: Ints) -> list[str]:
    """Write day numbers as ISO dates."""
    distinct, places = np.unique(numbers, return_inverse=True)
    texts = np.datetime_as_string(distinct.astype("datetime64[D]")).astype(object)
    days: list[str] = texts[places].tolist()
    return days


def to_day(number: int) -> str:
    """Write a day number as an ISO date, for evidence."""
    return str(np.datetime64(int(number), "D"))
