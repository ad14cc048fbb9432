"""Reports as pages: the same rows as the file, a hundred at a time, with a picture where one helps."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from flask import Blueprint, abort, render_template
from flask.typing import ResponseReturnValue

from consumer.facts.columns import Column
from reports import catalogue, standing, windows
from reports.catalogue import NoRunError
from reports.listing import Page
from reports.pages import desk, pending
from reports.pages.drawing import Bar, bars
from reports.pages.words import refusal
from reports.query import Query
from reports.shapes.build import AGES, CREDIT, CURRENCY
from reports.windows import Window

blueprint = Blueprint("views", __name__)

ROWS = 100
# Where each report lives among the pages, in the order of the menu.
PLACES = {
    "receivables": "receivables",
    "documents": "documents",
    "in-transit": "in-transit",
    "clearing": "clearing-rollforward",
    "cash-application": "cash-application",
    "fees": "fee-summary",
    "journal": "journal",
    "transfers": "transfers",
    "statements": "statement-check",
    "tax-statements": "tax-statements",
    "tax-returns": "tax-returns",
    "tax-invoices": "tax-invoices",
    "drift": "drift",
    "run-diff": "run-diff",
    "control": "control",
}
_AGED = {"receivables"}


@dataclass(frozen=True, slots=True)
class Ageing:
    """The sums of one currency by age, and their bars."""

    currency: str
    bars: Sequence[Bar]
    total: int


@blueprint.get("/view/<place>")
def show(place: str) -> ResponseReturnValue:
    if PLACES.get(place) not in catalogue.AVAILABLE:
        abort(404)
    # As of the run's own day, which is what its states were judged by.
    query = Query(PLACES[place], desk.connections(), desk.today(), desk.span(), desk.day("as_of") or _day_of_runs())
    number = desk.page_number()
    start, too_much, ages = (number - 1) * ROWS, None, {}
    try:
        if place in _AGED:
            found = windows.find_balances(desk.installation(), query, start, ROWS, are_credits=False)
            too_much = windows.find_balances(desk.installation(), query, 0, ROWS, are_credits=True)
            ages = windows.ages(desk.installation(), query)
        else:
            found = windows.find(desk.installation(), query, start, ROWS)
    except NoRunError as error:
        reason = refusal(error.message, desk.language())
        return render_template("view.html", report=None, place=place, name=PLACES[place], reason=reason)
    return render_template(
        "view.html",
        report=found.report,
        place=place,
        name=PLACES[place],
        columns=choose_columns(found),
        page=Page(pending.on_report(found.report.table.to_pylist()), number, found.total, ROWS),
        ageing=draw_ageing(ages),
        credit_sums={currency: sums[CREDIT] for currency, sums in sorted(ages.items()) if CREDIT in sums},
        credit_rows=Page(too_much.report.table.to_pylist(), 1, too_much.total, ROWS) if too_much else None,
        currency_key=CURRENCY,
    )


def _day_of_runs() -> date | None:
    with desk.installation().store.reading() as session:
        runs = standing.runs_now(session, desk.names(), desk.today())
    return max((run.as_of for run in runs), default=None)


def choose_columns(found: Window) -> list[Column]:
    """Leave out columns that are empty in this report, and the connection if there is only one."""
    single = len(desk.visible_connections()) == 1
    return [
        column
        for column in found.report.definition.columns
        if not (column.name == "connection" and single) and column.name not in found.silent
    ]


def draw_ageing(found: dict[str, dict[str, int]]) -> list[Ageing]:
    """Draw what is owed by age, youngest first, one picture a currency, with what it comes to."""
    by_age = {
        currency: [(name, 0, sums[name]) for name in AGES if name in sums] for currency, sums in sorted(found.items())
    }
    return [
        Ageing(currency, bars(rows), sum(amount for _, _, amount in rows)) for currency, rows in by_age.items() if rows
    ]
