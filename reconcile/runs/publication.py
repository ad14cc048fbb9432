"""A run's rows into the database: its results, its findings, and what became of the exceptions."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from itertools import chain
from typing import TypeAlias

import msgspec
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa
from pandas import DataFrame, Series
from sqlmodel import Session

from consumer.facts import bulk
from consumer.facts.store import Row, one_of, to_ids
from consumer.facts.tables.columns import core_of
from reconcile.exceptions.life import (
    OPENED,
    REMEMBERED,
    ExceptionState,
    Merge,
    Seen,
    State,
    build_history_rows,
    build_history_values,
    build_opened_rows,
    build_opening_values,
    by_identity,
)
from reconcile.kept import chunks, extracts, packing
from reconcile.reading.process import ahead
from reconcile.rules.inputs import Finding, Result
from reconcile.tables import ExceptionChange, ExceptionRow, PayoutResult, ResultChunk, RunFinding

Values: TypeAlias = tuple[object, ...]
_PAYOUT = ("payout_id", "status_recon", "difference", "payout_date", "columns")
_FINDING = ("exception_id", "code", "severity", "subject", "amount_at_risk", "currency")
_ROWS_AT_ONCE = 20_000
# A longer statement takes SQLite longer to prepare than to run.
_ROWS_A_STATEMENT = 250
_TEXT = pa.large_string()


@dataclass(frozen=True, slots=True)
class Prepared:
    """What can be made of a result before anything is written: findings by exception id, chunks as they are packed."""

    found: Mapping[str, Finding]
    packed: Iterable[Row]


@contextmanager
def prepare(connection: str, result: Result) -> Iterator[Prepared]:
    """Name the findings, and pack chunks in another thread: the database's writer must not wait for either."""
    with ahead(_chunk_rows(result)) as packed:
        yield Prepared(by_identity(connection, result.findings), packed)


def insert_results(
    session: Session, result: Result, found: Mapping[str, Finding], *, connection: str, run_id: str
) -> None:
    """Write what one run says; `found` are its findings by exception id."""
    insert_rows(session, result, found, connection=connection, run_id=run_id)
    insert_chunks(session, _chunk_rows(result), connection=connection, run_id=run_id)


def insert_rows(
    session: Session, result: Result, found: Mapping[str, Finding], *, connection: str, run_id: str
) -> None:
    """Write payouts and findings."""
    own, database = {"connection": connection, "run_id": run_id}, session.connection()
    for table, names, rows in (
        (PayoutResult, _PAYOUT, payout_rows(result)),
        (RunFinding, _FINDING, _finding_rows(found)),
    ):
        bulk.insert_rows(database, core_of(table), names, rows, alike=own, rows_a_statement=_ROWS_A_STATEMENT)


def insert_chunks(session: Session, packed: Iterable[Row], *, connection: str, run_id: str) -> None:
    """Write lines, documents and what was taken out of them."""
    insert = sa.insert(core_of(ResultChunk))
    for chunk in packed:
        session.connection().execute(insert, {"connection": connection, "run_id": run_id} | chunk)


def read_exceptions(session: Session, connection: str, identities: Iterable[str]) -> list[ExceptionState]:
    """Read the exceptions that are open, and those of these ids in any state."""
    table, database = core_of(ExceptionRow), session.connection()
    mine = sa.select(*(table.c[name] for name in ExceptionState._fields)).where(table.c.connection == connection)
    rows = list(map(ExceptionState._make, database.execute(mine.where(table.c.state == State.OPEN)).all()))
    others = set(identities) - {row.id for row in rows}
    if others:
        among = mine.where(one_of(table.c.id, database.dialect.name))
        rows += map(ExceptionState._make, database.execute(among, {"ids": to_ids(sorted(others))}).all())
    return rows


def write_merge(session: Session, merged: Merge, seen: Seen) -> None:
    """Write what became of the exceptions: a run sees most of them again, and moves few."""
    table, history, database = core_of(ExceptionRow), core_of(ExceptionChange), session.connection()
    bulk.insert_rows(
        database,
        table,
        OPENED,
        build_opened_rows(merged),
        alike=build_opening_values(seen),
        rows_a_statement=_ROWS_A_STATEMENT,
    )
    if merged.seen_again:
        again = sa.update(table).where(table.c.connection == seen.connection, one_of(table.c.id, database.dialect.name))
        values = {"last_seen_on": seen.as_of, "run_last": seen.run_id}
        database.execute(again.values(values), {"ids": to_ids(merged.seen_again)})
    for names, changed in _by_columns(merged, seen.connection).items():
        bulk.update_rows(database, table, names, changed, key=("connection", "id"))
    bulk.insert_rows(
        database, history, REMEMBERED, build_history_rows(merged), alike=build_history_values(seen),
        rows_a_statement=_ROWS_A_STATEMENT,
    )  # fmt: skip


def _by_columns(merged: Merge, connection: str) -> dict[tuple[str, ...], list[Values]]:
    """Group changes by the columns they move, one statement for each group; each row ends with its key."""
    groups: dict[tuple[str, ...], list[Values]] = {}
    for identity, values in merged.changed.items():
        groups.setdefault(tuple(values), []).append((*values.values(), connection, identity))
    return groups


def payout_rows(result: Result) -> Iterator[tuple[str, str, int, date | None, str]]:
    """Yield payouts in the order of `_PAYOUT`, with their report columns as JSON."""
    for frame, columns in _slices(result.payouts):
        typed = (_plain(frame[name]) for name in ("payout_id", "status_recon", "difference"))
        yield from zip(*typed, _days(frame["payout_date"]), columns, strict=True)


def _chunk_rows(result: Result) -> Iterator[Row]:
    """Yield one chunk at a time, so that a large run is never packed as a whole.

    Frames become tables at once, as another thread may take the chunks: a table never changes, and a frame may
    consolidate its columns when some of them are read.
    """
    lines, documents = packing.pack_lines(result.lines, result.payouts), packing.pack_documents(result.documents)
    return chain(lines, documents, extracts.pack(result))


def _finding_rows(found: Mapping[str, Finding]) -> Iterator[Values]:
    """Yield findings in the order of `_FINDING`."""
    for identity, one in found.items():
        yield identity, one.code, one.severity, one.subject, one.amount_at_risk, one.currency


def _slices(frame: DataFrame) -> Iterator[tuple[DataFrame, list[str]]]:
    """Yield a frame in pieces with their JSON, so that a large run is never text as a whole."""
    for start in range(0, len(frame), _ROWS_AT_ONCE):
        piece = frame.iloc[start : start + _ROWS_AT_ONCE]
        yield piece, to_json(piece)


def to_json(frame: DataFrame) -> list[str]:
    """Return one JSON object per row: money in minor units, moments and days as ISO text, null for what is unknown."""
    parts: list[pa.Scalar | pa.Array] = []
    for name in frame.columns:
        lead = "{" if not parts else ","
        parts += [pa.scalar(f'{lead}"{name}":', type=_TEXT), _to_json_text(pa.array(frame[name]))]
    joined = pc.binary_join_element_wise(*parts, pa.scalar("}", type=_TEXT), pa.scalar("", type=_TEXT))
    return joined.to_pylist() if len(frame) else []


def _to_json_text(values: pa.Array) -> pa.Array:
    """Return a column as JSON values."""
    if pa.types.is_timestamp(values.type):
        quoted = _in_quotes(chunks.to_iso(values))
    elif pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        quoted = _in_quotes(_escape(values.cast(_TEXT)))
    elif pa.types.is_integer(values.type) or pa.types.is_null(values.type):
        quoted = values.cast(_TEXT)
    else:
        raise TypeError(f"a column of {values.type} has no place in a result")
    return quoted.cast(_TEXT).fill_null("null")


def _in_quotes(values: pa.Array) -> pa.Array:
    mark, between = pa.scalar('"', type=_TEXT), pa.scalar("", type=_TEXT)
    return pc.binary_join_element_wise(mark, values.cast(_TEXT), mark, between)


def _escape(values: pa.Array) -> pa.Array:
    if pc.any(pc.match_substring_regex(values, r"[\x00-\x1f]")).as_py():
        encoder = msgspec.json.Encoder()
        inner = [None if text is None else encoder.encode(text).decode()[1:-1] for text in values.to_pylist()]
        return pa.array(inner, type=_TEXT)
    return pc.replace_substring(pc.replace_substring(values, "\\", "\\\\"), '"', '\\"')


def _days(values: "Series[pd.Timestamp]") -> list[date | None]:
    return [None if pd.isna(value) else value.date() for value in values]


def _plain(values: "Series[str] | Series[int]") -> list[object]:
    """Return a column as plain Python values, None for what is missing."""
    return list(values.astype(object).where(values.notna(), None))
