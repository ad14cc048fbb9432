"""Lines and documents of a run, kept as chunks of typed columns and read back in part.

Settled rows of closed days that a run left out are read with its own, as `pieces` puts them in order.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import chain
from typing import TypedDict, Unpack

import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa
from sqlmodel import Session, col

from consumer.facts.store import Row
from reconcile.kept.pieces import Piece, Rows, is_of_file
from reconcile.kept.stored import (
    ARROW_TYPES,
    BANK,
    COLUMNS,
    DAY,
    DAY_OF,
    DOCUMENT,
    FEE,
    FIGURE,
    HIDDEN,
    LINE,
    PAYOUT,
    RECEIVABLE,
    ROLLFORWARD,
    TRANSIT,
    DamagedRowsError,
    day_masks,
    filter_rows,
)
from reconcile.tables.books import LocalInvoice
from reconcile.tables.runs import PayoutResult, Run

__all__ = [
    "ARROW_TYPES", "BANK", "COLUMNS", "DAY", "DAY_OF", "DOCUMENT", "FEE", "FIGURE", "HIDDEN", "LINE", "PAYOUT",
    "RECEIVABLE", "ROLLFORWARD", "TRANSIT", "DamagedRowsError", "LineFilter", "Stretch", "count_lines", "day_masks",
    "document_tables", "empty_columns", "filter_rows", "find_document", "find_lines", "is_kept", "line_tables", "page",
    "read_documents", "read_lines", "stretches", "tables", "to_iso", "to_rows",
]  # fmt: skip

# Columns of a line that only the first row of an item fills, so that they sum right.
_SUMMED_ONCE = ("amount_signed", "fee_total", "fee_net", "fee_vat", "net_amount")


class LineFilter(TypedDict, total=False):
    """Which lines to read: those of the file or the loose ones, of one payout, of a range of dates."""

    paid_out: bool | None
    payout_id: str | None
    since: date | None
    until: date | None


def line_tables(session: Session, run: Run, **asked: Unpack[LineFilter]) -> Iterator[pa.Table]:
    """Read lines in their order as columns.

    The file has the items of payouts, and once more those that dead payouts held.
    """
    paid_out, payout_id = asked.get("paid_out"), asked.get("payout_id")
    since, until = asked.get("since"), asked.get("until")
    rows = Rows(session, run, LINE)
    found = rows.pieces(since, until)
    if paid_out is False:
        found = [one for one in found if one.has_loose]
    if payout_id is not None:
        on = _find_day(session, run, payout_id)
        found = rows.pieces(on, on)
    for table in map(rows.read, found):
        keep = day_masks(table[DAY], since, until)
        if paid_out is not None:
            keep.append(is_of_file(table) if paid_out else pc.is_null(table["payout_id"]))
        if payout_id is not None:
            keep.append(pc.equal(table["payout_id"], payout_id))
        lines = filter_rows(table, keep)
        yield (_number_further(lines) if paid_out else lines).drop_columns([DAY])


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
    rows = Rows(session, run, DOCUMENT)
    for table in map(rows.read, rows.pieces(since, until)):
        yield filter_rows(table, day_masks(table[DAY_OF[DOCUMENT]], since, until))


def read_documents(session: Session, run: Run) -> Iterator[Row]:
    for table in document_tables(session, run):
        yield from to_rows(table)


def find_lines(session: Session, run: Run, column: str, *values: str) -> Iterator[Row]:
    """Find the lines whose column holds one of these texts."""
    for table in Rows(session, run, LINE).find(column, values):
        yield from to_rows(table.drop_columns([DAY]))


def find_document(session: Session, run: Run, doc_key: str) -> Row | None:
    """Find a document at the day it has in the books now, and where it is not there, among all."""
    mine = (col(LocalInvoice.connection) == run.connection, col(LocalInvoice.doc_key) == doc_key)
    on = session.scalar(sa.select(col(LocalInvoice.issue_date)).where(*mine))
    rows = Rows(session, run, DOCUMENT)
    near = rows.find("doc_key", [doc_key], on) if on is not None else iter(())
    found = chain(near, rows.find("doc_key", [doc_key]))
    return next((row for table in found for row in to_rows(table)), None)


def _find_day(session: Session, run: Run, payout_id: str) -> date | None:
    """Return a payout's date: lines are in the order of their payouts, so few pieces hold those of one day."""
    mine = (col(PayoutResult.connection) == run.connection, col(PayoutResult.run_id) == run.id)
    asked = sa.select(col(PayoutResult.payout_date))
    return session.scalar(asked.where(*mine, col(PayoutResult.payout_id) == payout_id))


def tables(
    session: Session, run: Run, kind: str, names: Sequence[str] | None = None, *, is_own: bool = False
) -> Iterator[pa.Table]:
    """Read the rows of one kind in their order, piece by piece, whole or some columns; or those it judged itself."""
    rows = Rows(session, run, kind, is_own)
    return (rows.read(one, names) for one in rows.pieces())


def count_lines(session: Session, run: Run, since: date | None, until: date | None) -> int:
    """Count the lines of the chunks that hold days of a range."""
    pieces = Rows(session, run, LINE).pieces(since, until)
    return sum(place.rows for place in {place for piece in pieces for place in piece.places})


def is_kept(session: Session, run: Run, kind: str) -> bool:
    return bool(Rows(session, run, kind).places())


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
    """The rows of one piece in a range of days; of lines, those of the file of payouts."""

    source: Rows
    piece: Piece
    rows: int
    since: date | None
    until: date | None


def stretches(
    session: Session, run: Run, kind: str, *, since: date | None = None, until: date | None = None
) -> list[Stretch]:
    """Count the rows in a range, piece by piece; only chunks at its ends are unpacked."""
    rows = Rows(session, run, kind)
    return [
        Stretch(rows, piece, rows.count(piece, since, until, paid_out=kind == LINE), since, until)
        for piece in rows.pieces(since, until)
    ]


def page(found: Sequence[Stretch], skip: int, size: int) -> list[tuple[str, pa.Table]]:
    """Read some rows of all that was found, each part with its connection."""
    parts, wanted = [], size
    for stretch in found:
        if wanted > 0 and skip < stretch.rows:
            part = _rows_of(stretch).slice(skip, wanted)
            is_line = stretch.source.kind == LINE
            parts.append((stretch.source.run.connection, _number_further(part) if is_line else part))
            wanted -= part.num_rows
        skip = max(0, skip - stretch.rows)
    return parts


def empty_columns(found: Sequence[Stretch]) -> set[str]:
    """Return the columns without any value in the whole of the runs."""
    sources = {stretch.source.run.connection: stretch.source for stretch in found if stretch.rows}
    known = [source.empty_columns() for source in sources.values()]
    return set.intersection(*known) if known else set()


def _rows_of(stretch: Stretch) -> pa.Table:
    kind, table = stretch.source.kind, stretch.source.read(stretch.piece)
    masks = day_masks(table[DAY_OF[kind]], stretch.since, stretch.until) if kind in DAY_OF else []
    if kind == LINE:
        masks.append(is_of_file(table))
    return filter_rows(table, masks)
