"""Payouts: the list with its filters, and one payout from gross to net with every item and document behind it."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from itertools import accumulate

from flask import Blueprint, abort, render_template
from flask.typing import ResponseReturnValue

from consumer.facts.columns import to_columns
from reconcile.desk.ties import find_ties
from reconcile.rules.outcomes import DEAD, Code, Recon
from reports.access.people import Role
from reports.making import columnar
from reports.making.catalogue import NoRunError
from reports.making.columnar import Selection
from reports.pages import desk, lists, pending, views
from reports.pages.drawing import Bar, bars
from reports.queries import bank, bookkeeping, frames, standing
from reports.queries.asking import Condition
from reports.shapes.build import Report
from reports.shapes.definitions import definition_of
from reports.shapes.spans import Row, Span

_TYPES = ("payment_intent", "charge", "refund", "refund_adjustment", "dispute")
blueprint = Blueprint("payouts", __name__, url_prefix="/payouts")

_LIST = "payout-summary"
_DATE, _STATE = to_columns("payout_date status_recon")
OF_PAYOUTS = frozenset({"status", "from", "to"})
STATUSES = tuple(state.value for state in Recon)
_STEPS = (
    ("Payments", "payments_gross", 1),
    ("Charges", "charges_gross", 1),
    ("Refunds", "refunds_gross", -1),
    ("Failed refunds returned", "refund_adjustments", 1),
    ("Disputes lost", "disputes", -1),
    ("Fees with VAT", "fee_total", -1),
    ("Difference", "difference", 1),
)
_MOST_ITEMS = 500


@blueprint.get("")
def index() -> ResponseReturnValue:
    asked = lists.read(_LIST, definition_of(_LIST).columns, OF_PAYOUTS)
    try:
        published = columnar.read(desk.installation(), views.query(_LIST))
        later = views.with_pending(published)
        drawn = lists.draw_report(
            _select(later), asked, mark=pending.on_payouts, published=None if later is published else _select(published)
        )
        living = _select(published).living()
        drawn = replace(drawn, living=living.totals() if len(living.places) < drawn.page.total else None)
    except NoRunError:
        drawn = lists.draw_nothing(_LIST, asked)
    status, span, box = desk.choice("status", STATUSES), desk.span(), lists.box(OF_PAYOUTS)
    return render_template("payouts.html", drawn=drawn, status=status, statuses=STATUSES, span=span, box=box)


def find_shown(*, is_pending: bool = False) -> Selection:
    """Find the payouts that are asked for, as the newest runs say or with what waits for the next ones."""
    published = columnar.read(desk.installation(), views.query(_LIST))
    return _select(views.with_pending(published) if is_pending else published)


def _select(report: Report) -> Selection:
    """Filter payouts, newest first; those that have no date yet are the newest."""
    asked = lists.read(_LIST, definition_of(_LIST).columns, OF_PAYOUTS)
    if status := desk.choice("status", STATUSES):
        asked = asked.where(Condition(_STATE, (status,), is_whole=True))
    if asked.sort is None:
        asked = replace(asked, sort=_DATE, is_descending=True)
    return views.select(report, asked)


@blueprint.get("/<payout_id>")
def show(payout_id: str) -> ResponseReturnValue:
    with desk.installation().store.reading() as session:
        runs = desk.runs(session, desk.names())
        payout = standing.find_payout(session, runs, payout_id)
        if payout is None:
            abort(404)
        own = [run for run in runs if run.connection == payout["connection"]]
        lines = list(frames.line_rows(session, own, Span(), payout_id=payout_id))
        [payout], lines = pending.on_payouts([payout]), pending.on_lines(lines, own[0].connection, payout_id=payout_id)
        every = len(lines)
        kind, item = desk.choice("type", _TYPES), desk.args().get("item", "")[:200]
        lines = [line for line in lines if kind in {"", line["resource_type"]} and item in {"", line["resource_id"]}]
        found = standing.exceptions_of(session, payout["connection"], payout_id)
        found = pending.on_exceptions([*pending.list_opening(payout_id=payout_id), *found])
        late = bookkeeping.find_late_facts(session, payout["connection"], "payout", payout_id)
        ties = find_ties(session, payout["connection"], "resource_id", payout_id)
        is_awaited = payout["status"] == "succeeded" and payout["bank_movement_id"] is None
        is_pinned = desk.pinned_run() is not None
        free = bank.find_free_lines(session, own[0], payout, pending.on_bank()) if is_awaited and not is_pinned else []
        stood_on = own[0].as_of if is_pinned else None
    return render_template(
        "payout.html",
        payout=payout,
        steps=waterfall(payout),
        lines=lines[:_MOST_ITEMS],
        total=len(lines),
        every=every,
        days=days_of(lines),
        exceptions=found,
        late=late,
        ties=ties,
        free=free,
        may_decide=desk.reader().role.may(Role.FINANCE) and not is_pinned,
        kind_of=KIND_OF_STEP,
        trace=trace(payout, [one["code"] for one in found if _is_open(one, stood_on)]),
    )


def _is_open(exception: Row, on: date | None) -> bool:
    """Return True if an exception is open, or was on a day."""
    resolved_on: date | None = exception["resolved_on"]
    return resolved_on is None or (on is not None and exception["opened_on"] <= on < resolved_on)


def waterfall(payout: Row) -> list[Bar]:
    """Walk from gross to the amount paid out; steps of zero are left out, the difference and the end never are."""
    steps = [(name, sign * payout[column]) for name, column, sign in _STEPS if payout[column] is not None]
    shown = [(name, amount) for name, amount in steps if amount or name == "Difference"]
    ends = list(accumulate((amount for _, amount in shown), initial=0))
    walk = [(name, start, amount) for (name, amount), start in zip(shown, ends, strict=False)]
    return bars([*walk, ("Paid out", 0, payout["payout_amount"])])


# What each step of the way from gross to net is made of.
KIND_OF_STEP = {
    "Payments": "payment_intent",
    "Charges": "charge",
    "Refunds": "refund",
    "Failed refunds returned": "refund_adjustment",
    "Disputes lost": "dispute",
}


def days_of(lines: Sequence[Row]) -> dict[str, tuple[str, str] | None]:
    """Give the first and last day of the documents and of the payments that a payout is made of."""
    found = {
        "documents": sorted(line["doc_date"] for line in lines if line["doc_date"]),
        "payments": sorted(line["local_date"] for line in lines if line["local_date"]),
    }
    return {name: (days[0], days[-1]) if days else None for name, days in found.items()}


def trace(payout: Row, open_codes: Sequence[str]) -> dict[str, object]:
    """Say for each hop whether it is done: invoices to payments, payments to payout, payout to bank.

    A payout that was canceled or returned is `is_dead`: its items are judged where another one pays them.
    """
    items = (payout["matched_count"] or 0) + (payout["unmatched_count"] or 0)
    return {
        "items": items,
        "is_dead": payout["status"] in DEAD,
        "documents_done": not payout["unmatched_count"],
        "sums_done": payout["difference"] == 0,
        "paid_done": payout["status"] == "succeeded",
        "bank_known": payout["bank_date"] is not None,
        "bank_absent": Code.PAYOUT_NOT_IN_BANK in open_codes,
        "bank_done": payout["bank_date"] is not None and not payout["bank_difference"],
    }
