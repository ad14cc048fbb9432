"""Query results as typed columns: the database joins the cells of many rows to one value, with no object for a cell."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa
from pandas import DataFrame

from reconcile.reading.cells import (
    NOWHERE,
    SELDOM,
    WRITTEN,
    Marks,
    Piece,
    Query,
    joined_by_postgresql,
    joined_by_sqlite,
    parsed,
)
from reconcile.reading.memory import release_arrow_memory
from reconcile.reading.threads import background_thread
from reconcile.rules.columns import BETWEEN, combined
from reconcile.rules.inputs import MOMENT, TEXT, Schema, typed

# How much of a table one value may hold: so many rows in SQLite, so many pages of 8 kB in PostgreSQL.
STRETCH = 20_000
PAGES = 1_024
# Pieces that may wait to be parsed: the database is read no further ahead.
_AHEAD = 3


def read_table(
    database: sa.Connection, statement: sa.Select[Any], schema: Schema, *, along: sa.Table | None = None
) -> pa.Table:
    """Read a query whose columns are named as the schema's, on the caller's connection and in its view.

    `along` is the table whose rows these are, one row each: it is then read a stretch at a time, else all at once.
    A driver with an SQLite of its own would drop the locks that this process holds on the file.
    """
    given = {column.name: column for column in statement.selected_columns}
    told = {name: given[name] for name in schema if not _is_fixed(given[name])}
    kinds = {name: schema[name] for name in told}
    read = _from_sqlite if database.dialect.name == "sqlite" else _from_postgresql
    for marks in (SELDOM, NOWHERE):
        query = Query(statement, [(column, kinds[name]) for name, column in told.items()], marks)
        tables = list(_all_parsed(read(database, query, along), kinds, marks))
        if not any(table is None for table in tables):
            break
    else:
        raise pa.ArrowInvalid("the database holds a text that is not UTF-8")
    found = pa.concat_tables([empty_table(kinds), *tables]).combine_chunks()
    release_arrow_memory()
    fixed = {name: pa.scalar(given[name].element.value, _type_of(schema[name])) for name in schema if name not in told}
    columns = [pa.repeat(fixed[name], len(found)) if name in fixed else found[name] for name in schema]
    return pa.table(columns, names=list(schema))


def _is_fixed(column: Any) -> bool:
    """Tell whether a column is the same in every row, so that nobody need write it."""
    return isinstance(getattr(column, "element", column), sa.BindParameter)


def empty_table(schema: Schema) -> pa.Table:
    return pa.schema([(name, _type_of(dtype)) for name, dtype in schema.items()]).empty_table()


def _type_of(dtype: str) -> Any:
    return pa.timestamp("us", tz="UTC") if dtype == MOMENT else WRITTEN[dtype]


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


def _from_sqlite(database: sa.Connection, query: Query, along: sa.Table | None) -> Iterator[Piece]:
    written = query.joined(joined_by_sqlite)
    if along is None:
        yield query.piece(database.execute(written).one())
        return
    number: Any = sa.literal_column(f"{along.name}.rowid")
    edges = [sa.select(edge(number)).select_from(along).scalar_subquery() for edge in (sa.func.min, sa.func.max)]
    first, last = database.execute(sa.select(*edges)).one()
    stretch = written.where(number >= sa.bindparam("first"), number < sa.bindparam("end"))
    for since in range(first, last + 1, STRETCH) if first is not None else ():
        yield query.piece(database.execute(stretch, {"first": since, "end": since + STRETCH}).one())


def _from_postgresql(database: sa.Connection, query: Query, along: sa.Table | None) -> Iterator[Piece]:
    written = query.joined(joined_by_postgresql)
    if along is not None:
        written = _by_pages(written, along)
    compiled = written.compile(dialect=database.dialect, compile_kwargs={"render_postcompile": True})
    # How many stretches there are is not known when the statement is planned, and compiling it would take longer.
    database.exec_driver_sql("SELECT set_config('DateStyle', 'ISO', true), set_config('jit', 'off', true)").close()
    driver: Any = database.connection
    # What is sent as bytes is not decoded, and is here while the server writes the next stretch.
    with driver.cursor(binary=True) as cursor:
        yield from map(query.piece, cursor.stream(str(compiled), compiled.params))


def _by_pages(written: sa.Select[Any], table: sa.Table) -> sa.Select[Any]:
    """Ask for every stretch of the table's pages in one statement, so that all of them are of one view."""
    pages: Any = sa.literal_column(f"pg_relation_size('{table.name}') / current_setting('block_size')::bigint")
    page = sa.column("page", sa.BigInteger)
    starts = sa.func.generate_series(0, pages, PAGES).table_valued(page, name="starts").render_derived()
    place: Any = sa.literal_column(f"{table.name}.ctid")
    edges = (starts.c.page, starts.c.page + PAGES)
    since, end = (sa.func.format("(%s,0)", edge).op("::")(sa.text("tid")) for edge in edges)
    stretch = written.where(place >= since, place < end).lateral("stretch")
    return sa.select(stretch).select_from(starts.join(stretch, sa.true()))


def _all_parsed(pieces: Iterable[Piece], schema: Schema, marks: Marks) -> Iterator[pa.Table | None]:
    """Parse pieces in a thread while the next ones are read: neither the database nor Arrow holds the interpreter."""
    waiting = deque[Future[pa.Table | None]]()
    with background_thread() as worker:
        for piece in pieces:
            waiting.append(worker.submit(parsed, piece, schema, marks))
            if len(waiting) > _AHEAD:
                yield waiting.popleft().result()
        yield from (one.result() for one in waiting)


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
