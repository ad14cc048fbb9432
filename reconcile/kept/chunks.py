"""Lines and documents of a run, kept as chunks of typed columns and read back in part.

A chunk is a Parquet file in a column, so it commits with its run and is there for every machine on the database.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import TypeAlias, TypedDict, Unpack

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import sqlalchemy as sa
from sqlmodel import Session, col

from consumer.facts.columns import Column, Kind, to_columns
from consumer.facts.store import DamagedError, Row, count_rows
from reconcile.rules import clearing
from reconcile.rules.outcomes import (
    BANK_COLUMNS,
    DOCUMENT_COLUMNS,
    PAYOUT_COLUMNS,
    STORED_DOCUMENT_COLUMNS,
    STORED_LINE_COLUMNS,
)
from reconcile.tables.runs import PayoutResult, ResultChunk, Run

LINE, DOCUMENT, PAYOUT = "line", "document", "payout"
RECEIVABLE, TRANSIT, ROLLFORWARD, FIGURE, FEE = "receivable", "transit", "rollforward", "figure", "fee"
BANK = "bank"
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
}
# Kept with each line, no column of the report: the payout's date, or the item's own date if only dead payouts held it.
# Other items that wait for a payout have none.
DAY = "payout_date"
# Columns of a line that only the first row of an item fills, so that they sum right.
_SUMMED_ONCE = ("amount_signed", "fee_total", "fee_net", "fee_vat", "net_amount")
# The column by which a range of dates selects rows.
DAY_OF = {LINE: DAY, DOCUMENT: "issue_date", PAYOUT: "payout_date", BANK: "bank_day"}
# Names the columns without any value, so that a page can leave them out without reading every chunk.
EMPTY = b"silent"
Condition: TypeAlias = sa.ColumnElement[bool]


class DamagedRowsError(DamagedError):
    """Rows of a run that cannot be read; the message names the run and the chunk."""


class LineFilter(TypedDict, total=False):
    """Which lines to read: those of the file or the loose ones, of one payout, of a range of dates."""

    paid_out: bool | None
    payout_id: str | None
    since: date | None
    until: date | None


@dataclass(frozen=True, slots=True)
class Chunk:
    """The bytes of one chunk, and where they belong."""

    run: Run
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


def line_tables(session: Session, run: Run, **asked: Unpack[LineFilter]) -> Iterator[pa.Table]:
    """Read lines in their order as columns.

    The file has the items of payouts, and once more those that dead payouts held.
    """
    paid_out, payout_id = asked.get("paid_out"), asked.get("payout_id")
    since, until = asked.get("since"), asked.get("until")
    conditions = _of_days(since, until)
    if paid_out is False:
        conditions.append(col(ResultChunk.undated) > 0)
    if payout_id is not None:
        conditions += _of_payout(session, run, payout_id)
    for table in tables(session, run, LINE, conditions):
        keep = day_masks(table[DAY], since, until)
        if paid_out is not None:
            keep.append(_is_of_file(table) if paid_out else pc.is_null(table["payout_id"]))
        if payout_id is not None:
            keep.append(pc.equal(table["payout_id"], payout_id))
        lines = filter_rows(table, keep)
        yield (_number_further(lines) if paid_out else lines).drop_columns([DAY])


def _is_of_file(lines: pa.Table) -> pa.Array:
    """Return which lines the file of payouts has: those of payouts, and of items that dead payouts held."""
    return pc.or_(pc.is_valid(lines["payout_id"]), pc.is_valid(lines[DAY]))


def _number_further(lines: pa.Table) -> pa.Table:
    """Number lines without a payout after the one in their dead payout, whose sum has their amounts already."""
    is_further = pc.is_null(lines["payout_id"])
    if not pc.any(is_further, min_count=0).as_py():
        return lines
    changed = {name: pc.if_else(is_further, pa.scalar(None, lines[name].type), lines[name]) for name in _SUMMED_ONCE}
    changed["line"] = pc.if_else(is_further, pc.add(lines["line"], 1), lines["line"])
    for name, values in changed.items():
        lines = lines.set_column(lines.column_names.index(name), name, values)
    return lines


def read_lines(session: Session, run: Run, **asked: Unpack[LineFilter]) -> Iterator[Row]:
    """Read the same lines as rows."""
    for table in line_tables(session, run, **asked):
        yield from to_rows(table)


def document_tables(
    session: Session, run: Run, *, since: date | None = None, until: date | None = None
) -> Iterator[pa.Table]:
    """Read documents in their order as columns, all or those issued in a range of dates."""
    for table in tables(session, run, DOCUMENT, _of_days(since, until)):
        yield filter_rows(table, day_masks(table[DAY_OF[DOCUMENT]], since, until))


def read_documents(session: Session, run: Run) -> Iterator[Row]:
    for table in document_tables(session, run):
        yield from to_rows(table)


def find_lines(session: Session, run: Run, column: str, *values: str) -> Iterator[Row]:
    """Find the lines whose column holds one of these texts; a chunk is unpacked whole only where it does."""
    asked = pa.array(values, pa.string())
    for chunk in _chunks(session, run, LINE, []):
        places = pc.indices_nonzero(pc.is_in(chunk.read([column])[column].cast(pa.string()), value_set=asked))
        if len(places):
            yield from to_rows(chunk.read().take(places).drop_columns([DAY]))


def find_document(session: Session, run: Run, doc_key: str) -> Row | None:
    for chunk in _chunks(session, run, DOCUMENT, []):
        places = pc.indices_nonzero(pc.equal(chunk.read(["doc_key"])["doc_key"], doc_key))
        if len(places):
            return next(to_rows(chunk.read().take(places[:1])))
    return None


def _of_days(since: date | None, until: date | None) -> list[Condition]:
    """Leave out chunks that hold no day of a range; one without days is read."""
    conditions: list[Condition] = []
    if since is not None:
        conditions.append(sa.or_(col(ResultChunk.until) >= since, col(ResultChunk.until).is_(None)))
    if until is not None:
        conditions.append(sa.or_(col(ResultChunk.since) <= until, col(ResultChunk.since).is_(None)))
    return conditions


def _of_payout(session: Session, run: Run, payout_id: str) -> list[Condition]:
    """Choose chunks by the payout's date: lines are in the order of their payouts, so few chunks are left."""
    on = session.scalar(
        sa.select(col(PayoutResult.payout_date)).where(
            col(PayoutResult.connection) == run.connection,
            col(PayoutResult.run_id) == run.id,
            col(PayoutResult.payout_id) == payout_id,
        )
    )
    return [col(ResultChunk.undated) > 0] if on is None else _of_days(on, on)


def tables(
    session: Session, run: Run, kind: str, conditions: Sequence[Condition] = (), names: Sequence[str] | None = None
) -> Iterator[pa.Table]:
    """Read the chunks of one kind in their order, one at a time, whole or some columns of them."""
    for chunk in _chunks(session, run, kind, conditions):
        yield chunk.read(names)


def count(session: Session, run: Run, kind: str) -> int:
    """Count the chunks of one kind; they are numbered from 0."""
    return count_rows(session, ResultChunk, *_of(run, kind))


def read_chunk(session: Session, run: Run, kind: str, number: int, names: Sequence[str]) -> pa.Table:
    """Read some columns of one chunk."""
    return _load(session, run, kind, number).read(names)


def is_kept(session: Session, run: Run, kind: str) -> bool:
    asked = sa.select(col(ResultChunk.number)).where(*_of(run, kind)).limit(1)
    return session.scalar(asked) is not None


def _chunks(session: Session, run: Run, kind: str, conditions: Sequence[Condition]) -> Iterator[Chunk]:
    numbers = sa.select(col(ResultChunk.number)).where(*_of(run, kind), *conditions).order_by(col(ResultChunk.number))
    for number in session.scalars(numbers).all():
        yield _load(session, run, kind, number)


def _load(session: Session, run: Run, kind: str, number: int) -> Chunk:
    mine = (*_of(run, kind), col(ResultChunk.number) == number)
    return Chunk(run, kind, number, session.scalar(sa.select(col(ResultChunk.content)).where(*mine)))


def _of(run: Run, kind: str) -> tuple[Condition, ...]:
    of_run = (col(ResultChunk.connection) == run.connection, col(ResultChunk.run_id) == run.id)
    return (*of_run, col(ResultChunk.kind) == kind)


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


def to_rows(table: pa.Table) -> Iterator[Row]:
    """Yield rows as reports read them: money in minor units, moments and days as ISO text, None for what is unknown."""
    names = table.column_names
    columns = [_plain(table[name].combine_chunks()) for name in names]
    for values in zip(*columns, strict=True):
        yield dict(zip(names, values, strict=True))


def _plain(values: pa.Array) -> list[object]:
    if pa.types.is_timestamp(values.type):
        values = to_iso(values)
    if not pa.types.is_integer(values.type):
        return list(values.to_pylist())
    known: list[object] = values.fill_null(0).to_numpy(zero_copy_only=False).tolist()
    if values.null_count:
        for place in pc.indices_nonzero(values.is_null()).to_pylist():
            known[place] = None
    return known


def to_iso(values: pa.Array) -> pa.Array:
    """Write moments as UTC with a Z, their fraction only where there is one, and days as dates."""
    has_zone = values.type.tz is not None
    text = pc.strftime(values, format="%Y-%m-%dT%H:%M:%S" if has_zone else "%Y-%m-%d")
    text = pc.replace_substring_regex(text, r"\.0+$", "")
    return pc.binary_join_element_wise(text, "Z", "") if has_zone else text


@dataclass(frozen=True, slots=True)
class Stretch:
    """The rows of one chunk in a range of days; of lines, those of the file of payouts."""

    run: Run
    kind: str
    number: int
    rows: int
    since: date | None
    until: date | None


def stretches(
    session: Session, run: Run, kind: str, *, since: date | None = None, until: date | None = None
) -> list[Stretch]:
    """Count the rows in a range, chunk by chunk; only chunks at its ends are unpacked."""
    chunk = ResultChunk
    columns = (col(chunk.number), col(chunk.rows), col(chunk.since), col(chunk.until), col(chunk.undated))
    asked = sa.select(*columns).where(*_of(run, kind), *_of_days(since, until)).order_by(col(chunk.number))
    found = []
    for number, rows, first, last, undated in session.execute(asked):
        stretch = Stretch(run, kind, number, rows, since, until)
        is_within = first is not None and (since is None or first >= since) and (until is None or last <= until)
        is_whole = (is_within and not undated) or (since is until is None and kind != LINE)
        found.append(stretch if is_whole else _count(session, stretch))
    return found


def _count(session: Session, stretch: Stretch) -> Stretch:
    names = [DAY_OF[stretch.kind], *(["payout_id"] if stretch.kind == LINE else [])]
    rows = _rows_of(_read(session, stretch, names), stretch).num_rows
    return replace(stretch, rows=rows)


def page(session: Session, found: Sequence[Stretch], skip: int, size: int) -> list[tuple[Run, pa.Table]]:
    """Read some rows of all that was found, each part with its run."""
    parts, wanted = [], size
    for stretch in found:
        if wanted > 0 and skip < stretch.rows:
            part = _rows_of(_read(session, stretch), stretch).slice(skip, wanted)
            parts.append((stretch.run, _number_further(part) if stretch.kind == LINE else part))
            wanted -= part.num_rows
        skip = max(0, skip - stretch.rows)
    return parts


def empty_columns(session: Session, found: Sequence[Stretch]) -> set[str]:
    """Return the columns without any value in the whole of the runs."""
    first = {stretch.run.connection: stretch for stretch in reversed(found) if stretch.rows}
    known = [_load_stretch(session, stretch).empty_columns() for stretch in first.values()]
    return set.intersection(*known) if known else set()


def _rows_of(table: pa.Table, stretch: Stretch) -> pa.Table:
    day = table[DAY_OF[stretch.kind]] if stretch.kind in DAY_OF else None
    masks = [] if day is None else day_masks(day, stretch.since, stretch.until)
    if stretch.kind == LINE:
        masks.append(_is_of_file(table))
    return filter_rows(table, masks)


def _read(session: Session, stretch: Stretch, names: Sequence[str] | None = None) -> pa.Table:
    return _load_stretch(session, stretch).read(names)


def _load_stretch(session: Session, stretch: Stretch) -> Chunk:
    return _load(session, stretch.run, stretch.kind, stretch.number)
