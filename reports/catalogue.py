"""Make any report of the catalogue: read what it needs in one view of the database and build it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlmodel import Session

from consumer.facts.house import Connection, House
from reconcile.tables import Run
from reports import build, changes, clearing, frames, mirror
from reports.build import Report
from reports.clearing import Account
from reports.control import Books, control
from reports.definitions import CATALOGUE, Definition, definition_of
from reports.query import Query, Source
from reports.spans import Row, Span


class NoRunError(LookupError):
    """There is no finished reconciliation to report on; an empty file would read as nothing to do."""


OnRows = Callable[[int], None]


def _uncounted(_rows: int) -> None:
    """Nobody waits for the rows one by one."""


def make(house: House, query: Query, on_rows: OnRows = _uncounted) -> Report:
    """Build one report; `incomplete` and `missing` in its facts name the connections that are not whole."""
    with house.store.reading() as session:
        return _build(house, session, query, on_rows)


def make_sheets(house: House, query: Query, on_rows: OnRows = _uncounted) -> list[Report]:
    """Build a report with those that explain it, of one moment: the sheets of its workbook."""
    with house.store.reading() as session:
        first = _build(house, session, query, on_rows)
        beside = BESIDE.get(query.name, ())
        further = (replace(query, name=name, as_of=first.as_of) for name in beside)
        return [first, *(_build(house, session, each, on_rows) for each in further)]


def _build(house: House, session: Session, query: Query, on_rows: OnRows) -> Report:
    definition = definition_of(query.name)
    names = [connection.name for connection in query.connections]
    runs = frames.latest_runs(session, names, today=query.today, as_of=query.as_of, span=query.span)
    if not runs and query.name not in WITHOUT_RUN:
        raise NoRunError("there is no finished run to report on: cuadre reconcile")
    # A clock that is behind the run, as in a demo, must not hide what the run found.
    as_of = query.as_of or max([query.today, *(run.as_of for run in runs)])
    source = Source(session, runs, query, as_of, house)
    if query.name in IN_COLUMNS:
        table = build.from_columns(definition, _counted_parts(IN_COLUMNS[query.name](source), on_rows))
    else:
        rows = _counted(MAKERS[query.name](source), on_rows)
        table = build.to_table(definition, rows, currency=_currency_of(definition, query.connections))
    return Report(definition, table, query.span, as_of, facts=_facts(query, runs))


def _counted(rows: Iterable[Row], on_rows: OnRows) -> Iterator[Row]:
    for row in rows:
        on_rows(1)
        yield row


def _counted_parts(parts: Iterable[tuple[str, Any]], on_rows: OnRows) -> Iterator[tuple[str, Any]]:
    for connection, part in parts:
        on_rows(part.num_rows)
        yield connection, part


def _currency_of(definition: Definition, connections: Iterable[Connection]) -> Callable[[Row], str]:
    if "currency" in definition.names:
        return lambda row: str(row["currency"])
    own = {connection.name: connection.country.currency for connection in connections}
    return lambda row: own[row["connection"]]


def _facts(query: Query, runs: Sequence[Run]) -> dict[str, str]:
    needs_run = query.name not in WITHOUT_RUN
    of_run = {run.connection: run for run in runs}
    return {
        "runs": " ".join(f"{run.connection}:{run.id}" for run in runs),
        "run_numbers": "-".join(f"r{run.number:04d}" for run in runs),
        "connections": "-".join(connection.name for connection in query.connections),
        "countries": "-".join(dict.fromkeys(connection.country_code for connection in query.connections)),
        "modes": " ".join(dict.fromkeys(connection.mode for connection in query.connections)),
        "zones": " ".join(dict.fromkeys(connection.country.zone for connection in query.connections)),
        "calendars": "; ".join(dict.fromkeys(run.calendar for run in runs)),
        "incomplete": " ".join(run.connection for run in runs if not run.complete),
        "missing": " ".join(c.name for c in query.connections if c.name not in of_run and needs_run),
    }


def _payouts(source: Source) -> Iterable[Row]:
    return frames.payout_rows(source.session, source.runs, source.query.span, payout_id=source.query.payout_id)


def _figures(source: Source) -> Iterable[Row]:
    return frames.figure_rows(source.session, source.runs, source.query.span, payout_id=source.query.payout_id)


def _line_tables(source: Source) -> Iterable[tuple[str, Any]]:
    return frames.line_tables(source.session, source.runs, source.query.span, payout_id=source.query.payout_id)


def _exceptions(source: Source) -> Iterable[Row]:
    rows = frames.exception_rows(source.session, source.names)
    return build.exceptions(rows, source.calendars, span=source.query.span, as_of=source.as_of)


def _documents(source: Source) -> Iterable[Row]:
    return build.documents(frames.document_rows(source.session, source.runs), span=source.query.span)


def _receivables(source: Source) -> Iterable[Row]:
    documents = list(frames.document_rows(source.session, source.runs, with_balance=True))
    last = frames.last_payments(source.session, source.runs, [row["doc_key"] for row in documents])
    return _aged(source, documents, last)


def _aged(source: Source, documents: Iterable[Row], last: Mapping[tuple[str, str], str]) -> Iterable[Row]:
    due_days = source.house.settings.rules.get("due_days", build.DUE_DAYS)
    return build.receivables(documents, last, as_of=source.as_of, due_days=due_days)


def _accounts(source: Source) -> Iterator[Account]:
    for run in sorted(source.runs, key=lambda run: run.connection):
        payouts = list(frames.payout_rows(source.session, [run], Span()))
        yield Account(run.connection, frames.item_table(source.session, run), payouts)


def _in_transit(source: Source) -> Iterable[tuple[str, Any]]:
    for account in _accounts(source):
        calendar = source.calendars[account.connection]
        yield account.connection, clearing.in_transit(clearing.waiting(account), calendar, as_of=source.as_of)


def _rollforward(source: Source) -> Iterable[Row]:
    rows = (row for account in _accounts(source) for row in clearing.rollforward(account))
    return (row for row in rows if source.query.span.holds(row["date"]))


def _control(source: Source) -> Iterable[Row]:
    accounts = list(_accounts(source))
    documents = list(frames.document_rows(source.session, source.runs, with_balance=True))
    return control(
        Books(
            payouts=list(_payouts(source)),
            figures=list(_figures(source)),
            documents=documents,
            # Totals do not ask which payment was the last.
            receivables=list(_aged(source, documents, {})),
            in_transit=[row for account in accounts for row in clearing.totals(account)],
            rollforward=[row for account in accounts for row in clearing.rollforward(account)],
        )
    )


MAKERS: dict[str, Callable[[Source], Iterable[Row]]] = {
    "payout-summary": _payouts,
    "exceptions": _exceptions,
    "documents": _documents,
    "receivables": _receivables,
    "clearing-rollforward": _rollforward,
    "transfers": mirror.transfers,
    "statement-check": mirror.statement_check,
    "tax-statements": mirror.tax_statements,
    "tax-returns": mirror.tax_returns,
    "tax-invoices": mirror.tax_invoices,
    "drift": changes.drift,
    "run-diff": changes.run_diff,
    "control": _control,
}
# These may be millions of rows: built from columns, never row by row.
IN_COLUMNS: dict[str, Callable[[Source], Iterable[tuple[str, Any]]]] = {
    "payout-detail": _line_tables,
    "in-transit": _in_transit,
}
# These show what the provider says; a run only adds which payout a transfer is.
WITHOUT_RUN = frozenset({"transfers", "statement-check", "tax-statements", "tax-returns", "tax-invoices", "drift"})

# A workbook of payouts carries its detail, its exceptions and the totals that tie them.
BESIDE = {"payout-summary": ("payout-detail", "exceptions", "control")}

AVAILABLE = tuple(name for name in CATALOGUE if name in MAKERS or name in IN_COLUMNS)
