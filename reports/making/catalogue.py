"""Make any report of the catalogue: read what it needs in one view of the database and build it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa
from sqlmodel import Session, col

from consumer.facts.installation import Connection, Installation
from consumer.facts.messages import RefusalError
from consumer.facts.tables.provider import (
    AccountMovement,
    AccountStatement,
    ProviderObject,
    TaxInvoice,
    TaxReturn,
    TaxStatement,
    Transfer,
)
from consumer.facts.tables.sync import Drift
from reconcile.journal.applied import read_applied
from reconcile.kept import chunks, extracts, records
from reconcile.tables.runs import Run
from reports.making import business, complements, disputes, fees, fiscal, journals
from reports.making.control import Books, control
from reports.output.workbook import ROUNDING
from reports.queries import bank, frames, run_history, standing
from reports.queries.frames import Part
from reports.queries.query import Query, Source
from reports.shapes import build
from reports.shapes.build import Report
from reports.shapes.definitions import CATALOGUE, Definition, definition_of
from reports.shapes.spans import WHOLE, Row


class NoRunError(RefusalError):
    """There is no finished reconciliation to report on; an empty file would look like a finished day."""


OnRows = Callable[[int], None]
Maker = Callable[[Source], Iterable[Row]]


def _ignore_rows(_rows: int) -> None:
    """Ignore progress: no caller shows it."""


def make(installation: Installation, query: Query, on_rows: OnRows = _ignore_rows) -> Report:
    """Build one report; `incomplete` and `missing` in its facts name the connections that are not whole."""
    return installation.store.read_apart(lambda session: _build(installation, session, query, on_rows))


def make_sheets(installation: Installation, query: Query, on_rows: OnRows = _ignore_rows) -> list[Report]:
    """Build a report with those that explain it, of one moment: the sheets of its workbook."""

    def make_all(session: Session) -> list[Report]:
        first = _build(installation, session, query, on_rows)
        companions = COMPANIONS.get(query.name, ())
        further = (replace(query, name=name, as_of=first.as_of) for name in companions)
        return [first, *(_build(installation, session, each, on_rows) for each in further)]

    return installation.store.read_apart(make_all)


def source_of(installation: Installation, session: Session, query: Query) -> Source:
    """Find the runs that answer a query, and the day they answer it for."""
    names = [connection.name for connection in query.connections]
    runs = frames.latest_runs(session, names, today=query.today, as_of=query.as_of, span=query.span, number=query.run)
    if not runs and query.name not in WITHOUT_RUN:
        raise NoRunError("reports.no_run_by", day=query.as_of) if query.as_of else NoRunError("reports.no_run")
    # A clock that is behind the run, as in a demo, must not hide what the run found.
    as_of = query.as_of or max([query.today, *(run.as_of for run in runs)])
    return Source(session, runs, query, as_of, installation)


def _build(installation: Installation, session: Session, query: Query, on_rows: OnRows) -> Report:
    return build_from(source_of(installation, session, query), on_rows)


def build_from(source: Source, on_rows: OnRows = _ignore_rows) -> Report:
    """Build one report from the runs of a source."""
    query, definition = source.query, definition_of(source.query.name)
    if query.name in IN_COLUMNS:
        table = build.from_columns(definition, _count_parts(IN_COLUMNS[query.name](source), on_rows))
    else:
        rows = _count_rows(MAKERS[query.name](source), on_rows)
        table = build.to_table(definition, rows, currency=currency_of(definition, query.connections))
    banks = standing.bank_names(source.session) if "recipient_institution" in definition.names else {}
    return Report(definition, table, query.span, source.as_of, facts=facts_of(query, source.runs), banks=banks)


def _count_rows(rows: Iterable[Row], on_rows: OnRows) -> Iterator[Row]:
    for row in rows:
        on_rows(1)
        yield row


def _count_parts(parts: Iterable[Part], on_rows: OnRows) -> Iterator[Part]:
    for connection, part in parts:
        on_rows(part.num_rows)
        yield connection, part


def currency_of(definition: Definition, connections: Iterable[Connection]) -> Callable[[Row], str]:
    if "currency" in definition.names:
        return lambda row: str(row["currency"])
    own = {connection.name: connection.country.currency for connection in connections}
    return lambda row: row.get("currency") or own[row["connection"]]


def zones_of(connections: Iterable[Connection]) -> dict[str, str]:
    """Say by which clocks people's files write moments; where there are several, by which those of a connection."""
    zones = {connection.name: connection.country.zone for connection in connections}
    different = " ".join(dict.fromkeys(zones.values()))
    return {"zones": different} | ({f"zone {name}": zone for name, zone in zones.items()} if " " in different else {})


def facts_of(query: Query, runs: Sequence[Run]) -> dict[str, str]:
    """Say what a report was made from, as its file, its archive row and its page name it."""
    needs_run = query.name not in WITHOUT_RUN
    of_run = {run.connection: run for run in runs}
    return (
        {
            "runs": " ".join(f"{run.connection}:{run.id}" for run in runs),
            "run_numbers": "-".join(f"r{run.number:04d}" for run in runs),
            "connections": "-".join(connection.name for connection in query.connections),
            "countries": "-".join(dict.fromkeys(connection.country_code for connection in query.connections)),
            "modes": " ".join(dict.fromkeys(connection.mode for connection in query.connections)),
            "calendars": "; ".join(dict.fromkeys(run.calendar for run in runs)),
            "incomplete": " ".join(run.connection for run in runs if not run.complete),
            "missing": " ".join(c.name for c in query.connections if c.name not in of_run and needs_run),
            "rounding": ROUNDING,
        }
        | zones_of(query.connections)
        | {name: value for run in runs for name, value in _name_inputs(run)}
    )


def _name_inputs(run: Run) -> Iterator[tuple[str, str]]:
    """Say by which data and tolerances a run came to its result."""
    summary = records.read_summary(run)
    for name, digest in sorted(summary["inputs"].items()):
        yield f"sha256 {run.connection} {name}", digest
    for name, value in sorted(summary["tolerances"].items()):
        yield f"tolerance {run.connection} {name}", str(value)


def _payouts(source: Source) -> Iterable[Part]:
    return frames.payout_tables(source.session, source.runs, source.query.span, payout_id=source.query.payout_id)


def _line_tables(source: Source) -> Iterable[Part]:
    return frames.line_tables(source.session, source.runs, source.query.span, payout_id=source.query.payout_id)


def _exceptions(source: Source) -> Iterable[Row]:
    shown = frames.exceptions_shown(source.names, source.query.span, source.as_of)
    return age_exceptions(source, frames.exception_rows(source.session, shown))


def age_exceptions(source: Source, rows: Iterable[Row]) -> Iterable[Row]:
    return build.exceptions(rows, source.calendars, as_of=source.as_of)


def _documents(source: Source) -> Iterable[Part]:
    return frames.document_tables(source.session, source.runs, source.query.span)


def _receivables(source: Source) -> Iterable[Part]:
    for run in frames.in_order(source.runs):
        owed = extracts.read(source.session, run, chunks.RECEIVABLE)
        yield run.connection, build.receivables(owed, source.due_days[run.connection], as_of=source.as_of)


def _in_transit(source: Source) -> Iterable[Part]:
    for run in frames.in_order(source.runs):
        waiting = extracts.read(source.session, run, chunks.TRANSIT)
        yield run.connection, build.in_transit(waiting, source.calendars[run.connection], as_of=source.as_of)


def _cash_application(source: Source) -> Iterable[Part]:
    span, connections, settings = source.query.span, _by_name(source), source.installation.settings
    for run in frames.in_order(source.runs):
        for table in read_applied(source.session, settings, connections[run.connection], run):
            masks = chunks.day_masks(table["date"].cast(pa.timestamp("us")), span.since, span.until)
            yield run.connection, chunks.filter_rows(table, masks)


def _bank_lines(source: Source) -> Iterable[Part]:
    return bank.bank_tables(source.session, source.runs, source.query.span)


def _fees(source: Source) -> Iterable[Row]:
    days = frames.read_extracts(source.session, source.runs, chunks.FEE)
    return fees.by_month((row for row in days if source.query.span.holds(row["on"])), fiscal.read_invoices(source))


def _journal(source: Source) -> Iterable[Row]:
    try:
        yield from journals.journal_rows(source)
    except RefusalError as error:
        raise NoRunError(error.message) from None


def _rollforward(source: Source) -> Iterable[Row]:
    rows = frames.read_extracts(source.session, source.runs, chunks.ROLLFORWARD)
    return (row for row in rows if source.query.span.holds(row["date"]))


def _control(source: Source) -> Iterable[Row]:
    query = source.query
    figures = frames.figure_rows(source.session, source.runs, query.span, payout_id=query.payout_id)
    rollforward = frames.read_extracts(source.session, source.runs, chunks.ROLLFORWARD)
    owed, too_much = _balances(source)
    in_transit = _sums(source, chunks.TRANSIT, "amount_signed")
    return control(Books(list(figures), owed, too_much, list(in_transit), list(rollforward)))


def _balances(source: Source) -> tuple[list[Row], list[Row]]:
    owed: list[Row] = []
    too_much: list[Row] = []
    for run in frames.in_order(source.runs):
        table = extracts.read(source.session, run, chunks.RECEIVABLE, ["currency", "balance"])
        own, more = split_balances(run.connection, table)
        owed, too_much = owed + own, too_much + more
    return owed, too_much


def split_balances(connection: str, owed: pa.Table) -> tuple[list[Row], list[Row]]:
    """Add up what customers of a connection owe, and apart from it what they paid too much."""
    parts = (owed.filter(is_meant(owed["balance"], 0)) for is_meant in (pc.greater, pc.less))
    due, too_much = (sum_by_currency(connection, part, "balance") for part in parts)
    return due, too_much


def sum_by_currency(connection: str, table: pa.Table, name: str) -> list[Row]:
    sums = table.group_by("currency").aggregate([(name, "sum")]).to_pylist()
    return [{"connection": connection, "currency": row["currency"], name: row[f"{name}_sum"]} for row in sums]


def _sums(source: Source, kind: str, name: str) -> Iterator[Row]:
    for run in frames.in_order(source.runs):
        yield from sum_by_currency(run.connection, extracts.read(source.session, run, kind, ["currency", name]), name)


def _transfers(source: Source) -> Iterable[Row]:
    bank = business.to_bank(
        _objects(source, AccountMovement), _objects(source, AccountStatement), _find_arrived(source)
    )
    return business.transfers(_objects(source, Transfer), bank, _by_name(source), span=source.query.span)


def _find_arrived(source: Source) -> Iterator[Row]:
    """Name the bank movement of each payout that has one."""
    names = ["payout_date", "payout_id", "bank_movement_id"]
    for _, table in frames.payout_tables(source.session, source.runs, WHOLE, names=names):
        yield from table.select(names[1:]).drop_null().to_pylist()


def _statement_check(source: Source) -> Iterable[Row]:
    statements, movements = _objects(source, AccountStatement), _objects(source, AccountMovement)
    return business.statement_check(statements, movements, _by_name(source), span=source.query.span)


def _of_objects(table: type[ProviderObject], make: Callable[..., Iterable[Row]]) -> Maker:
    """Make a report of mirrored objects of one kind, each on its own."""
    return lambda source: make(_objects(source, table), _by_name(source), span=source.query.span)


def _objects(source: Source, table: type[ProviderObject]) -> Iterator[Row]:
    return frames.object_rows(source.session, table, source.names)


def _by_name(source: Source) -> Mapping[str, Connection]:
    return {connection.name: connection for connection in source.query.connections}


def _drift(source: Source) -> Iterator[Row]:
    """List what still differs from the provider; what was mended is gone from the list."""
    query = sa.select(Drift).where(col(Drift.connection).in_(source.names), col(Drift.repaired_at).is_(None))
    for found in source.session.scalars(query):
        yield {name: getattr(found, name) for name in definition_of("drift").names}


MAKERS: dict[str, Maker] = {
    "disputes": disputes.dispute_rows,
    "exceptions": _exceptions,
    "fee-summary": _fees,
    "journal": _journal,
    "clearing-rollforward": _rollforward,
    "transfers": _transfers,
    "statement-check": _statement_check,
    "tax-statements": _of_objects(TaxStatement, business.tax_statements),
    "tax-returns": _of_objects(TaxReturn, business.tax_returns),
    "tax-invoices": _of_objects(TaxInvoice, business.tax_invoices),
    "payment-complements": complements.complement_rows,
    "tax-tie-out": fiscal.tie_rows,
    "tax-causes": fiscal.cause_rows,
    "tax-vouchers": fiscal.voucher_rows,
    "drift": _drift,
    "run-diff": run_history.run_diff,
    "control": _control,
}
# These may be millions of rows: built from columns, never row by row.
IN_COLUMNS: dict[str, Callable[[Source], Iterable[Part]]] = {
    "payout-summary": _payouts,
    "documents": _documents,
    "payout-detail": _line_tables,
    "receivables": _receivables,
    "in-transit": _in_transit,
    "cash-application": _cash_application,
    "bank-lines": _bank_lines,
}
# These show what the provider says; a run only adds which payout a transfer is, or what a dispute is about.
WITHOUT_RUN = frozenset(
    {
        "disputes",
        "transfers",
        "statement-check",
        "tax-statements",
        "tax-returns",
        "tax-invoices",
        "tax-tie-out",
        "tax-causes",
        "tax-vouchers",
        "drift",
    }
)

# A workbook of payouts carries its detail, its exceptions and the totals that tie them.
COMPANIONS = {"payout-summary": ("payout-detail", "exceptions", "control")}

AVAILABLE = tuple(name for name in CATALOGUE if name in MAKERS or name in IN_COLUMNS)
