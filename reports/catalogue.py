"""Make any report of the catalogue: read what it needs in one view of the database and build it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from sqlmodel import Session

from consumer.facts.house import Connection, House
from reconcile.tables import Run
from reports import build, changes, clearing, frames, mirror
from reports.build import Report
from reports.control import Books, control
from reports.definitions import CATALOGUE, Definition, definition_of
from reports.query import Query, Source
from reports.spans import Row, Span


class NoRunError(LookupError):
    """There is no finished reconciliation to report on; an empty file would read as nothing to do."""


def make(house: House, query: Query) -> Report:
    """Build one report; `incomplete` and `missing` in its facts name the connections that are not whole."""
    with house.store.reading() as session:
        return _build(session, query)


def make_sheets(house: House, query: Query) -> list[Report]:
    """Build a report with those that explain it, of one moment: the sheets of its workbook."""
    with house.store.reading() as session:
        first = _build(session, query)
        beside = BESIDE.get(query.name, ())
        return [first, *(_build(session, replace(query, name=name, as_of=first.as_of)) for name in beside)]


def _build(session: Session, query: Query) -> Report:
    definition = definition_of(query.name)
    names = [connection.name for connection in query.connections]
    runs = frames.latest_runs(session, names, as_of=query.as_of, span=query.span)
    if not runs and query.name not in WITHOUT_RUN:
        raise NoRunError("there is no finished run to report on: cuadre reconcile")
    # A clock that is behind the run, as in a demo, must not hide what the run found.
    as_of = query.as_of or max([query.today, *(run.as_of for run in runs)])
    rows = MAKERS[query.name](Source(session, runs, query, as_of))
    table = build.to_table(definition, rows, currency=_currency_of(definition, query.connections))
    return Report(definition, table, query.span, as_of, facts=_facts(query, runs))


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


def _lines(source: Source) -> Iterable[Row]:
    return frames.line_rows(source.session, source.runs, source.query.span, payout_id=source.query.payout_id)


def _exceptions(source: Source) -> Iterable[Row]:
    rows = frames.exception_rows(source.session, source.names)
    return build.exceptions(rows, source.calendars, span=source.query.span, as_of=source.as_of)


def _documents(source: Source) -> Iterable[Row]:
    return build.documents(frames.document_rows(source.session, source.runs), span=source.query.span)


def _receivables(source: Source) -> Iterable[Row]:
    documents = frames.document_rows(source.session, source.runs, with_balance=True)
    lines = frames.line_rows(source.session, source.runs, Span(), paid_out=None)
    return build.receivables(documents, lines, as_of=source.as_of)


def _waiting(source: Source) -> Iterable[Row]:
    return clearing.waiting(
        frames.line_rows(source.session, source.runs, Span(), paid_out=None),
        frames.payout_rows(source.session, source.runs, Span()),
    )


def _in_transit(source: Source) -> Iterable[Row]:
    return clearing.in_transit(_waiting(source), source.calendars, as_of=source.as_of)


def _rollforward(source: Source) -> Iterable[Row]:
    rows = clearing.rollforward(
        frames.line_rows(source.session, source.runs, Span(), paid_out=None),
        frames.payout_rows(source.session, source.runs, Span()),
    )
    return (row for row in rows if source.query.span.holds(row["date"]))


def _control(source: Source) -> Iterable[Row]:
    every = Source(source.session, source.runs, Query("", source.query.connections, source.as_of), source.as_of)
    return control(
        Books(
            payouts=list(_payouts(source)),
            lines=list(_lines(source)),
            documents=list(_documents(every)),
            receivables=list(_receivables(source)),
            in_transit=list(_in_transit(source)),
            rollforward=list(_rollforward(every)),
        )
    )


MAKERS: dict[str, Callable[[Source], Iterable[Row]]] = {
    "payout-summary": _payouts,
    "payout-detail": _lines,
    "exceptions": _exceptions,
    "documents": _documents,
    "receivables": _receivables,
    "clearing-rollforward": _rollforward,
    "in-transit": _in_transit,
    "transfers": mirror.transfers,
    "statement-check": mirror.statement_check,
    "tax-statements": mirror.tax_statements,
    "tax-returns": mirror.tax_returns,
    "tax-invoices": mirror.tax_invoices,
    "drift": changes.drift,
    "run-diff": changes.run_diff,
    "control": _control,
}
# These show what the provider says; a run only adds which payout a transfer is.
WITHOUT_RUN = frozenset({"transfers", "statement-check", "tax-statements", "tax-returns", "tax-invoices", "drift"})

# A workbook of payouts carries its detail, its exceptions and the totals that tie them.
BESIDE = {"payout-summary": ("payout-detail", "exceptions", "control")}

AVAILABLE = tuple(name for name in CATALOGUE if name in MAKERS)
