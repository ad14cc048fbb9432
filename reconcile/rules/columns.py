"""Sorting and looking up whole columns without losing their types."""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pandas import DataFrame, Series
from pandas.api.extensions import ExtensionArray

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
AnyColumn: TypeAlias = Series | Cells | ArrowValues

# Between the parts of a key of several columns: without it, a and bc would be ab and c.
BETWEEN = pa.scalar("\x1f", type=pa.large_string())


class Texts:
    """A text column of which single cells are asked; a missing one is None."""

    def __init__(self, column: AnyColumn) -> None:
        self._values = to_texts(column)

    def __getitem__(self, place: int) -> str | None:
        text: str | None = self._values[place].as_py()
        return text


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
    wanted, known = to_arrow(keys), to_arrow(table.index)
    if not table.index.is_unique:
        raise ValueError("the table that is looked up has a key twice")
    places = pc.index_in(wanted, value_set=known.cast(wanted.type), skip_nulls=True).fill_null(-1).to_numpy()
    return pd.Series(kept.array.take(places, allow_fill=True), index=keys.index)


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
    """Return a column as one Arrow array, whatever pieces it is kept in."""
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
