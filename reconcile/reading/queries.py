"""Query results as typed columns: the database joins the cells of many rows to one value, with no object for a cell.

Between two cells stands a mark, and another for a cell that is missing. The first marks are characters that texts
seldom have, since these are joined fastest. If a text has one, there are more marks than there may be, and the query
is repeated with bytes that are no part of any text.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa
from pandas import DataFrame

from consumer.facts.tables.types import UtcDateTime
from reconcile.reading.process import background_thread, release_arrow_memory
from reconcile.rules.columns import BETWEEN, to_one_array
from reconcile.rules.inputs import DAY, MOMENT, MONEY, TEXT, Row, Schema, to_types

# A column whose type only the database knows; statements of any columns.
Column: TypeAlias = sa.ColumnElement[Any]
Statement: TypeAlias = sa.Select[*tuple[object, ...]]

# Both databases write moments in UTC, without a zone.
_WRITTEN = {TEXT: pa.large_string(), MONEY: pa.int64(), MOMENT: pa.timestamp("us"), DAY: pa.timestamp("us")}
# How much of a table one value may hold: so many rows in SQLite, so many pages of 8 kB in PostgreSQL.
STRETCH = 20_000
PAGES = 1_024
# Pieces that may wait to be parsed: the database is read no further ahead.
_AHEAD = 3


class Marks(NamedTuple):
    """The bytes that end a cell and stand for a missing one; they differ in the last bit alone."""

    end: int
    missing: int


SELDOM, NOWHERE = Marks(0x1F, 0x1E), Marks(0xFF, 0xFE)


class Piece(NamedTuple):
    """Columns of some rows, each with the number of its known cells, or None if no cell could be mistaken."""

    rows: int
    columns: Sequence[tuple[bytes, int | None]]


class Query(NamedTuple):
    """A statement, and its columns with the type of their cells."""

    statement: Statement
    columns: Sequence[tuple[Column, str]]
    marks: Marks

    def join(self, join: Callable[[Column, Marks], Column]) -> Statement:
        """Return the statement that gives one row, in which every column is one value."""
        wanted: list[Column] = [sa.func.count()]
        for column, dtype in self.columns:
            wanted += [join(column, self.marks)]
            wanted += [sa.func.count(column)] if _may_mislead(column, dtype) else []
        named = (one.label(f"c{place}") for place, one in enumerate(wanted))
        return self.statement.with_only_columns(*named, maintain_column_froms=True)

    def to_piece(self, row: Row) -> Piece:
        rows, *values = row
        given = iter(values)
        return Piece(rows, [(next(given) or b"", next(given) if _may_mislead(column, dtype) else _count(column, rows))
                            for column, dtype in self.columns])  # fmt: skip


def read_table(
    database: sa.Connection, statement: Statement, schema: Schema, *, along: sa.Table | None = None
) -> pa.Table:
    """Read a query whose columns are named as the schema's, on the caller's connection and in its view.

    `along` is the table whose rows these are, one row each: it is then read a stretch at a time, else all at once.
    Another driver with its own SQLite would drop the locks that this process holds on the file.
    """
    given = {column.name: column for column in statement.selected_columns}
    varying = {name: given[name] for name in schema if not _is_fixed(given[name])}
    kinds = {name: schema[name] for name in varying}
    read = _from_sqlite if database.dialect.name == "sqlite" else _from_postgresql
    for marks in (SELDOM, NOWHERE):
        query = Query(statement, [(column, kinds[name]) for name, column in varying.items()], marks)
        tables = list(_parse_all(read(database, query, along), kinds, marks))
        if not any(table is None for table in tables):
            break
    else:
        raise pa.ArrowInvalid("the database holds a text that is not UTF-8")
    found = pa.concat_tables([empty_table(kinds), *tables]).combine_chunks()
    release_arrow_memory()
    fixed = {
        name: pa.scalar(given[name].element.value, _type_of(schema[name])) for name in schema if name not in varying
    }
    columns = [pa.repeat(fixed[name], len(found)) if name in fixed else found[name] for name in schema]
    return pa.table(columns, names=list(schema))


def _is_fixed(column: Column) -> bool:
    """Return True if a column is the same in every row: the database need not write it."""
    return isinstance(getattr(column, "element", column), sa.BindParameter)


def empty_table(schema: Schema) -> pa.Table:
    return pa.schema([(name, _type_of(dtype)) for name, dtype in schema.items()]).empty_table()


def _type_of(dtype: str) -> pa.DataType:
    return pa.timestamp("us", tz="UTC") if dtype == MOMENT else _WRITTEN[dtype]


def without_index(column: Column, database: sa.Connection) -> Column:
    """Name a column so that SQLite reads the table from end to end, instead of looking up each row by an index."""
    return sa.literal_column(f"+{column.table.name}.{column.name}") if database.dialect.name == "sqlite" else column


def to_frame(table: pa.Table, schema: Schema) -> DataFrame:
    """Return an Arrow table as a typed frame; its texts are not copied."""
    return to_types(table.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get), schema)


def to_known_frame(table: pa.Table, schema: Schema, *order: str) -> DataFrame:
    """Return an Arrow table as a typed, sorted frame, in which empty texts are unknown."""
    null = pa.scalar(None, type=pa.large_string())
    known = [pc.if_else(pc.equal(table[name], ""), null, table[name]) if dtype == TEXT else table[name]
             for name, dtype in schema.items()]  # fmt: skip
    return to_frame(in_order(pa.table(known, names=list(schema)), order), schema)


def _from_sqlite(database: sa.Connection, query: Query, along: sa.Table | None) -> Iterator[Piece]:
    written = query.join(_join_in_sqlite)
    if along is None:
        yield query.to_piece(database.execute(written).one())
        return
    number: Column = sa.literal_column(f"{along.name}.rowid")
    edges = [sa.select(edge(number)).select_from(along).scalar_subquery() for edge in (sa.func.min, sa.func.max)]
    first, last = database.execute(sa.select(*edges)).one()
    stretch = written.where(number >= sa.bindparam("first"), number < sa.bindparam("end"))
    for since in range(first, last + 1, STRETCH) if first is not None else ():
        yield query.to_piece(database.execute(stretch, {"first": since, "end": since + STRETCH}).one())


def _from_postgresql(database: sa.Connection, query: Query, along: sa.Table | None) -> Iterator[Piece]:
    written = query.join(_join_in_postgresql)
    if along is not None:
        written = _by_pages(written, along)
    compiled = written.compile(dialect=database.dialect, compile_kwargs={"render_postcompile": True})
    # How many stretches there are is not known when the statement is planned, and compiling it would take longer.
    database.exec_driver_sql("SELECT set_config('DateStyle', 'ISO', true), set_config('jit', 'off', true)").close()
    driver: Any = database.connection
    # What is sent as bytes is not decoded, and is here while the server writes the next stretch.
    with driver.cursor(binary=True) as cursor:
        yield from map(query.to_piece, cursor.stream(str(compiled), compiled.params))


def _by_pages(written: Statement, table: sa.Table) -> Statement:
    """Ask for every stretch of the table's pages in one statement, so that all of them are of one view."""
    pages: Column = sa.literal_column(f"pg_relation_size('{table.name}') / current_setting('block_size')::bigint")
    page = sa.column("page", sa.BigInteger)
    starts = sa.func.generate_series(0, pages, PAGES).table_valued(page, name="starts").render_derived()
    place: Column = sa.literal_column(f"{table.name}.ctid")
    edges = (starts.c.page, starts.c.page + PAGES)
    since, end = (sa.func.format("(%s,0)", edge).op("::")(sa.text("tid")) for edge in edges)
    stretch = written.where(place >= since, place < end).lateral("stretch")
    return sa.select(stretch).select_from(starts.join(stretch, sa.true()))


def _parse_all(pieces: Iterable[Piece], schema: Schema, marks: Marks) -> Iterator[pa.Table | None]:
    """Parse pieces in a thread while the next ones are read: neither the database nor Arrow holds the interpreter."""
    waiting = deque[Future[pa.Table | None]]()
    with background_thread() as worker:
        for piece in pieces:
            waiting.append(worker.submit(parse, piece, schema, marks))
            if len(waiting) > _AHEAD:
                yield waiting.popleft().result()
        yield from (one.result() for one in waiting)


def places_of(wanted: Sequence[pa.Array], known: Sequence[pa.Array]) -> pa.Array:
    """Return the first place of each wanted key among the known ones, null if it is not there or has a null part."""
    wanted_key, known_key = (_one_key(columns) for columns in (wanted, known))
    return pc.index_in(wanted_key, value_set=known_key, skip_nulls=True)


def _one_key(columns: Sequence[pa.Array]) -> pa.Array:
    return to_one_array(columns[0] if len(columns) == 1 else pc.binary_join_element_wise(*columns, BETWEEN))


def in_order(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """Sort by columns, text compared as bytes, what is missing last."""
    return table.take(pc.sort_indices(table, sort_keys=[(name, "ascending") for name in names]))


def _is_nullable(column: Column) -> bool:
    stored = getattr(column, "element", column)
    return bool(getattr(stored, "nullable", True))


def _may_mislead(column: Column, dtype: str) -> bool:
    """Return True if a cell could read as the mark of a missing one: only texts can, and only where one may be null."""
    return dtype == TEXT and _is_nullable(column)


def _count(column: Column, rows: int) -> int | None:
    return None if _is_nullable(column) else rows


def _join_in_sqlite(column: Column, marks: Marks) -> Column:
    end, missing = _in_sql("'{}'" if marks is SELDOM else "CAST(x'{:02x}' AS TEXT)", marks)
    cells = sa.func.coalesce(column, missing) if _is_nullable(column) else column
    # As bytes, or each value would be decoded only to be encoded again.
    return sa.cast(sa.func.group_concat(cells, end), sa.LargeBinary)


def _join_in_postgresql(column: Column, marks: Marks) -> Column:
    in_utc = sa.func.timezone("UTC", column) if isinstance(column.type, UtcDateTime) else column
    texts = sa.cast(in_utc, sa.Text)
    end, missing = _in_sql("'{}'" if marks is SELDOM else "'\\x{:02x}'::bytea", marks)
    if marks is SELDOM:
        return sa.func.convert_to(sa.func.string_agg(sa.func.coalesce(texts, missing), end), "UTF8")
    return sa.func.string_agg(sa.func.coalesce(sa.func.convert_to(texts, "UTF8"), missing), end)


def _in_sql(form: str, marks: Marks) -> list[Column]:
    return [sa.literal_column(form.format(chr(one) if marks is SELDOM else one)) for one in marks]


def parse(piece: Piece, schema: Schema, marks: Marks) -> pa.Table | None:
    """Return a piece as typed columns, or None if a text has a mark in it."""
    columns = []
    for (content, known), dtype in zip(piece.columns, schema.values(), strict=True):
        cells = _cut(content, piece.rows, marks)
        if cells is None or known not in {None, len(cells) - cells.null_count}:
            return None
        columns.append(_type_cells(cells, dtype))
    return pa.table(columns, names=list(schema))


def _type_cells(cells: pa.Array, dtype: str) -> pa.Array:
    if dtype == TEXT:
        return cells
    values = cells.cast(_WRITTEN[dtype])
    return pc.assume_timezone(values, "UTC") if dtype == MOMENT else values


def _cut(content: bytes, rows: int, marks: Marks) -> pa.Array | None:
    """Cut a column into cells; return None if a mark stands for something else."""
    if not rows:
        return pa.array([], type=pa.large_string())
    found = np.frombuffer(content, dtype=np.uint8)
    is_mark = (found | 1) == marks.end
    places = np.flatnonzero(is_mark)
    is_end, before = found[places] == marks.end, np.arange(len(places))
    # The ends of the cells once the marks before them are taken out.
    offsets = np.concatenate(([0], (places - before)[is_end], [len(found) - len(places)]))
    # The row of a missing cell is the number of ends before its mark.
    missing = np.cumsum(is_end)[~is_end]
    if len(offsets) != rows + 1 or not _is_alone(missing, offsets):
        return None
    is_known = np.ones(rows, dtype=bool)
    is_known[missing] = False
    texts = found[~is_mark]
    buffers = [pa.array(is_known).buffers()[1], pa.py_buffer(offsets), pa.py_buffer(texts)]
    cells = pa.Array.from_buffers(pa.large_string(), rows, buffers)
    # Raises if a text is not UTF-8.
    cells.validate(full=True)
    return cells


def _is_alone(missing: npt.NDArray[np.int64], offsets: npt.NDArray[np.int64]) -> bool:
    """Return True if each cell marked as missing holds that one mark alone."""
    return bool((np.diff(missing) > 0).all() and (offsets[missing] == offsets[missing + 1]).all())
