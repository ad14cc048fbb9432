"""Sorting and looking up whole columns without losing their types."""

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pandas import DataFrame


def in_total_order(frame: DataFrame, names: list[str]) -> DataFrame:
    """Sort by columns, text as bytes and missing values last, and number the rows anew."""
    keys = pa.table({name: pa.array(frame[name]) for name in names})
    places = pc.sort_indices(keys, sort_keys=[(name, "ascending") for name in names])
    return frame.take(places.to_numpy()).reset_index(drop=True)


def looked_up(keys: Any, table: Any) -> Any:
    """Give the table's value of each key, and NA where it has none; the table's type is kept, integers as nullable."""
    kept = table.astype("Int64") if table.dtype == "int64" else table
    return kept.reindex(keys.to_numpy()).set_axis(keys.index)


def shared_texts(values: Any) -> Any:
    """Give texts as objects that equal rows share; a missing one is None."""
    codes, distinct = pd.factorize(values)
    return np.array([*distinct, None], dtype=object)[codes]


def joined_keys(frame: DataFrame, names: list[str]) -> Any:
    """Give several text columns as one key; a missing cell is empty text there."""
    columns = [pc.fill_null(pa.array(frame[name], type=pa.large_string()), "") for name in names]
    return pc.binary_join_element_wise(*columns, pa.scalar("\x1f", type=pa.large_string()))
