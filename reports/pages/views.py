"""Reports as pages: the same rows as the file, a hundred at a time, with what people look at drawn beside it."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import pyarrow as pa
from flask import Blueprint, abort, current_app, render_template
from flask.typing import ResponseReturnValue

from reports import catalogue, lists
from reports.build import CURRENCY, Report
from reports.catalogue import NoRunError
from reports.columns import Column
from reports.frames import latest_runs
from reports.lists import Page
from reports.pages import desk
from reports.pages.drawing import Bar, bars
from reports.query import Query

blueprint = Blueprint("views", __name__)

ROWS = 100
_KEPT = "cuadre_views"
# Where each report lives among the pages, in the order of the menu.
PLACES = {
    "receivables": "receivables",
    "documents": "documents",
    "in-transit": "in-transit",
    "clearing": "clearing-rollforward",
    "transfers": "transfers",
    "statements": "statement-check",
    "tax-statements": "tax-statements",
    "tax-returns": "tax-returns",
    "tax-invoices": "tax-invoices",
    "drift": "drift",
    "run-diff": "run-diff",
    "control": "control",
}
_AGEING = {"receivables": ("bucket", "balance")}


@dataclass(frozen=True, slots=True)
class Ageing:
    """The sums of one currency by age, and their bars."""

    currency: str
    bars: Sequence[Bar]


@blueprint.get("/view/<place>")
def show(place: str) -> ResponseReturnValue:
    if PLACES.get(place) not in catalogue.AVAILABLE:
        abort(404)
    # As of the run's own day, which is what its states were judged by.
    query = Query(PLACES[place], desk.connections(), desk.today(), desk.span(), desk.day("as_of") or _day_of_runs())
    number = desk.page_number()
    try:
        report = _made(query)
    except NoRunError:
        return render_template("view.html", report=None, place=place, name=PLACES[place])
    rows = report.table.slice((number - 1) * ROWS, ROWS).to_pylist()
    return render_template(
        "view.html",
        report=report,
        place=place,
        name=PLACES[place],
        columns=shown(report),
        page=Page(rows, number, report.table.num_rows, ROWS),
        ageing=ageing(report),
        currency_key=CURRENCY,
    )


# Reports of a run never change, so the next page of one need not build it again; each holds what is open, not all.
_OF_RUNS = frozenset({"receivables", "documents", "in-transit", "clearing-rollforward", "control"})
_MOST_KEPT = 8


def _made(query: Query) -> Report:
    """Build a report, or take the one that was built for the same runs, days and connections."""
    if query.name not in _OF_RUNS:
        return catalogue.make(desk.house(), query)
    kept: OrderedDict[object, Report] = current_app.extensions.setdefault(_KEPT, OrderedDict())
    with desk.house().store.reading() as session:
        names = [connection.name for connection in query.connections]
        runs = latest_runs(session, names, today=query.today, as_of=query.as_of, span=query.span)
    key = (query.name, tuple((run.connection, run.id) for run in runs), query.span, query.as_of)
    report = kept.get(key)
    if report is None:
        report = kept[key] = catalogue.make(desk.house(), query)
        while len(kept) > _MOST_KEPT:
            kept.popitem(last=False)
    return report


def _day_of_runs() -> date | None:
    with desk.house().store.reading() as session:
        runs = lists.runs_now(session, desk.names(), desk.today())
    return max((run.as_of for run in runs), default=None)


def shown(report: Report) -> list[Column]:
    """Leave out columns that say nothing in this report, and the connection where there is one."""
    single = len(desk.house().settings.all_connections) == 1
    return [
        column
        for column in report.definition.columns
        if not (column.name == "connection" and single)
        and (report.table.num_rows == 0 or report.table.column(column.name).null_count < report.table.num_rows)
    ]


def ageing(report: Report) -> list[Ageing]:
    """Add up what is owed by age, youngest first, one picture a currency."""
    if report.definition.name not in _AGEING or report.table.num_rows == 0:
        return []
    bucket, amount = _AGEING[report.definition.name]
    order = ("not due", "1-30", "31-60", "61-90", "over 90")
    found = _sums(report.table, bucket, amount)
    return [
        Ageing(currency, bars([(name, 0, sums[name]) for name in order if name in sums]))
        for currency, sums in sorted(found.items())
    ]


def _sums(table: pa.Table, bucket: str, amount: str) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    grouped = table.group_by([CURRENCY, bucket]).aggregate([(amount, "sum")]).to_pylist()
    for row in grouped:
        found.setdefault(row[CURRENCY], {})[row[bucket]] = row[f"{amount}_sum"]
    return found
