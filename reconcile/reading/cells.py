"""Cells of many rows as one value: how the databases are asked to join a column, and how it is cut into cells again.

Between two cells stands a mark, and another for a cell that is missing. The first marks are characters that texts
seldom have, since these are joined fastest. Where a text has one, more are found than there may be, and everything is
asked for again with bytes that are no part of any text.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa

from consumer.facts.tables.columns import UtcDateTime
from reconcile.rules.inputs import DAY, MOMENT, MONEY, TEXT, Schema

# Moments are written as UTC without saying so.
WRITTEN = {TEXT: pa.large_string(), MONEY: pa.int64(), MOMENT: pa.timestamp("us"), DAY: pa.timestamp("us")}


class Marks(NamedTuple):
    """The bytes that end a cell and stand for a missing one; they differ in the last bit alone."""

    end: int
    missing: int


SELDOM, NOWHERE = Marks(0x1F, 0x1E), Marks(0xFF, 0xFE)


class Piece(NamedTuple):
    """Columns of some rows; beside each how many of its cells are known, unless none could be mistaken."""

    rows: int
    columns: Sequence[tuple[bytes, int | None]]


class Query(NamedTuple):
    """What is asked for, each column with the type of its cells."""

    statement: sa.Select[Any]
    columns: Sequence[tuple[Any, str]]
    marks: Marks

    def joined(self, join: Callable[[Any, Marks], Any]) -> sa.Select[Any]:
        """Ask for one row, in which every column is one value."""
        wanted: list[Any] = [sa.func.count()]
        for column, dtype in self.columns:
            wanted += [join(column, self.marks)]
            wanted += [sa.func.count(column)] if _may_mislead(column, dtype) else []
        named = (one.label(f"c{place}") for place, one in enumerate(wanted))
        return self.statement.with_only_columns(*named, maintain_column_froms=True)

    def piece(self, row: Sequence[Any]) -> Piece:
        rows, *values = row
        given = iter(values)
        return Piece(rows, [(next(given) or b"", next(given) if _may_mislead(column, dtype) else _known(column, rows))
                            for column, dtype in self.columns])  # fmt: skip


def _may_miss(column: Any) -> bool:
    stored = getattr(column, "element", column)
    return bool(getattr(stored, "nullable", True))


def _may_mislead(column: Any, dtype: str) -> bool:
    """No number or day reads as the mark of a missing one, and of what is never missing all cells are known."""
    return dtype == TEXT and _may_miss(column)


def _known(column: Any, rows: int) -> int | None:
    return None if _may_miss(column) else rows


def joined_by_sqlite(column: Any, marks: Marks) -> Any:
    end, missing = _in_sql("'{}'" if marks is SELDOM else "CAST(x'{:02x}' AS TEXT)", marks)
    cells = sa.func.coalesce(column, missing) if _may_miss(column) else column
    # As bytes, or each value would be decoded only to be encoded again.
    return sa.cast(sa.func.group_concat(cells, end), sa.LargeBinary)


def joined_by_postgresql(column: Any, marks: Marks) -> Any:
    in_utc = sa.func.timezone("UTC", column) if isinstance(column.type, UtcDateTime) else column
    texts = sa.cast(in_utc, sa.Text)
    end, missing = _in_sql("'{}'" if marks is SELDOM else "'\\x{:02x}'::bytea", marks)
    if marks is SELDOM:
        return sa.func.convert_to(sa.func.string_agg(sa.func.coalesce(texts, missing), end), "UTF8")
    return sa.func.string_agg(sa.func.coalesce(sa.func.convert_to(texts, "UTF8"), missing), end)


def _in_sql(form: str, marks: Marks) -> list[Any]:
    return [sa.literal_column(form.format(chr(one) if marks is SELDOM else one)) for one in marks]


def parsed(piece: Piece, schema: Schema, marks: Marks) -> pa.Table | None:
    """Give a piece as typed columns, or nothing where a text has a mark in it."""
    columns = []
    for (content, known), dtype in zip(piece.columns, schema.values(), strict=True):
        cells = _cells(content, piece.rows, marks)
        if cells is None or known not in {None, len(cells) - cells.null_count}:
            return None
        columns.append(_typed(cells, dtype))
    return pa.table(columns, names=list(schema))


def _typed(cells: Any, dtype: str) -> Any:
    if dtype == TEXT:
        return cells
    values = cells.cast(WRITTEN[dtype])
    return pc.assume_timezone(values, "UTC") if dtype == MOMENT else values


def _cells(content: bytes, rows: int, marks: Marks) -> Any:
    """Cut a column into cells; nothing where a mark stands for something else."""
    if not rows:
        return pa.array([], type=pa.large_string())
    found = np.frombuffer(content, dtype=np.uint8)
    is_mark = (found | 1) == marks.end
    places = np.flatnonzero(is_mark)
    is_end, before = found[places] == marks.end, np.arange(len(places))
    # Where cells end when the marks before them are taken out.
    offsets = np.concatenate(([0], (places - before)[is_end], [len(found) - len(places)]))
    # A mark of a missing cell stands in the row whose number is that of the ends before it.
    missing = np.cumsum(is_end)[~is_end]
    if len(offsets) != rows + 1 or not _is_alone(missing, offsets):
        return None
    is_known = np.ones(rows, dtype=bool)
    is_known[missing] = False
    texts = found[~is_mark]
    buffers = [pa.array(is_known).buffers()[1], pa.py_buffer(offsets), pa.py_buffer(texts)]
    cells = pa.Array.from_buffers(pa.large_string(), rows, buffers)
    # What is no UTF-8 is refused here.
    cells.validate(full=True)
    return cells


def _is_alone(missing: Any, offsets: Any) -> bool:
    """Tell whether each cell that is marked as missing holds that one mark and nothing else."""
    return bool((np.diff(missing) > 0).all() and (offsets[missing] == offsets[missing + 1]).all())
