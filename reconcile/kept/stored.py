"""Chunks of typed columns: what kinds there are, which columns each has, and one chunk read back from its bytes.

A chunk is a Parquet file in a column, so it commits with its run and is there for every machine on the database. Its
owner is a run, or a layer: what a run settled of closed days, whose name is the run's with a mark.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Protocol

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import sqlalchemy as sa
from sqlmodel import Session, col

from consumer.facts.columns import Column, Kind, to_columns
from consumer.facts.store import DamagedError
from reconcile.rules import clearing
from reconcile.rules.outcomes import (
    BANK_COLUMNS,
    DOCUMENT_COLUMNS,
    PAYOUT_COLUMNS,
    STORED_DOCUMENT_COLUMNS,
    STORED_LINE_COLUMNS,
)
from reconcile.tables.runs import ResultChunk

LINE, DOCUMENT, PAYOUT = "line", "document", "payout"
RECEIVABLE, TRANSIT, ROLLFORWARD, FIGURE, FEE = "receivable", "transit", "rollforward", "figure", "fee"
BANK = "bank"
# Of a layer: what its settled rows and those below it add up to, without what it hides there, which that is, and which
# cells each chunk has.
SETTLED, HIDDEN, BOUNDS = "settled", "hidden", "bounds"
ARROW_TYPES: Mapping[Kind, pa.DataType] = {
    Kind.TEXT: pa.string(),
    Kind.ID: pa.string(),
    Kind.DECIMAL: pa.string(),
    Kind.MONEY: pa.int64(),
    Kind.INT: pa.int64(),
    Kind.DATE: pa.date32(),
    Kind.INSTANT: pa.timestamp("us", "UTC"),
}
# The columns of a chunk today. A run published before one of them existed reads it as empty.
COLUMNS: Mapping[str, tuple[Column, ...]] = {
    LINE: STORED_LINE_COLUMNS,
    DOCUMENT: STORED_DOCUMENT_COLUMNS,
    PAYOUT: PAYOUT_COLUMNS,
    RECEIVABLE: (*DOCUMENT_COLUMNS, *to_columns("last_payment_id")),
    TRANSIT: to_columns(clearing.ITEMS.names),
    ROLLFORWARD: to_columns(("currency", "date", "opening", *clearing.MOVES, "closing", "closing_items_count")),
    FIGURE: (),
    BANK: BANK_COLUMNS,
    FEE: (),
    SETTLED: (),
    HIDDEN: (),
    BOUNDS: (),
}
# Kept with each line, no column of the report: the payout's date, or the item's own date if only dead payouts held it.
# Other items that wait for a payout have none.
DAY = "payout_date"
# The cell of each row of a layer, no column of a report.
CELL = "cell"
# The column by which a range of dates selects rows.
DAY_OF = {LINE: DAY, DOCUMENT: "issue_date", PAYOUT: "payout_date", BANK: "bank_day"}
# In which order the rows of a run stand: lines by the payouts as they were made, then by this.
ORDER = {LINE: ("payout_id", "resource_type", "occurred_at_utc", "resource_id", "line"),
         DOCUMENT: ("issue_date", "doc_key")}  # fmt: skip
# Names the columns without any value, so that a page can leave them out without reading every chunk.
EMPTY = b"silent"


class Named(Protocol):
    """What the rows of a run are found by: a run, or one to come that rests on layers already."""

    @property
    def connection(self) -> str: ...
    @property
    def id(self) -> str: ...
    @property
    def number(self) -> int: ...
    @property
    def layers(self) -> str: ...


class DamagedRowsError(DamagedError):
    """Rows of a run that cannot be read; the message names the run and the chunk."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """The bytes of one chunk, and where they belong."""

    run: Named
    kind: str
    number: int
    content: bytes | None

    def read(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Unpack it, whole or some of its columns; raise DamagedRowsError if it is not what was published."""
        try:
            table = self._file().read(columns=columns)
        except (pa.ArrowException, OSError, TypeError) as error:
            raise self._to_damage() from error
        for column in self._find_lacking(table.column_names):
            if columns is None or column.name in columns:
                table = table.append_column(column.name, pa.nulls(table.num_rows, ARROW_TYPES[column.kind]))
        return table

    def _find_lacking(self, names: Collection[str]) -> list[Column]:
        """Return the columns of today that the run was published without."""
        return [column for column in COLUMNS[self.kind] if column.name not in names]

    def empty_columns(self) -> set[str]:
        """Return the columns without any value in the whole table."""
        try:
            schema = self._file().schema_arrow
        except (pa.ArrowException, OSError, TypeError) as error:
            raise self._to_damage() from error
        named = (schema.metadata or {}).get(EMPTY, b"").decode().split()
        return {*named, *(column.name for column in self._find_lacking(schema.names))}

    def _file(self) -> pq.ParquetFile:
        return pq.ParquetFile(pa.BufferReader(self.content))

    def _to_damage(self) -> DamagedRowsError:
        run, connection = self.run.number, self.run.connection
        return DamagedRowsError("kept.damaged_rows", run=run, connection=connection, piece=self.number, table=self.kind)


def load(session: Session, run: Named, owner: str, kind: str, number: int) -> Chunk:
    """Load a chunk of a run, or of a layer that it rests on."""
    mine = (*of_owner(run, owner, kind), col(ResultChunk.number) == number)
    return Chunk(run, kind, number, session.scalar(sa.select(col(ResultChunk.content)).where(*mine)))


def read_all(session: Session, run: Named, owner: str, kind: str, names: Sequence[str] | None = None) -> list[pa.Table]:
    """Read every chunk of one kind that a run or a layer has."""
    numbers = sa.select(col(ResultChunk.number)).where(*of_owner(run, owner, kind)).order_by(col(ResultChunk.number))
    return [load(session, run, owner, kind, number).read(names) for number in session.scalars(numbers).all()]


def of_owner(run: Named, owner: str, kind: str) -> tuple[sa.ColumnElement[bool], ...]:
    mine = (col(ResultChunk.connection) == run.connection, col(ResultChunk.run_id) == owner)
    return (*mine, col(ResultChunk.kind) == kind)


def day_masks(days: pa.ChunkedArray, since: date | None, until: date | None) -> list[pa.Array]:
    """Return for each end of a range which days are within it; none without a range."""
    keep = []
    if since is not None:
        keep.append(pc.greater_equal(days, pa.scalar(pd.Timestamp(since), type=days.type)))
    if until is not None:
        keep.append(pc.less_equal(days, pa.scalar(pd.Timestamp(until), type=days.type)))
    return keep


def filter_rows(table: pa.Table, masks: list[pa.Array]) -> pa.Table:
    """Keep the rows of which every mask is true."""
    if not masks:
        return table
    mask = masks[0]
    for other in masks[1:]:
        mask = pc.and_kleene(mask, other)
    return table.filter(mask, null_selection_behavior="drop")
