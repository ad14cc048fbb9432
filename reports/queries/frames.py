"""The reports' query module: what reconciliation and the mirror left in the tables, as plain rows."""

from collections.abc import Iterator, Sequence
from datetime import date
from typing import TypeAlias, TypeVar

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa
from sqlalchemy.orm import Mapped
from sqlmodel import Session, col

from consumer.facts.tables.provider import ProviderObject
from consumer.facts.tables.types import core_of
from reconcile.kept import chunks, extracts, records
from reconcile.tables.desk import ExceptionRow
from reconcile.tables.runs import PayoutResult, Run
from reports.queries.listing import Statement
from reports.shapes.spans import WHOLE, Row, Span

Select = TypeVar("Select", bound=Statement)
# A table of one connection.
Part: TypeAlias = tuple[str, pa.Table]

decode = msgspec.json.Decoder(Row).decode


def latest_runs(
    session: Session, connections: Sequence[str], *, today: date, as_of: date | None = None, span: Span = WHOLE,
    number: int | None = None,
) -> list[Run]:  # fmt: skip
    """Find the run of each connection that answers for a day, or that has a number and still its rows.

    One of part of the books serves inside its part.
    """
    if number is not None:
        mine = (col(Run.connection).in_(connections), col(Run.number) == number, col(Run.pruned_at).is_(None))
        return list(session.scalars(sa.select(Run).where(*mine)))
    found = (
        records.last_run(session, name, today=today, as_of=as_of, since=span.since, until=span.until)
        for name in connections
    )
    return [run for run in found if run is not None]


def in_order(runs: Sequence[Run]) -> list[Run]:
    return sorted(runs, key=lambda run: run.connection)


def line_rows(session: Session, runs: Sequence[Run], span: Span, *, payout_id: str | None = None) -> Iterator[Row]:
    """Read lines of payouts."""
    for run in in_order(runs):
        days = {"since": span.since, "until": span.until}
        for row in chunks.read_lines(session, run, paid_out=True, payout_id=payout_id, **days):
            yield {**row, "connection": run.connection}


def line_tables(session: Session, runs: Sequence[Run], span: Span, *, payout_id: str | None = None) -> Iterator[Part]:
    """Read lines of payouts as typed columns with their connection, without an object for each row."""
    for run in in_order(runs):
        days = {"since": span.since, "until": span.until}
        for table in chunks.line_tables(session, run, paid_out=True, payout_id=payout_id, **days):
            yield run.connection, table


def payout_tables(
    session: Session,
    runs: Sequence[Run],
    span: Span,
    *,
    payout_id: str | None = None,
    names: Sequence[str] | None = None,
) -> Iterator[Part]:
    """Read payouts as typed columns with their connection."""
    for run in in_order(runs):
        if payout_id is None:
            table = extracts.read(session, run, chunks.PAYOUT, names)
            yield (
                run.connection,
                chunks.filter_rows(table, chunks.day_masks(table["payout_date"], span.since, span.until)),
            )
        else:
            own = sa.select(col(PayoutResult.payout_id), col(PayoutResult.columns)).where(of_runs(PayoutResult, [run]))
            asked = _between(own.where(col(PayoutResult.payout_id) == payout_id), col(PayoutResult.payout_date), span)
            yield run.connection, extracts.payouts_of([(row[0], row[1]) for row in session.execute(asked)])


def document_tables(session: Session, runs: Sequence[Run], span: Span) -> Iterator[Part]:
    for run in in_order(runs):
        for table in chunks.document_tables(session, run, since=span.since, until=span.until):
            yield run.connection, table


def read_extracts(session: Session, runs: Sequence[Run], kind: str) -> Iterator[Row]:
    """Read what was taken out of each run when it was published."""
    for run in in_order(runs):
        for row in chunks.to_rows(extracts.read(session, run, kind)):
            yield {**row, "connection": run.connection}


def figure_rows(session: Session, runs: Sequence[Run], span: Span, *, payout_id: str | None = None) -> Iterator[Row]:
    """Add up lines, payouts and documents by day and currency; a range of days cuts lines and payouts."""
    for run in in_order(runs):
        table = extracts.read(session, run, chunks.FIGURE)
        is_cut = pc.not_equal(table["source"], extracts.OF_DOCUMENTS)
        if payout_id is not None:
            parts = [part for _, part in line_tables(session, [run], span, payout_id=payout_id)]
            lines = pa.concat_tables([extracts.no_lines(), *parts], promote_options="permissive")
            payouts = pa.concat_tables(part for _, part in payout_tables(session, [run], span, payout_id=payout_id))
            table = pa.concat_tables([table.filter(pc.invert(is_cut)), extracts.figures(lines, payouts)])
        else:
            inside = chunks.day_masks(table["on"].cast(pa.timestamp("us")), span.since, span.until)
            table = chunks.filter_rows(table, [pc.or_kleene(pc.invert(is_cut), mask) for mask in inside])
        for row in table.to_pylist():
            yield {**row, "connection": run.connection}


def count_lines(session: Session, runs: Sequence[Run], span: Span) -> int:
    """Say about how many lines lie in a range: whole chunks are counted, so a few too many."""
    return sum(chunks.count_lines(session, run, span.since, span.until) for run in runs)


def exceptions_shown(connections: Sequence[str], span: Span, as_of: date) -> Statement:
    """Ask for the work list in the order of its report: what is open, then or still, or opened or closed in the range.

    What opened after the day is shown only while it is open: the run of an earlier day may be the later one.
    """
    table = core_of(ExceptionRow)
    opened, closed = table.c.opened_on, table.c.resolved_on
    shown = sa.or_(closed > as_of, _within(opened, span), _within(closed, span))
    stood = sa.or_(closed.is_(None), sa.and_(opened <= as_of, shown))
    query = sa.select(table).where(table.c.connection.in_(connections), stood)
    return query.order_by(table.c.connection, opened, table.c.code, table.c.id)


def exceptions_open(connections: Sequence[str]) -> Statement:
    """Ask for what is open now, for a sheet that is filled in and comes back."""
    table = core_of(ExceptionRow)
    return sa.select(table).where(table.c.connection.in_(connections), table.c.resolved_on.is_(None))


def _within(column: sa.Column[date], span: Span) -> sa.ColumnElement[bool]:
    since = column >= span.since if span.since is not None else sa.true()
    return sa.and_(since, column <= span.until if span.until is not None else sa.true())


def exception_rows(session: Session, query: Statement) -> Iterator[Row]:
    """Read exceptions; one without a day of its own counts from the day it was first seen."""
    for row in session.execute(query).mappings():
        yield {**row, "exception_id": row["id"], "fact_on": row["fact_on"] or row["opened_on"]}


def object_rows(session: Session, table: type[ProviderObject], connections: Sequence[str]) -> Iterator[Row]:
    """Read mirrored objects as the provider wrote them, those gone there left out."""
    query = sa.select(col(table.connection), col(table.body), col(table.currency)).where(
        col(table.connection).in_(connections), col(table.gone_at).is_(None)
    )
    for connection, body, currency in session.execute(query.order_by(col(table.connection), col(table.id))):
        yield {"currency": currency, **decode(body), "connection": connection}


def of_runs(table: type[PayoutResult], runs: Sequence[Run]) -> sa.ColumnElement[bool]:
    if not runs:
        return sa.false()
    return sa.or_(*(sa.and_(col(table.connection) == run.connection, col(table.run_id) == run.id) for run in runs))


def _between(query: Select, on: Mapped[date | None], span: Span) -> Select:
    if span.since is not None:
        query = query.where(on >= span.since)
    if span.until is not None:
        query = query.where(on <= span.until)
    return query
