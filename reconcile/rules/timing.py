"""Bank days of whole columns: local times, the bank day of a moment, moves by bank days, payout windows."""

from collections.abc import Callable
from datetime import date, timedelta

import numpy as np
import pandas as pd
import pyarrow as pa
from pandas import Series

from consumer.facts.bankdays import BankCalendar
from reconcile.rules.columns import Cells, Ints, arrow_of, looked_up, text_cells
from reconcile.rules.inputs import DAY, MOMENT


def local_times(moments: Series, calendar: BankCalendar) -> Series:
    """Give the wall clock of the country, without a zone."""
    local: Series = moments.dt.tz_convert(calendar.country.zone).dt.tz_localize(None)
    return local


def clock_times(local: Series) -> Cells:
    """Write the time of day as hours, minutes and seconds."""
    seconds = arrow_of(local).cast(pa.time64("us")).cast(pa.time32("s"), safe=False)
    return text_cells(seconds.cast(pa.large_string()))


def on_each_day(days: Series, move: Callable[[date], date]) -> Series:
    """Apply a rule of the calendar once per distinct day, since years of rows hold few days."""
    moved = {day: pd.Timestamp(move(day.date())) for day in days.dropna().unique()}
    return looked_up(days, pd.Series(moved, dtype=DAY))


def shift(days: Series, count: int, calendar: BankCalendar) -> Series:
    return on_each_day(days, lambda day: calendar.shift(day, count))


def bank_days(moments: Series, calendar: BankCalendar) -> Series:
    """Give the bank day whose window holds each moment."""
    local = local_times(moments, calendar)
    days = local.dt.normalize().astype(DAY)
    after = on_each_day(days, calendar.next_bank_day)
    cutoff = calendar.country.cutoff
    if cutoff is None:
        return on_each_day(days, calendar.on_or_after)
    open_until = timedelta(hours=cutoff.hour, minutes=cutoff.minute)
    return _of_two(_are_bank_days(days, calendar) & ((local - days) < open_until), days, after)


def payout_bank_days(created: Series, last_item: Series, calendar: BankCalendar) -> Series:
    """Give each payout's bank day: the window its items belong to.

    The provider makes the payout of a window just after the cut, so a payout that holds nothing from after the cut
    belongs to the day that was cut, not to the next one.
    """
    by_clock = bank_days(created, calendar)
    if calendar.country.cutoff is None:
        return by_clock
    today = local_times(created, calendar).dt.normalize().astype(DAY)
    return _of_two(_are_bank_days(today, calendar) & ~(last_item > today), today, by_clock)


def _are_bank_days(days: Series, calendar: BankCalendar) -> Series:
    return days.isin([day for day in days.dropna().unique() if calendar.is_bank_day(day.date())])


def _of_two(mask: Series, days: Series, others: Series) -> Series:
    chosen: Series = days.where(mask, others)
    return chosen


def expected_arrivals(days: Series, schedule: str, calendar: BankCalendar) -> Series:
    """Give the day the money should be in the bank; the midnight schedule of Chile takes one bank day more."""
    if schedule == "00:00" and calendar.country.cutoff is not None:
        return shift(days, 1, calendar)
    return on_each_day(days, calendar.expected_arrival)


def windows(days: Series, calendar: BankCalendar) -> tuple[Series, Series]:
    edges = {day: calendar.window_of(day.date()) for day in days.dropna().unique()}
    since = pd.Series({day: edge[0] for day, edge in edges.items()}, dtype=MOMENT)
    until = pd.Series({day: edge[1] for day, edge in edges.items()}, dtype=MOMENT)
    return looked_up(days, since), looked_up(days, until)


def day_numbers(days: Series) -> Ints:
    """Turn days into whole numbers that compare and subtract; a missing day must be set aside before."""
    return days.to_numpy().astype("datetime64[D]").astype(np.int64)


def to_days(numbers: Ints) -> list[str]:
    """Write day numbers as ISO dates."""
    distinct, places = np.unique(numbers, return_inverse=True)
    texts = np.datetime_as_string(distinct.astype("datetime64[D]")).astype(object)
    return texts[places].tolist()  # type: ignore[no-any-return]


def to_day(number: int) -> str:
    """Write a day number as an ISO date, for evidence."""
    return str(np.datetime64(int(number), "D"))
