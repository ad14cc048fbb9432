"""Query results as typed columns: the driver's own values in chunks, without a row object of ours in between."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa
from pandas import DataFrame

from reconcile.rules.inputs import DAY, MOMENT, MONEY, TEXT, Schema, typed

CHUNK = 20_000
KEYS_AT_ONCE = 5_000
_ARROW = {
    TEXT: pa.large_string(),
    MONEY: pa.int64(),
    MOMENT: pa.timestamp("us", tz="UTC"),
    DAY: pa.timestamp("us"),
}
_BETWEEN = pa.scalar("\x1f", type=pa.large_string())
# One column read and several made of it, so that whole bodies are never held together.
Expand = Callable[[Sequence[Any]], Mapping[str, Sequence[Any]]]


def read_frame(
    database: sa.Connection, statement: sa.Select[Any], schema: Schema, *, expand: tuple[str, Expand] | None = None
) -> DataFrame:
    """Read a query whose columns are named as the schema's; `expand` names the last column and what is made of it."""
    names = [column.name for column in statement.selected_columns]
    cursor = database.execute(statement).cursor
    parts: dict[str, list[Any]] = {name: [] for name in schema}
    while rows := cursor.fetchmany(CHUNK):
        columns = dict(zip(names, zip(*rows, strict=True), strict=True))
        if expand is not None:
            columns |= expand[1](columns.pop(expand[0]))
        for name in schema:
            parts[name].append(_to_array(columns[name], schema[name]))
    table = pa.table({name: pa.chunked_array(parts[name], type=_ARROW[dtype]) for name, dtype in schema.items()})
    return typed(table.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get), schema)


def batches(keys: Sequence[str]) -> Iterator[Sequence[str]]:
    """Cut keys into lists short enough for one statement on either database."""
    for start in range(0, len(keys), KEYS_AT_ONCE):
        yield keys[start : start + KEYS_AT_ONCE]


def _to_array(values: Sequence[Any], dtype: str) -> Any:
    if dtype not in {MOMENT, DAY} or not isinstance(next((v for v in values if v is not None), None), str):
        return pa.array(values, type=pa.date32() if dtype == DAY else _ARROW[dtype]).cast(_ARROW[dtype])
    # SQLite keeps moments and days as ISO text; moments are UTC without saying so.
    moments = pa.array(values, type=pa.string()).cast(pa.timestamp("us"))
    return pc.assume_timezone(moments, "UTC") if dtype == MOMENT else moments


def places_of(wanted: Sequence[Any], known: Sequence[Any]) -> Any:
    """Give the place of each wanted key among the known ones, which are unique, and −1 where it is not there."""
    keys = [_one_key(columns) for columns in (wanted, known)]
    return pc.index_in(keys[0], value_set=keys[1], skip_nulls=True).fill_null(-1).to_numpy(zero_copy_only=False)


def _one_key(columns: Sequence[Any]) -> Any:
    arrays = [pa.array(column, type=pa.large_string()) for column in columns]
    return arrays[0] if len(arrays) == 1 else pc.binary_join_element_wise(*arrays, _BETWEEN)


def in_order(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    """Sort by text columns compared as bytes, what is missing last."""
    keys = pa.table({name: pa.array(frame[name], type=pa.large_string()) for name in names})
    order = pc.sort_indices(keys, sort_keys=[(name, "ascending") for name in names])
    return frame.take(order.to_numpy()).reset_index(drop=True)
