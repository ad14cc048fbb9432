"""Reports as pages: the same rows as the file, a hundred at a time, with a picture where one helps."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

import pyarrow.compute as pc
from flask import Blueprint, abort, render_template
from flask.typing import ResponseReturnValue

from reports.making import catalogue, columnar
from reports.making.catalogue import NoRunError
from reports.making.columnar import Selection
from reports.pages import desk, lists, pending, pending_totals
from reports.pages.desk import BadQueryError
from reports.pages.drawing import Bar, bars
from reports.pages.words import refusal
from reports.queries.asking import Asked, AskedError
from reports.queries.query import Query
from reports.shapes.build import AGES, CURRENCY, Report
from reports.shapes.definitions import definition_of

blueprint = Blueprint("views", __name__)

ROWS = 100
OF_REPORTS = frozenset({"from", "to", "as_of"})
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
    "complements": "payment-complements",
    "tie-out": "tax-tie-out",
    "tax-causes": "tax-causes",
    "vouchers": "tax-vouchers",
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
    asked = lists.read(PLACES[place], definition_of(PLACES[place]).columns, OF_REPORTS, usual=ROWS)
    try:
        whole = columnar.read(desk.installation(), query(PLACES[place]))
    except NoRunError as error:
        reason = refusal(error.message, desk.language())
        return render_template("view.html", report=None, place=place, name=PLACES[place], reason=reason)
    published, too_much = sides(whole) if place in _AGED else (whole, None)
    owed = with_pending(published)
    shown = select(owed, asked)
    silent = silent_columns(whole)
    return render_template(
        "view.html",
        report=whole,
        place=place,
        name=PLACES[place],
        drawn=lists.draw_report(
            shown,
            asked,
            silent=silent,
            mark=pending.on_report,
            published=None if owed is published else select(published, asked),
        ),
        ageing=draw_ageing(add_up_ages(_take(shown, [CURRENCY, "bucket", "balance"]))) if place in _AGED else (),
        credits=lists.draw_report(select(too_much, asked), asked, silent=silent) if too_much else None,
        box=lists.box(OF_REPORTS),
    )


def select_shown(name: str, *, is_pending: bool = False) -> Selection:
    """Find what an address asks of a report, of receivables what customers owe; `is_pending` as it will be."""
    asked = lists.read(name, definition_of(name).columns, OF_REPORTS, usual=ROWS)
    whole = columnar.read(desk.installation(), query(name))
    shown = sides(whole)[0] if name in _AGED else whole
    return select(with_pending(shown) if is_pending else shown, asked)


def with_pending(report: Report) -> Report:
    """Return a report with the decisions that wait for the next runs, if any change it."""
    with desk.installation().store.reading() as session:
        runs = desk.runs_now(session, desk.names())
    return pending_totals.on_report(report, runs)


def query(name: str) -> Query:
    """Return what an address asks of a report, as of the run's own day, which is what its states were judged by."""
    as_of = desk.day("as_of") or _day_of_runs()
    return Query(name, desk.connections(), desk.today(), desk.span(), as_of, run=desk.pinned_run())


def select(report: Report, asked: Asked) -> Selection:
    """Filter and sort a report as its reader says its words and days."""
    try:
        return columnar.select(report, asked, zone=lists.zone(), speak=lists.speak(report.definition.name))
    except AskedError as error:
        raise BadQueryError(error.message) from None


def sides(report: Report) -> tuple[Report, Report]:
    """Part receivables into what customers owe and what they paid too much."""
    is_owed = pc.greater(report.table["balance"], 0)
    return replace(report, table=report.table.filter(is_owed)), replace(
        report, table=report.table.filter(pc.invert(is_owed))
    )


def silent_columns(report: Report) -> frozenset[str]:
    """Return the columns that say nothing in any row."""
    table = report.table
    return frozenset(name for name in table.column_names if table.num_rows and table[name].null_count == table.num_rows)


def _take(shown: Selection, names: Sequence[str]) -> Report:
    """Return some columns of the rows that are asked for, in no order."""
    return replace(shown.report, table=shown.report.table.select(names).take(shown.places))


def add_up_ages(owed: Report) -> dict[str, dict[str, int]]:
    """Add up what is owed by currency and age."""
    found: dict[str, dict[str, int]] = {}
    for row in owed.table.group_by([CURRENCY, "bucket"]).aggregate([("balance", "sum")]).to_pylist():
        found.setdefault(row[CURRENCY], {})[row["bucket"]] = row["balance_sum"]
    return found


def _day_of_runs() -> date | None:
    with desk.installation().store.reading() as session:
        runs = desk.runs(session, desk.names())
    return max((run.as_of for run in runs), default=None)


def draw_ageing(found: dict[str, dict[str, int]]) -> list[Ageing]:
    """Draw what is owed by age, youngest first, one picture a currency, with what it comes to."""
    by_age = {
        currency: [(name, 0, sums[name]) for name in AGES if name in sums] for currency, sums in sorted(found.items())
    }
    return [
        Ageing(currency, bars(rows), sum(amount for _, _, amount in rows)) for currency, rows in by_age.items() if rows
    ]
