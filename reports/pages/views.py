"""Reports as pages: the same rows as the file, a hundred at a time, with what people look at drawn beside it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import pyarrow as pa
from flask import Blueprint, abort, render_template
from flask.typing import ResponseReturnValue

from reports import catalogue
from reports.build import CURRENCY, Report
from reports.catalogue import NoRunError
from reports.columns import Column
from reports.lists import Page
from reports.pages import desk
from reports.pages.drawing import Bar, bars
from reports.query import Query

blueprint = Blueprint("views", __name__)

ROWS = 100
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
    query = Query(PLACES[place], desk.connections(), date.min, desk.span(), desk.day("as_of"))
    number = desk.page_number()
    try:
        report = catalogue.make(desk.house(), query)
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
