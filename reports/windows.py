"""Some rows of a report, in the order of its file: what a page or a program asks for, at the price of those rows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa

from consumer.facts.installation import Installation
from reconcile.kept import chunks, extracts
from reconcile.kept.chunks import Stretch
from reconcile.tables import Run
from reports import bank, catalogue, frames
from reports.query import Query, Source
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


def find_balances(installation: Installation, query: Query, start: int, count: int, *, are_credits: bool) -> Window:
    """Read some rows of receivables: of what customers owe, or of what they paid too much."""
    is_meant = pc.less if are_credits else pc.greater
    with installation.store.reading() as session:
        source = catalogue.source_of(installation, session, query)
        own = [extracts.read(session, run, chunks.RECEIVABLE, ["balance"]) for run in _in_order(source)]
    places = pc.indices_nonzero(is_meant(pa.concat_tables(own)["balance"], 0)) if own else pa.array([], pa.uint64())
    chosen = places.slice(start, count)
    first = chosen[0].as_py() if len(chosen) else 0
    # Both sides lie in one order: what lies between the first and the last row is read and left out.
    window = find(installation, query, first, chosen[-1].as_py() + 1 - first if len(chosen) else 0)
    table = window.report.table
    report = replace(window.report, table=table.filter(is_meant(table["balance"], 0)))
    return Window(report, len(places), window.silent)


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
    for run in _in_order(source):
        if not chunks.is_kept(source.session, run, kind):
            return None
        found += chunks.stretches(source.session, run, kind, **days)
    return found


def _in_order(source: Source) -> list[Run]:
    if source.query.name != "payout-summary":
        return frames.in_order(source.runs)
    countries = {connection.name: connection.country_code for connection in source.query.connections}
    return sorted(source.runs, key=lambda run: (countries[run.connection], run.connection))


def _of_pieces(source: Source, found: Sequence[Stretch], start: int, count: int) -> Window:
    definition = definition_of(source.query.name)
    complete = _COMPLETED.get(source.query.name, _as_it_is)
    pieces = chunks.page(source.session, found, start, count)
    parts = ((run.connection, complete(source, run.connection, part)) for run, part in pieces)
    table = build.in_parts(definition, parts).combine_chunks()
    silent = frozenset(chunks.empty_columns(source.session, found))
    facts = catalogue.facts_of(source.query, source.runs)
    report = Report(definition, table, source.query.span, source.as_of, facts=facts)
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
    rows = [{**row, "connection": connection} for row in chunks.to_rows(part)]
    aged = build.receivables(rows, source.due_days, as_of=source.as_of)
    return build.to_table(definition_of("receivables"), aged, currency=lambda row: str(row["currency"]))


def _expect(source: Source, connection: str, part: pa.Table) -> pa.Table:
    return build.in_transit(part, source.calendars[connection], as_of=source.as_of)


# What depends on the day that is asked for is added to the rows that are shown.
_COMPLETED: Mapping[str, Callable[[Source, str, pa.Table], pa.Table]] = {
    "receivables": _age,
    "in-transit": _expect,
    "bank-lines": lambda source, connection, part: bank.complete(source.session, connection, part),
}


def ages(installation: Installation, query: Query) -> dict[str, dict[str, int]]:
    """Add up what is owed by currency and age, and apart from any age what customers paid too much."""
    found: dict[str, dict[str, int]] = {}
    names = ["currency", "due_date", "issue_date", "balance"]
    with installation.store.reading() as session:
        source = catalogue.source_of(installation, session, query)
        due_days = source.due_days
        for run in source.runs:
            owed = extracts.read(session, run, chunks.RECEIVABLE, names)
            owed = owed.append_column("is_credit", pc.less(owed["balance"], 0))
            keys = [*names[:3], "is_credit"]
            for row in owed.group_by(keys).aggregate([("balance", "sum")]).to_pylist():
                days = build.days_overdue(row, as_of=source.as_of, due_days=due_days[run.connection])
                bucket = build.CREDIT if row["is_credit"] else build.overdue_bucket(days)
                own = found.setdefault(row["currency"], {})
                own[bucket] = own.get(bucket, 0) + row["balance_sum"]
    return found
