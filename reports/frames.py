"""The reports' query module: what reconciliation and the mirror left in the tables, as plain rows."""

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from typing import Any, TypeVar

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa
from sqlmodel import Session, col

from consumer.facts.tables.provider import ProviderObject
from reconcile import chunks
from reconcile.tables import ExceptionRow, PayoutResult, ResultChunk, Run
from reports.clearing import ITEMS
from reports.spans import WHOLE, Row, Span

Select = TypeVar("Select", bound=sa.Select[*tuple[Any, ...]])

_NEVER = datetime.min.replace(tzinfo=UTC)
decode = msgspec.json.Decoder(dict[str, Any]).decode


def latest_runs(
    session: Session, connections: Sequence[str], *, today: date, as_of: date | None = None, span: Span = WHOLE
) -> list[Run]:
    """Find each connection's latest finished run up to a day; a run of part of the books serves inside its part.

    Without a day asked for, a run of days to come counts only where there is no other: a question about next month
    must not become what everybody sees, and a demo's days may all be ahead of this machine's clock.
    """
    found = []
    for name in connections:
        query = sa.select(Run).where(col(Run.connection) == name, col(Run.pruned_at).is_(None))
        if as_of is not None:
            query = query.where(col(Run.as_of) <= as_of)
        is_ahead = col(Run.as_of) > (today if as_of is None else as_of)
        newest = query.order_by(is_ahead, col(Run.as_of).desc(), col(Run.finished_at).desc(), col(Run.number).desc())
        whole = newest.where(_covers(span)).limit(1)
        run = session.scalar(whole) or session.scalar(newest.limit(1))
        if run is not None:
            found.append(run)
    return found


def _covers(span: Span) -> sa.ColumnElement[bool]:
    starts: sa.ColumnElement[bool] = col(Run.scope_from).is_(None)
    ends: sa.ColumnElement[bool] = col(Run.scope_to).is_(None)
    if span.since is not None:
        starts = sa.or_(starts, col(Run.scope_from) <= span.since)
    if span.until is not None:
        ends = sa.or_(ends, col(Run.scope_to) >= span.until)
    return sa.and_(starts, ends, col(Run.scope_payout).is_(None))


def payout_rows(session: Session, runs: Sequence[Run], span: Span, *, payout_id: str | None = None) -> Iterator[Row]:
    query = sa.select(col(PayoutResult.connection), col(PayoutResult.columns)).where(of_runs(PayoutResult, runs))
    if payout_id is not None:
        query = query.where(col(PayoutResult.payout_id) == payout_id)
    for connection, columns in session.execute(_between(query, PayoutResult.payout_date, span)):
        yield {**decode(columns), "connection": connection}


def line_rows(
    session: Session,
    runs: Sequence[Run],
    span: Span,
    *,
    paid_out: bool | None = True,
    payout_id: str | None = None,
) -> Iterator[Row]:
    """Read lines of payouts, or of items no payout carries yet, or with None of both."""
    for run in sorted(runs, key=lambda run: run.connection):
        days = {"since": span.since, "until": span.until}
        for row in chunks.read_lines(session, run, paid_out=paid_out, payout_id=payout_id, **days):
            yield {**row, "connection": run.connection}


def line_tables(
    session: Session, runs: Sequence[Run], span: Span, *, payout_id: str | None = None
) -> Iterator[tuple[str, Any]]:
    """Read lines of payouts as typed columns beside their connection: a million rows are no million objects."""
    for run in sorted(runs, key=lambda run: run.connection):
        days = {"since": span.since, "until": span.until}
        for table in chunks.line_tables(session, run, paid_out=True, payout_id=payout_id, **days):
            yield run.connection, table


def item_table(session: Session, run: Run) -> pa.Table:
    """Read the first line of every item, paid out or not, with what it takes to follow it to its payout."""
    found = chunks.line_columns(session, run, ["line", *ITEMS.names])
    parts = [table.filter(pc.equal(table["line"], 1)).select(ITEMS.names).cast(ITEMS) for table in found]
    return pa.concat_tables([ITEMS.empty_table(), *parts]).combine_chunks()


def figure_rows(session: Session, runs: Sequence[Run], span: Span, *, payout_id: str | None = None) -> Iterator[Row]:
    """Add up of the first lines of payouts what their totals are made of: a row for each kind of item of a chunk."""
    for connection, table in line_tables(session, runs, span, payout_id=payout_id):
        first = table.filter(pc.equal(table["line"], 1))
        kinds = first.group_by(["resource_type", "currency"]).aggregate([("amount_signed", "sum")])
        for row in kinds.to_pylist():
            yield {**row, "amount_signed": row["amount_signed_sum"], "connection": connection}


def last_payments(session: Session, runs: Sequence[Run], doc_keys: Sequence[str]) -> dict[tuple[str, str], str]:
    """Find the latest payment that was applied to each of these documents, by connection and document."""
    names = ["doc_key", "resource_type", "resource_id", "occurred_at_utc", "applied_amount"]
    wanted, payments = pa.array(doc_keys, pa.string()), pa.array(["payment_intent", "charge"])
    last: dict[tuple[str, str], tuple[Any, str]] = {}
    for run in runs:
        for table in chunks.line_columns(session, run, names):
            about = pc.is_in(table["doc_key"].cast(pa.string()), value_set=wanted)
            is_payment = pc.is_in(table["resource_type"].cast(pa.string()), value_set=payments)
            is_applied = pc.not_equal(table["applied_amount"], 0)
            kept = table.filter(pc.and_kleene(pc.and_kleene(about, is_payment), is_applied))
            for row in kept.to_pylist():
                key, seen = (run.connection, row["doc_key"]), (row["occurred_at_utc"] or _NEVER, row["resource_id"])
                last[key] = max(last.get(key, seen), seen)
    return {key: resource_id for key, (_, resource_id) in last.items()}


def count_lines(session: Session, runs: Sequence[Run], span: Span) -> int:
    """Say about how many lines lie in a range: whole chunks are counted, so a few too many."""
    rows, since, until = col(ResultChunk.rows), col(ResultChunk.since), col(ResultChunk.until)
    query = sa.select(sa.func.sum(rows)).where(of_runs(ResultChunk, runs), col(ResultChunk.kind) == chunks.LINE)
    if span.since is not None:
        query = query.where(until >= span.since)
    if span.until is not None:
        query = query.where(since <= span.until)
    return session.scalar(query) or 0


def document_rows(session: Session, runs: Sequence[Run], *, with_balance: bool = False) -> Iterator[Row]:
    for run in runs:
        for row in chunks.read_documents(session, run, with_balance=with_balance):
            yield {**row, "connection": run.connection}


def exception_rows(session: Session, connections: Sequence[str]) -> Iterator[Row]:
    query = sa.select(ExceptionRow.__table__).where(col(ExceptionRow.connection).in_(connections))  # type: ignore[attr-defined]
    for row in session.execute(query).mappings():
        yield {**row, "exception_id": row["id"]}


def object_rows(session: Session, table: type[ProviderObject], connections: Sequence[str]) -> Iterator[Row]:
    """Read mirrored objects as the provider wrote them, those gone there left out."""
    query = sa.select(col(table.connection), col(table.body), col(table.currency)).where(
        col(table.connection).in_(connections), col(table.gone_at).is_(None)
    )
    for connection, body, currency in session.execute(query.order_by(col(table.connection), col(table.id))):
        yield {"currency": currency, **decode(body), "connection": connection}


def of_runs(table: Any, runs: Sequence[Run]) -> sa.ColumnElement[bool]:
    if not runs:
        return sa.false()
    return sa.or_(*(sa.and_(table.connection == run.connection, table.run_id == run.id) for run in runs))


def _between(query: Select, column: Any, span: Span) -> Select:
    if span.since is not None:
        query = query.where(column >= span.since)
    if span.until is not None:
        query = query.where(column <= span.until)
    return query
