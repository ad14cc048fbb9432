"""The reports' query module: what reconciliation and the mirror left in the tables, as plain rows."""

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any, TypeVar

import msgspec
import sqlalchemy as sa
from sqlmodel import Session, col

from consumer.facts.tables.provider import ProviderObject
from reconcile.tables import DocumentResult, ExceptionRow, Line, PayoutResult, Run
from reports.spans import Row, Span

Select = TypeVar("Select", bound=sa.Select[*tuple[Any, ...]])

decode = msgspec.json.Decoder(dict[str, Any]).decode


def latest_runs(session: Session, connections: Sequence[str], *, as_of: date | None, span: Span) -> list[Run]:
    """Find each connection's latest finished run up to a day; a run of part of the books serves inside its part."""
    found = []
    for name in connections:
        query = sa.select(Run).where(col(Run.connection) == name)
        if as_of is not None:
            query = query.where(col(Run.as_of) <= as_of)
        newest = query.order_by(col(Run.as_of).desc(), col(Run.finished_at).desc(), col(Run.number).desc())
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
    query = sa.select(col(Line.connection), col(Line.doc_key), col(Line.columns)).where(of_runs(Line, runs))
    if paid_out is not None:
        query = query.where(col(Line.payout_id).is_not(None) if paid_out else col(Line.payout_id).is_(None))
    if payout_id is not None:
        query = query.where(col(Line.payout_id) == payout_id)
    query = _between(query, Line.payout_date, span).order_by(col(Line.connection), col(Line.position))
    for connection, doc_key, columns in session.execute(query):
        yield {**decode(columns), "connection": connection, "doc_key": doc_key}


def document_rows(session: Session, runs: Sequence[Run], *, with_balance: bool = False) -> Iterator[Row]:
    query = sa.select(col(DocumentResult.connection), col(DocumentResult.columns)).where(of_runs(DocumentResult, runs))
    if with_balance:
        query = query.where(col(DocumentResult.balance) != 0)
    for connection, columns in session.execute(query):
        yield {**decode(columns), "connection": connection}


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
