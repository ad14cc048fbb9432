"""Lines and documents of a run, kept as chunks of typed columns: packed when a run is published, read back in part.

A chunk is a Parquet file in a column, so it commits with its run and is there for every machine on the database.
"""

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import sqlalchemy as sa
from pandas import DataFrame
from sqlmodel import Session, col

from reconcile.kept.pieces import Piece
from reconcile.rules.outcomes import DEAD
from reconcile.tables import PayoutResult, ResultChunk, Run

LINE, DOCUMENT, PAYOUT = "line", "document", "payout"
ROWS_A_CHUNK = 10_000
# Beside each line what a range of dates is asked of, no column of the report: the payout's date, or the item's own
# where only dead payouts held it. What else waits for a payout has none.
_DAY = "payout_date"
# What stands on the first row of an item alone, so that columns sum right.
_SUMMED_ONCE = ("amount_signed", "fee_total", "fee_net", "fee_vat", "net_amount")
# What a range of dates is asked of.
DAY_OF = {LINE: _DAY, DOCUMENT: "issue_date", PAYOUT: "payout_date"}
# Columns without a value anywhere, by name: a page leaves them out and need not read everything to know.
SILENT = b"silent"
Row = dict[str, Any]


def pack_lines(lines: DataFrame, payouts: DataFrame) -> Iterator[Row]:
    """Pack lines in their order, with the range of dates that each chunk holds."""
    dated = payouts.drop_duplicates("payout_id").set_index("payout_id")["payout_date"]
    found = dated.reindex(lines["payout_id"]).set_axis(lines.index).astype("datetime64[us]")
    found = found.mask(_freed(lines, payouts), lines["local_date"])
    table = pa.Table.from_pandas(lines.assign(**{_DAY: found}), preserve_index=False)
    starts = range(0, table.num_rows, ROWS_A_CHUNK)
    return (_chunk(LINE, number, table.slice(start, ROWS_A_CHUNK)) for number, start in enumerate(starts))


def _freed(lines: DataFrame, payouts: DataFrame) -> Any:
    """Tell which lines without a payout are of items that dead payouts held: these stand in the file once more."""
    names, freed = ["resource_type", "resource_id"], lines["payout_id"].isna().to_numpy(dtype=bool, copy=True)
    dead = payouts["payout_id"][payouts["status"].isin(DEAD)]
    held = lines.loc[lines["payout_id"].isin(dead), names]
    if freed.any():
        loose = pd.MultiIndex.from_frame(lines.loc[freed, names])
        freed[freed] = loose.isin(pd.MultiIndex.from_frame(held))
    return freed


def pack_documents(documents: DataFrame) -> Iterator[Row]:
    """Pack documents in the order of their report, with how many of each chunk still have a balance."""
    return _packed_documents(pa.Table.from_pandas(documents, preserve_index=False))


def _packed_documents(table: Any) -> Iterator[Row]:
    for chunk, piece in pack(DOCUMENT, table.sort_by([("issue_date", "ascending"), ("doc_key", "ascending")])):
        yield chunk | {"with_balance": pc.sum(pc.not_equal(piece["balance"], 0), min_count=0).as_py()}


def pack(kind: str, table: Any) -> Iterator[tuple[Row, Any]]:
    """Pack a table in its order, with the range of days that each chunk holds; each names the columns that say nothing.

    A table without rows is one empty chunk, which tells it from a table that was never made.
    """
    silent = " ".join(name for name in table.column_names if table[name].null_count == table.num_rows)
    named = table.replace_schema_metadata({SILENT: silent})
    for number, start in enumerate(range(0, table.num_rows or 1, ROWS_A_CHUNK)):
        piece = named.slice(start, ROWS_A_CHUNK)
        yield _chunk(kind, number, piece), piece


def _chunk(kind: str, number: int, piece: Any) -> Row:
    sink = pa.BufferOutputStream()
    # Most columns hardly repeat within a chunk, and zstd finds what does: dictionaries cost time and space here.
    pq.write_table(piece, sink, compression="zstd", use_dictionary=False, write_statistics=False)
    days = piece[DAY_OF[kind]].cast(pa.date32()) if kind in DAY_OF else pa.array([], pa.date32())
    ends = pc.min_max(days).as_py()
    undated = piece["payout_id"].null_count if kind == LINE else days.null_count
    return {
        "kind": kind,
        "number": number,
        "rows": piece.num_rows,
        "since": ends["min"],
        "until": ends["max"],
        "undated": undated,
        "with_balance": 0,
        "content": sink.getvalue().to_pybytes(),
    }


def line_tables(
    session: Session,
    run: Run,
    *,
    paid_out: bool | None = None,
    payout_id: str | None = None,
    since: date | None = None,
    until: date | None = None,
) -> Iterator[Any]:
    """Read lines in their order as columns: of the file or of items still loose, of one payout, of a range of dates.

    The file has the items of payouts, and those dead payouts left once more.
    """
    conditions = of_days(since, until)
    if paid_out is False:
        conditions.append(col(ResultChunk.undated) > 0)
    if payout_id is not None:
        conditions += _of_payout(session, run, payout_id)
    for table in tables(session, run, LINE, conditions):
        keep = is_between(table[_DAY], since, until)
        if paid_out is not None:
            keep.append(is_of_file(table) if paid_out else pc.is_null(table["payout_id"]))
        if payout_id is not None:
            keep.append(pc.equal(table["payout_id"], payout_id))
        lines = kept(table, keep)
        yield (as_in_file(lines) if paid_out else lines).drop_columns([_DAY])


def is_of_file(lines: Any) -> Any:
    """Tell which lines the file of payouts has: those of payouts, and those of items that dead payouts left."""
    return pc.or_(pc.is_valid(lines["payout_id"]), pc.is_valid(lines[_DAY]))


def as_in_file(lines: Any) -> Any:
    """Number lines without a payout after the one in their dead payout, whose sum has their amounts already."""
    is_further = pc.is_null(lines["payout_id"])
    if not pc.any(is_further, min_count=0).as_py():
        return lines
    changed = {name: pc.if_else(is_further, pa.scalar(None, lines[name].type), lines[name]) for name in _SUMMED_ONCE}
    changed["line"] = pc.if_else(is_further, pc.add(lines["line"], 1), lines["line"])
    for name, values in changed.items():
        lines = lines.set_column(lines.column_names.index(name), name, values)
    return lines


def read_lines(session: Session, run: Run, **asked: Any) -> Iterator[Row]:
    """Read the same lines as rows, for rules that look at one after the other."""
    for table in line_tables(session, run, **asked):
        yield from to_rows(table)


def document_tables(
    session: Session, run: Run, *, since: date | None = None, until: date | None = None
) -> Iterator[Any]:
    """Read documents in their order as columns, all or those issued in a range of dates."""
    for table in tables(session, run, DOCUMENT, of_days(since, until)):
        yield kept(table, is_between(table[DAY_OF[DOCUMENT]], since, until))


def read_documents(session: Session, run: Run) -> Iterator[Row]:
    for table in document_tables(session, run):
        yield from to_rows(table)


def find_lines(session: Session, run: Run, column: str, value: str) -> Iterator[Row]:
    """Find the lines whose column holds this text; a chunk is unpacked whole only where it does."""
    for file in _files(session, run, LINE, []):
        places = pc.indices_nonzero(pc.equal(file.read(columns=[column])[column], value).fill_null(False))
        if len(places):
            yield from to_rows(file.read().take(places).drop_columns([_DAY]))


def find_document(session: Session, run: Run, doc_key: str) -> Row | None:
    for file in _files(session, run, DOCUMENT, []):
        places = pc.indices_nonzero(pc.equal(file.read(columns=["doc_key"])["doc_key"], doc_key))
        if len(places):
            return next(to_rows(file.read().take(places[:1])))
    return None


def of_days(since: date | None, until: date | None) -> list[Any]:
    """Leave out chunks that hold no day of a range; one without days may be older than its days are kept."""
    conditions: list[Any] = []
    if since is not None:
        conditions.append(sa.or_(col(ResultChunk.until) >= since, col(ResultChunk.until).is_(None)))
    if until is not None:
        conditions.append(sa.or_(col(ResultChunk.since) <= until, col(ResultChunk.since).is_(None)))
    return conditions


def _of_payout(session: Session, run: Run, payout_id: str) -> list[Any]:
    """Lines lie in the order of their payouts, so a payout's date leaves one chunk or few."""
    on = session.scalar(
        sa.select(col(PayoutResult.payout_date)).where(
            col(PayoutResult.connection) == run.connection,
            col(PayoutResult.run_id) == run.id,
            col(PayoutResult.payout_id) == payout_id,
        )
    )
    return [col(ResultChunk.undated) > 0] if on is None else of_days(on, on)


def tables(
    session: Session, run: Run, kind: str, conditions: Sequence[Any] = (), names: Sequence[str] | None = None
) -> Iterator[Any]:
    """Read the chunks of one kind in their order, one at a time, whole or some columns of them."""
    for file in _files(session, run, kind, conditions):
        yield file.read(columns=names)


def _files(session: Session, run: Run, kind: str, conditions: Sequence[Any]) -> Iterator[Piece]:
    of_run = (col(ResultChunk.connection) == run.connection, col(ResultChunk.run_id) == run.id)
    mine = (*of_run, col(ResultChunk.kind) == kind)
    numbers = sa.select(col(ResultChunk.number)).where(*mine, *conditions).order_by(col(ResultChunk.number))
    for number in session.scalars(numbers).all():
        content = session.scalar(sa.select(col(ResultChunk.content)).where(*mine, col(ResultChunk.number) == number))
        yield Piece(run, kind, number, content)


def is_between(days: Any, since: date | None, until: date | None) -> list[Any]:
    """Say of each day whether a range holds it; without a range there is nothing to say."""
    keep = []
    if since is not None:
        keep.append(pc.greater_equal(days, pa.scalar(pd.Timestamp(since), type=days.type)))
    if until is not None:
        keep.append(pc.less_equal(days, pa.scalar(pd.Timestamp(until), type=days.type)))
    return keep


def kept(table: Any, masks: list[Any]) -> Any:
    """Keep the rows of which every mask is true."""
    if not masks:
        return table
    mask = masks[0]
    for other in masks[1:]:
        mask = pc.and_kleene(mask, other)
    return table.filter(mask, null_selection_behavior="drop")


def to_rows(table: Any) -> Iterator[Row]:
    """Give rows as reports read them: money in minor units, moments and days as ISO text, None for what is unknown."""
    names = table.column_names
    columns = [_plain(table[name].combine_chunks()) for name in names]
    for values in zip(*columns, strict=True):
        yield dict(zip(names, values, strict=True))


def _plain(values: Any) -> list[Any]:
    if pa.types.is_timestamp(values.type):
        values = to_iso(values)
    if not pa.types.is_integer(values.type):
        return values.to_pylist()  # type: ignore[no-any-return]
    known = values.fill_null(0).to_numpy(zero_copy_only=False).tolist()
    if values.null_count:
        for place in pc.indices_nonzero(values.is_null()).to_pylist():
            known[place] = None
    return known  # type: ignore[no-any-return]


def to_iso(values: Any) -> Any:
    """Write moments as UTC with a Z, their fraction only where there is one, and days as dates."""
    has_zone = values.type.tz is not None
    text = pc.strftime(values, format="%Y-%m-%dT%H:%M:%S" if has_zone else "%Y-%m-%d")
    text = pc.replace_substring_regex(text, r"\.0+$", "")
    return pc.binary_join_element_wise(text, "Z", "") if has_zone else text
