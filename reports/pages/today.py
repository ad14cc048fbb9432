"""The first page of the morning: what ties out, what is open, what it is worth."""

from datetime import timedelta

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue

from reports import lists, operations
from reports.lists import PayoutFilter
from reports.pages import desk

blueprint = Blueprint("today", __name__)

_NEWEST = 8
_A_DAY = timedelta(days=1)


@blueprint.get("/")
def show() -> ResponseReturnValue:
    with desk.house().store.reading() as session:
        runs = lists.runs_now(session, desk.names())
        statuses = lists.payouts_by_status(session, runs)
        codes = lists.open_by_code(session, desk.names())
        newest = lists.payouts(session, runs, PayoutFilter(), 1).rows[:_NEWEST]
        gaps = operations.gaps_open(session, desk.names())
        arrived = operations.received_since(session, desk.names(), desk.now() - _A_DAY)
    settled = sum(row.payouts for row in statuses if row.status == "closed")
    total = sum(row.payouts for row in statuses if row.status not in {"canceled", "returned", "not_due"})
    risk: dict[str, int] = {}
    for code in codes:
        risk[code.currency] = risk.get(code.currency, 0) + code.at_risk
    return render_template(
        "today.html",
        runs=runs,
        statuses=statuses,
        codes=codes,
        newest=newest,
        settled=settled,
        total=total,
        risk=risk,
        gaps=gaps,
        arrived=arrived,
    )
