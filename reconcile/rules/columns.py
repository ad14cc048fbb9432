"""Whole columns: sorted and looked up without losing their types, and the bank days of moments."""

from collections.abc import Callable, Iterable, Sequence
from datetime import date, timedelta
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pandas import DataFrame, Series
from pandas.api.extensions import ExtensionArray

from consumer.facts.bankdays import BankCalendar
from reconcile.rules.inputs import DAY, MOMENT

# Of numpy: whole numbers, places of rows, yes or no by place, and texts as objects.
Ints: TypeAlias = npt.NDArray[np.int64]
Indices: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]
Words: TypeAlias = npt.NDArray[np.object_]
# Of pandas: the typed values of a column, without its index.
Cells: TypeAlias = ExtensionArray
# Of Arrow, which has no types of its own.
ArrowTexts: TypeAlias = pa.Array
ArrowValues: TypeAlias = pa.Array
AnyColumn: TypeAlias = Series | pd.Index | Cells | ArrowValues

# Between the parts of a key of several columns: without it, a and bc would be ab and c.
BETWEEN = pa.scalar("\x1f", type=pa.large_string())


class Texts:
    """A text column of which single cells are asked; a missing one is None."""

    def __init__(self, column: AnyColumn) -> None:
        self._values = to_texts(column)

    def __getitem__(self, place: int) -> str | None:
        text: str | None = self._values[place].as_py()
        return text

    def find(self, text: str) -> Indices:
        """Return the places of the cells that are this text."""
        return np.flatnonzero(to_mask(pc.equal(self._values, text).fill_null(fill_value=False)))


def sort_rows(frame: DataFrame, names: list[str]) -> DataFrame:
    """Sort by columns, and number the rows anew; what stands in order already is not copied."""
    places = sort_places(frame, names)
    is_sorted = np.array_equal(places, np.arange(len(places)))
    return (frame if is_sorted else frame.take(places)).reset_index(drop=True)


def sort_places(frame: DataFrame, names: list[str]) -> Indices:
    """Return the places of the rows as sorted by columns, text as bytes and missing values last."""
    keys = pa.table({name: pa.array(frame[name]) for name in names})
    return to_ints(pc.sort_indices(keys, sort_keys=[(name, "ascending") for name in names]))


def look_up(keys: Series, table: Series) -> Series:
    """Return the table's value of each key, NA where it has none, in the table's type; integers become nullable."""
    kept = table.astype("Int64") if table.dtype == "int64" else table
    if not table.index.is_unique:
        raise ValueError("the table that is looked up has a key twice")
    return pd.Series(kept.array.take(find_places(keys, table.index), allow_fill=True), index=keys.index)


def find_places(keys: Series, known: AnyColumn) -> Indices:
    """Return where among the known keys each key stands; −1 for none."""
    wanted = to_arrow(keys)
    return to_ints(pc.index_in(wanted, value_set=to_arrow(known).cast(wanted.type), skip_nulls=True).fill_null(-1))


def add_by_place(places: Indices, values: Series, count: int) -> tuple[Ints, Ints]:
    """Add up the known values of each place, and count them; the place −1 stands for none."""
    chosen = values.notna().to_numpy() & (places >= 0)
    sums = np.zeros(count, dtype=np.int64)
    np.add.at(sums, places[chosen], values[chosen].to_numpy(dtype=np.int64))
    return sums, np.bincount(places[chosen], minlength=count)


def share_texts(values: Series) -> Words:
    """Return texts as objects that equal rows share; a missing one is None."""
    codes, distinct = pd.factorize(values)
    return np.array([*distinct, None], dtype=object)[codes]


def join_keys(frame: DataFrame, names: list[str]) -> ArrowTexts:
    """Return several text columns as one key; a missing cell is empty text there."""
    columns = [pc.fill_null(to_texts(frame[name]), "") for name in names]
    return pc.binary_join_element_wise(*columns, BETWEEN)


def decode(codes: Ints | ArrowValues, words: Sequence[str | None]) -> Cells:
    """Return the word of each code as a text column."""
    return to_text_cells(pa.array(words, type=pa.large_string()).take(pa.array(codes)))


def to_codes(column: AnyColumn) -> Ints:
    """Number the distinct texts of a column from zero in the order they come; a missing one is −1."""
    return to_ints(to_texts(column).dictionary_encode().indices.fill_null(-1))


def to_capitals(texts: ArrowTexts) -> ArrowTexts:
    """Write Arrow texts in capitals; only plain ASCII may be left to Arrow, which writes fewer letters large."""
    if pc.all(pc.string_is_ascii(texts)).as_py() is not False:
        return pc.ascii_upper(texts)
    return pa.array([None if text is None else text.upper() for text in texts.to_pylist()], type=texts.type)


def to_texts(column: AnyColumn) -> ArrowTexts:
    """Return a text column as one Arrow array."""
    return to_arrow(column, pa.large_string())


def to_arrow(column: AnyColumn, kind: pa.DataType | None = None) -> ArrowValues:
    """Return a column as one Arrow array."""
    return to_one_array(pa.array(column, type=kind))


def to_one_array(values: pa.Array | pa.ChunkedArray) -> ArrowValues:
    """Return an Arrow column as one array."""
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def to_ints(values: ArrowValues) -> Ints:
    """Return Arrow numbers, of which none is missing."""
    numbers: Ints = values.to_numpy().astype(np.int64, copy=False)
    return numbers


def to_mask(values: ArrowValues) -> Mask:
    """Return Arrow truths, of which none is missing."""
    mask: Mask = values.to_numpy(zero_copy_only=False)
    return mask


def to_text_cells(texts: ArrowTexts) -> Cells:
    """Return Arrow texts as they are kept in a frame."""
    cells: Cells = pd.array(texts, dtype="str")
    return cells


def are_in(column: AnyColumn, texts: Iterable[str]) -> Mask:
    """Return which texts of a column are among some texts."""
    return to_mask(pc.is_in(to_texts(column), value_set=pa.array(list(texts), type=pa.large_string())))


def expand(starts: Indices, sizes: Ints) -> Indices:
    """Return the places of all stretches, one stretch after another, each given by its start and its size."""
    before = np.cumsum(sizes) - sizes
    places: Indices = np.arange(int(sizes.sum())) + np.repeat(starts - before, sizes)
    return places


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
    places, distinct = pd.factorize(days.array)
    return _spread(days, places, [move(day.date()) for day in distinct], DAY)


def _spread(days: Series, places: Indices, values: Sequence[date], dtype: str) -> Series:
    """Return the value of each day by its place among the distinct days."""
    return pd.Series(pd.Series(values, dtype=dtype).array.take(places, allow_fill=True), index=days.index)


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
    places, distinct = pd.factorize(days.array)
    is_bank_day = np.array([*(calendar.is_bank_day(day.date()) for day in distinct), False])
    return pd.Series(is_bank_day[places], index=days.index)


def _choose_days(mask: Series, days: Series, others: Series) -> Series:
    chosen: Series = days.where(mask, others)
    return chosen


def expect_arrivals(days: Series, schedule: str, calendar: BankCalendar) -> Series:
    """Return the day the money should be in the bank; the midnight schedule of Chile takes one bank day more."""
    if schedule == "00:00" and calendar.country.cutoff is not None:
        return shift_days(days, 1, calendar)
    return move_days(days, calendar.expected_arrival)


def to_windows(days: Series, calendar: BankCalendar) -> tuple[Series, Series]:
    places, distinct = pd.factorize(days.array)
    edges = [calendar.window_of(day.date()) for day in distinct]
    since, until = ([edge[end] for edge in edges] for end in (0, 1))
    return _spread(days, places, since, MOMENT), _spread(days, places, until, MOMENT)


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
