"""Some rows of a report, in the order of its file: what a page or a program asks for, at the price of those rows."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import sqlalchemy as sa

from consumer.facts.installation import Installation
from reconcile.kept import chunks
from reconcile.kept.chunks import Stretch
from reconcile.tables.runs import Run
from reports.making import catalogue
from reports.queries import bank, frames
from reports.queries.frames import Part
from reports.queries.query import Query, Source
from reports.shapes import build
from reports.shapes.build import Report
from reports.shapes.definitions import definition_of


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of a report: its rows as a report of their own, how many there are in all, empty columns."""

    report: Report
    total: int
    silent: frozenset[str]


# In which kind of chunks the rows of a report lie, in its order; lines lie in the order their payouts were made.
_KINDS = {
    "payout-summary": chunks.PAYOUT,
    "payout-detail": chunks.LINE,
    "documents": chunks.DOCUMENT,
    "receivables": chunks.RECEIVABLE,
    "in-transit": chunks.TRANSIT,
    "bank-lines": chunks.BANK,
}


def find(installation: Installation, query: Query, start: int, count: int) -> Window:
    """Read `count` rows from `start`; a report that is not kept in pieces is made whole for it."""
    with installation.store.reading() as session:
        source = catalogue.source_of(installation, session, query)
        found = _stretches(source) if query.name in _KINDS and query.payout_id is None else None
        if found is not None:
            return _of_pieces(source, found, start, count)
        if query.name == "exceptions":
            return _of_exceptions(source, start, count)
    whole = catalogue.make(installation, query)
    silent = (name for name in whole.definition.names if whole.table[name].null_count == whole.table.num_rows)
    part = Report(whole.definition, whole.table.slice(start, count), whole.span, whole.as_of, facts=whole.facts)
    return Window(part, whole.table.num_rows, frozenset(silent if whole.table.num_rows else ()))


def _stretches(source: Source) -> list[Stretch] | None:
    """Find the pieces of every run; a run that was published without them has none."""
    span, kind, found = source.query.span, _KINDS[source.query.name], []
    days = {"since": span.since, "until": span.until} if kind in chunks.DAY_OF else {}
    for run in in_order(source):
        if not chunks.is_kept(source.session, run, kind):
            return None
        found += chunks.stretches(source.session, run, kind, **days)
    return found


def in_order(source: Source) -> list[Run]:
    if source.query.name != "payout-summary":
        return frames.in_order(source.runs)
    countries = {connection.name: connection.country_code for connection in source.query.connections}
    return sorted(source.runs, key=lambda run: (countries[run.connection], run.connection))


def pieces(source: Source) -> Iterator[pa.Table] | None:
    """Read a report whole, piece by piece in its order; None where its runs were published without pieces."""
    found = _stretches(source)
    return None if found is None else (_typed(source, chunks.page([one], 0, one.rows)) for one in found)


def _typed(source: Source, found: Sequence[Part]) -> pa.Table:
    complete = COMPLETED.get(source.query.name, _as_it_is)
    parts = ((connection, complete(source, connection, part)) for connection, part in found)
    return build.in_parts(definition_of(source.query.name), parts).combine_chunks()


def _of_pieces(source: Source, found: Sequence[Stretch], start: int, count: int) -> Window:
    table = _typed(source, chunks.page(found, start, count))
    silent = frozenset(chunks.empty_columns(found))
    facts = catalogue.facts_of(source.query, source.runs)
    report = Report(definition_of(source.query.name), table, source.query.span, source.as_of, facts=facts)
    return Window(report, sum(stretch.rows for stretch in found), silent)


def _of_exceptions(source: Source, start: int, count: int) -> Window:
    definition = definition_of("exceptions")
    shown = frames.exceptions_shown(source.names, source.query.span, source.as_of)
    total = source.session.scalar(sa.select(sa.func.count()).select_from(shown.order_by(None).subquery())) or 0
    rows = frames.exception_rows(source.session, shown.offset(start).limit(count))
    currency = catalogue.currency_of(definition, source.query.connections)
    table = build.to_table(definition, catalogue.age_exceptions(source, rows), currency=currency)
    facts = catalogue.facts_of(source.query, source.runs)
    return Window(Report(definition, table, source.query.span, source.as_of, facts=facts), total, frozenset())


def _as_it_is(_source: Source, _connection: str, part: pa.Table) -> pa.Table:
    return part


def _age(source: Source, connection: str, part: pa.Table) -> pa.Table:
    return build.receivables(part, source.due_days[connection], as_of=source.as_of)


def _expect(source: Source, connection: str, part: pa.Table) -> pa.Table:
    return build.in_transit(part, source.calendars[connection], as_of=source.as_of)


# What depends on the day that is asked for is added to the rows that are shown.
COMPLETED: Mapping[str, Callable[[Source, str, pa.Table], pa.Table]] = {
    "receivables": _age,
    "in-transit": _expect,
    "bank-lines": lambda source, connection, part: bank.complete(source.session, connection, part),
}
