"""A run's rows into the database: its results, its findings, and what became of the exceptions.

Readers find results by the row of their run. So results are written before that row, in short transactions: on SQLite
every webhook waits while one is open.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime
from itertools import chain
from typing import NamedTuple, TypeAlias

import msgspec
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa
from pandas import DataFrame, Series
from sqlmodel import Session, col

from consumer.facts import bulk
from consumer.facts.store import Row, Store, Turn, one_of, put, take_turn, to_ids
from consumer.facts.tables.inbox import Event
from consumer.facts.tables.types import core_of
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
)
from reconcile.kept import chunks, extracts, packing
from reconcile.rules.inputs import Finding, Result
from reconcile.tables.desk import ExceptionChange, ExceptionRow
from reconcile.tables.runs import PayoutResult, ResultChunk, Run, RunFinding

Values: TypeAlias = tuple[object, ...]
_PAYOUT = ("payout_id", "status_recon", "difference", "payout_date", "columns")
_FINDING = ("exception_id", "code", "severity", "subject", "amount_at_risk", "currency")
_LOG = logging.getLogger("cuadre.events")
_ROWS_AT_ONCE = 20_000
# A longer statement takes SQLite longer to prepare than to run.
_ROWS_A_STATEMENT = 250
# A commit costs as much as half of these bytes, and every webhook waits for a step to end.
BYTES_A_STEP = 256 * 1024
_TEXT = pa.large_string()


class Written(NamedTuple):
    """How much of a run is in the database: payouts, findings, and the bytes of each chunk by kind and number."""

    payouts: int
    findings: int
    chunks: Mapping[tuple[str, int], int]


def insert_results(
    session: Session, result: Result, found: Mapping[str, Finding], *, connection: str, run_id: str,
    staged: Written | None = None,
) -> None:  # fmt: skip
    """Write what one run says, unless it is there as it was staged; `found` are its findings by exception id."""
    if staged is not None and staged == _read_written(session, connection, run_id):
        return
    mine = sa.and_(col(ResultChunk.connection) == connection, col(ResultChunk.run_id) == run_id)
    session.execute(sa.delete(ResultChunk).where(mine, col(ResultChunk.kind) != chunks.HIDDEN))
    for row in chunk_rows(result):
        session.execute(sa.insert(core_of(ResultChunk)), {"connection": connection, "run_id": run_id} | row)
    _replace_rows(session, result, found, connection=connection, run_id=run_id)


def stage_results(
    store: Store, result: Result, found: Mapping[str, Finding], packed: Iterable[Row], *, connection: str, run_id: str
) -> Written | None:
    """Write what a run says before the run has a row, and return how much was written; None if it has one.

    A run that has one is published, or was pruned and comes back in one transaction. What a killed process leaves is
    replaced by the next attempt, or deleted by `retention.prune`, which finds it by its chunks: they come first.
    """
    sizes: dict[tuple[str, int], int] = {}
    own = {"connection": connection, "run_id": run_id}
    for step in _steps(packed):
        with store.transaction() as session:
            if session.get(Run, (connection, run_id)) is not None:
                return None
            for row in step:
                put(session.connection(), ResultChunk, own | row, keys=("connection", "run_id", "kind", "number"))
                sizes[row["kind"], row["number"]] = len(row["content"])
    with store.transaction() as session:
        # Another process may stage the same content.
        take_turn(session, Turn.RUNS)
        if session.get(Run, (connection, run_id)) is not None:
            return None
        _replace_rows(session, result, found, connection=connection, run_id=run_id)
    return Written(len(result.payouts), len(found), sizes)


def _steps(packed: Iterable[Row]) -> Iterator[list[Row]]:
    """Yield chunks that are written in one transaction, of `BYTES_A_STEP` together or one that is larger."""
    step: list[Row] = []
    for row in packed:
        if step and sum(len(one["content"]) for one in (*step, row)) > BYTES_A_STEP:
            yield step
            step = []
        step.append(row)
    if step:
        yield step


def _replace_rows(
    session: Session, result: Result, found: Mapping[str, Finding], *, connection: str, run_id: str
) -> None:
    """Write payouts and findings."""
    own, database = {"connection": connection, "run_id": run_id}, session.connection()
    for table, names, rows in (
        (core_of(PayoutResult), _PAYOUT, payout_rows(result)),
        (core_of(RunFinding), _FINDING, _finding_rows(found)),
    ):
        database.execute(sa.delete(table).where(table.c.connection == connection, table.c.run_id == run_id))
        bulk.insert_rows(database, table, names, rows, alike=own, rows_a_statement=_ROWS_A_STATEMENT)


def _read_written(session: Session, connection: str, run_id: str) -> Written:
    payouts, findings = (
        session.scalar(
            sa.select(sa.func.count()).where(col(table.connection) == connection, col(table.run_id) == run_id)
        )
        for table in (PayoutResult, RunFinding)
    )
    chunk = core_of(ResultChunk).c
    sizes = sa.select(chunk.kind, chunk.number, sa.func.length(chunk.content).label("size"))
    rows = session.execute(sizes.where(chunk.connection == connection, chunk.run_id == run_id))
    return Written(payouts or 0, findings or 0, {(row.kind, row.number): row.size for row in rows})


def read_mark(session: Session, connection: str) -> Values:
    """Return figures that every change of the list of exceptions alters, a run's and a person's."""
    last = session.scalar(sa.select(sa.func.max(col(Run.number))).where(col(Run.connection) == connection))
    counted = sa.select(sa.func.count(), sa.func.sum(col(ExceptionRow.version)))
    return last, *session.execute(counted.where(col(ExceptionRow.connection) == connection)).one()


def last_complete(session: Session, connection: str) -> date:
    """Return the day of the last complete run."""
    days = sa.select(sa.func.max(col(Run.as_of))).where(col(Run.connection) == connection, col(Run.complete))
    return session.scalar(days) or date.min


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


def chunk_rows(result: Result) -> Iterator[Row]:
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


def log_events(store: Store, connection: str, run_id: str, *, started_at: datetime) -> None:
    """Name each event that was settled after the last run of the connection began and before this one did."""
    if not _LOG.isEnabledFor(logging.DEBUG):
        return
    before = sa.select(sa.func.max(col(Run.started_at))).where(
        col(Run.connection) == connection, col(Run.started_at) < started_at
    )
    with store.reading() as session:
        last = session.scalar(before)
        is_new = [col(Event.connection) == connection, col(Event.settled_at) < started_at]
        is_new += [] if last is None else [col(Event.settled_at) >= last]
        for name in session.scalars(sa.select(col(Event.id)).where(*is_new).order_by(col(Event.id))):
            _LOG.debug("event in run", extra={"connection": connection, "event_id": name, "run_id": run_id})
