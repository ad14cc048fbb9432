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

from reconcile.tables import PayoutResult, ResultChunk, Run

LINE, DOCUMENT = "line", "document"
ROWS_A_CHUNK = 10_000
# The payout's date beside each line: what a range of dates is asked of, and no column of the report.
_DAY = "payout_date"
Row = dict[str, Any]


def pack_lines(lines: DataFrame, payouts: DataFrame) -> Iterator[Row]:
    """Pack lines in their order, with the range of payout dates that each chunk holds."""
    dated = payouts.drop_duplicates("payout_id").set_index("payout_id")["payout_date"]
    found = dated.reindex(lines["payout_id"]).set_axis(lines.index).astype("datetime64[us]")
    whole = lines.assign(**{_DAY: found})
    for number, piece in _pieces(whole):
        days = piece[_DAY].dropna()
        yield _chunk(LINE, number, piece) | {
            "since": days.min().date() if len(days) else None,
            "until": days.max().date() if len(days) else None,
            "undated": len(piece) - len(days),
        }


def pack_documents(documents: DataFrame) -> Iterator[Row]:
    """Pack documents in their order, with how many of each chunk still have a balance."""
    for number, piece in _pieces(documents):
        yield _chunk(DOCUMENT, number, piece) | {"with_balance": int((piece["balance"] != 0).sum())}


def _pieces(frame: DataFrame) -> Iterator[tuple[int, DataFrame]]:
    for number, start in enumerate(range(0, len(frame), ROWS_A_CHUNK)):
        yield number, frame.iloc[start : start + ROWS_A_CHUNK]


def _chunk(kind: str, number: int, piece: DataFrame) -> Row:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pandas(piece, preserve_index=False), sink, compression="zstd")
    empty = {"since": None, "until": None, "undated": 0, "with_balance": 0}
    return empty | {"kind": kind, "number": number, "rows": len(piece), "content": sink.getvalue().to_pybytes()}


def line_tables(
    session: Session,
    run: Run,
    *,
    paid_out: bool | None = None,
    payout_id: str | None = None,
    since: date | None = None,
    until: date | None = None,
) -> Iterator[Any]:
    """Read lines in their order as columns: of payouts or of items still loose, of one payout, of a range of dates."""
    conditions = _of_days(since, until)
    if paid_out is False:
        conditions.append(col(ResultChunk.undated) > 0)
    if payout_id is not None:
        conditions += _of_payout(session, run, payout_id)
    for table in _tables(session, run, LINE, conditions):
        keep = _is_between(table[_DAY], since, until)
        if paid_out is not None:
            is_loose = pc.is_null(table["payout_id"])
            keep.append(pc.invert(is_loose) if paid_out else is_loose)
        if payout_id is not None:
            keep.append(pc.equal(table["payout_id"], payout_id))
        yield _kept(table, keep).drop_columns([_DAY])


def read_lines(session: Session, run: Run, **asked: Any) -> Iterator[Row]:
    """Read the same lines as rows, for rules that look at one after the other."""
    for table in line_tables(session, run, **asked):
        yield from to_rows(table)


def line_columns(session: Session, run: Run, names: Sequence[str]) -> Iterator[Any]:
    """Read some columns of every line: what looks at all of a large run need not unpack all of it."""
    yield from _tables(session, run, LINE, [], names)


def read_documents(session: Session, run: Run, *, with_balance: bool = False) -> Iterator[Row]:
    """Read documents in their order; those with a balance may be asked for alone."""
    conditions = [col(ResultChunk.with_balance) > 0] if with_balance else []
    for table in _tables(session, run, DOCUMENT, conditions):
        yield from to_rows(_kept(table, [pc.not_equal(table["balance"], 0)] if with_balance else []))


def find_lines(session: Session, run: Run, column: str, value: str) -> Iterator[Row]:
    """Find the lines whose column holds this text."""
    for table in _tables(session, run, LINE, []):
        yield from to_rows(_kept(table, [pc.equal(table[column], value)]).drop_columns([_DAY]))


def find_document(session: Session, run: Run, doc_key: str) -> Row | None:
    for table in _tables(session, run, DOCUMENT, []):
        for row in to_rows(_kept(table, [pc.equal(table["doc_key"], doc_key)])):
            return row
    return None


def find_open_documents(
    session: Session, run: Run, *, currency: str, amount: int, customer: str | None, doc_keys: Sequence[str]
) -> Iterator[Row]:
    """Find documents with a balance that could be meant: of this amount, of this customer, or named."""
    for table in _tables(session, run, DOCUMENT, [col(ResultChunk.with_balance) > 0]):
        keys = pa.array(doc_keys, type=table["doc_key"].type)
        could_be = pc.or_kleene(pc.equal(table["balance"], amount), pc.is_in(table["doc_key"], value_set=keys))
        if customer is not None:
            could_be = pc.or_(could_be, pc.equal(table["customer_tax_id"], customer).fill_null(False))
        is_open = pc.and_(pc.greater(table["balance"], 0), pc.equal(table["currency"], currency))
        yield from to_rows(_kept(table, [is_open, could_be]))


def _of_days(since: date | None, until: date | None) -> list[Any]:
    conditions: list[Any] = []
    if since is not None:
        conditions.append(col(ResultChunk.until) >= since)
    if until is not None:
        conditions.append(col(ResultChunk.since) <= until)
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
    return [col(ResultChunk.undated) > 0] if on is None else _of_days(on, on)


def _tables(
    session: Session, run: Run, kind: str, conditions: list[Any], names: Sequence[str] | None = None
) -> Iterator[Any]:
    of_run = (col(ResultChunk.connection) == run.connection, col(ResultChunk.run_id) == run.id)
    mine = (*of_run, col(ResultChunk.kind) == kind)
    numbers = sa.select(col(ResultChunk.number)).where(*mine, *conditions).order_by(col(ResultChunk.number))
    for number in session.scalars(numbers).all():
        content = session.scalar(sa.select(col(ResultChunk.content)).where(*mine, col(ResultChunk.number) == number))
        yield pq.ParquetFile(pa.BufferReader(content)).read(columns=names)


def _is_between(days: Any, since: date | None, until: date | None) -> list[Any]:
    keep = []
    if since is not None:
        keep.append(pc.greater_equal(days, pa.scalar(pd.Timestamp(since), type=days.type)))
    if until is not None:
        keep.append(pc.less_equal(days, pa.scalar(pd.Timestamp(until), type=days.type)))
    return keep


def _kept(table: Any, masks: list[Any]) -> Any:
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
