"""Query results as typed columns: the database writes rows as CSV and Arrow reads them, with no object for a cell."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from itertools import chain, islice
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import sqlalchemy as sa
from pandas import DataFrame

from consumer.facts.store import UtcDateTime
from reconcile.memory import give_back
from reconcile.rules.columns import BETWEEN, combined
from reconcile.rules.inputs import DAY, MOMENT, MONEY, TEXT, Schema, typed
from reconcile.threads import second_thread

CHUNK = 5_000
STRETCH = 20_000
# Pieces that may wait to be parsed: the database is read no further ahead.
_AHEAD = 3
KEYS_AT_ONCE = 5_000
# Moments are written as UTC without saying so.
_WRITTEN = {TEXT: pa.large_string(), MONEY: pa.int64(), MOMENT: pa.timestamp("us"), DAY: pa.timestamp("us")}
# Text in single quotes and a bare NULL: SQLite's own way to write a value, and PostgreSQL's when asked to.
_PARSING = pa.csv.ParseOptions(quote_char="'", newlines_in_values=True, ignore_empty_lines=False)
_NULL = "NULL"


def read_table(
    database: sa.Connection, statement: sa.Select[Any], schema: Schema, *, along: sa.Table | None = None
) -> pa.Table:
    """Read a query whose columns are named as the schema's, on the caller's connection and in its view.

    `along` is the table whose rows these are, one row each: SQLite then writes a stretch of it at a time.
    A driver with an SQLite of its own would drop the locks that this process holds on the file.
    """
    given = {column.name: column for column in statement.selected_columns}
    columns = [given[name] for name in schema]
    if database.dialect.name != "sqlite":
        pieces = _from_postgresql(database, statement, columns)
    elif along is None:
        pieces = _from_sqlite(database, statement, columns)
    else:
        pieces = _along(database, statement, columns, along)
    found = pa.concat_tables([empty_table(schema), *_all_parsed(pieces, schema)]).combine_chunks()
    give_back()
    return found


def empty_table(schema: Schema) -> pa.Table:
    kept = _WRITTEN | {MOMENT: pa.timestamp("us", tz="UTC")}
    return pa.schema([(name, kept[dtype]) for name, dtype in schema.items()]).empty_table()


def whole(column: Any, database: sa.Connection) -> Any:
    """Name a column so that SQLite reads the table from end to end: by its index, every row is looked up alone."""
    return sa.literal_column(f"+{column.table.name}.{column.name}") if database.dialect.name == "sqlite" else column


def to_frame(table: pa.Table, schema: Schema) -> DataFrame:
    """Give an Arrow table as a typed frame; its texts are not copied."""
    return typed(table.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get), schema)


def to_known_frame(table: pa.Table, schema: Schema, *order: str) -> DataFrame:
    """Give an Arrow table as a typed frame in order, where what is empty is unknown."""
    nothing = pa.scalar(None, type=pa.large_string())
    known = [pc.if_else(pc.equal(table[name], ""), nothing, table[name]) if dtype == TEXT else table[name]
             for name, dtype in schema.items()]  # fmt: skip
    return to_frame(in_order(pa.table(known, names=list(schema)), order), schema)


def _along(
    database: sa.Connection, statement: sa.Select[Any], columns: Sequence[Any], table: sa.Table
) -> Iterator[bytes]:
    number: Any = sa.literal_column(f"{table.name}.rowid")
    edges = [sa.select(edge(number)).select_from(table).scalar_subquery() for edge in (sa.func.min, sa.func.max)]
    first, last = database.execute(sa.select(*edges)).one()
    rows = sa.func.group_concat(_row(columns), sa.text("char(10)"))
    written = statement.with_only_columns(sa.cast(rows, sa.LargeBinary), maintain_column_froms=True)
    stretch = written.where(number >= sa.bindparam("first"), number < sa.bindparam("end"))
    for since in range(first, last + 1, STRETCH) if first is not None else ():
        piece = database.execute(stretch, {"first": since, "end": since + STRETCH}).scalar_one()
        if piece is not None:
            yield piece


def _row(columns: Sequence[Any]) -> Any:
    return sa.func.printf(",".join(["%Q"] * len(columns)), *columns)


def _from_sqlite(database: sa.Connection, statement: sa.Select[Any], columns: Sequence[Any]) -> Iterator[bytes]:
    # As bytes, or each row would be decoded only to be encoded again.
    written = statement.with_only_columns(sa.cast(_row(columns), sa.LargeBinary), maintain_column_froms=True)
    cursor = database.execute(written).cursor
    while rows := cursor.fetchmany(CHUNK):
        yield b"\n".join(chain.from_iterable(rows))


def _from_postgresql(database: sa.Connection, statement: sa.Select[Any], columns: Sequence[Any]) -> Iterator[bytes]:
    in_utc = [sa.func.timezone("UTC", column) if isinstance(column.type, UtcDateTime) else column for column in columns]
    written = statement.with_only_columns(*in_utc, maintain_column_froms=True)
    compiled = written.compile(dialect=database.dialect, compile_kwargs={"render_postcompile": True})
    database.exec_driver_sql("SET LOCAL DateStyle TO ISO")
    driver: Any = database.connection
    with driver.cursor() as cursor:
        command = f"COPY ({compiled}) TO STDOUT WITH (FORMAT csv, QUOTE '''', NULL '{_NULL}', ENCODING 'UTF8')"
        with cursor.copy(command, compiled.params) as copied:
            while rows := list(islice(copied, CHUNK)):
                yield b"".join(rows)


def _all_parsed(pieces: Iterable[bytes], schema: Schema) -> Iterator[pa.Table]:
    """Parse pieces in a thread while the next ones are read: neither the database nor Arrow holds the interpreter."""
    waiting = deque[Future[pa.Table]]()
    with second_thread() as beside:
        for piece in pieces:
            waiting.append(beside.submit(_parsed, piece, schema))
            if len(waiting) > _AHEAD:
                yield waiting.popleft().result()
        yield from (one.result() for one in waiting)


def _parsed(piece: bytes, schema: Schema) -> pa.Table:
    converting = pa.csv.ConvertOptions(
        column_types={name: _WRITTEN[dtype] for name, dtype in schema.items()},
        null_values=[_NULL],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    reading = pa.csv.ReadOptions(column_names=list(schema), block_size=len(piece) + 1)
    table = pa.csv.read_csv(
        pa.BufferReader(piece), read_options=reading, parse_options=_PARSING, convert_options=converting
    )
    for place, (name, dtype) in enumerate(schema.items()):
        if dtype == MOMENT:
            table = table.set_column(place, name, pc.assume_timezone(table[name], "UTC"))
    return table


def batches(keys: Sequence[str]) -> Iterator[Sequence[str]]:
    """Cut keys into lists short enough for one statement on either database."""
    for start in range(0, len(keys), KEYS_AT_ONCE):
        yield keys[start : start + KEYS_AT_ONCE]


def places_of(wanted: Sequence[Any], known: Sequence[Any]) -> Any:
    """Give the first place of each wanted key among the known ones, null where it is not there or has a null part."""
    wanted_key, known_key = (_one_key(columns) for columns in (wanted, known))
    return pc.index_in(wanted_key, value_set=known_key, skip_nulls=True)


def looked_up(wanted: Sequence[Any], known: Sequence[Any], values: Any) -> Any:
    """Give the value of each wanted key, null where the key is not known."""
    return values.take(places_of(wanted, known))


def _one_key(columns: Sequence[Any]) -> Any:
    return combined(columns[0] if len(columns) == 1 else pc.binary_join_element_wise(*columns, BETWEEN))


def in_order(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """Sort by columns, text compared as bytes, what is missing last."""
    return table.take(pc.sort_indices(table, sort_keys=[(name, "ascending") for name in names]))
