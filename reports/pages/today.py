"""The first page of the morning: what ties out, what is open, what it is worth."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue
from sqlmodel import Session

from consumer.facts.completeness import complete_until
from consumer.facts.house import Connection
from reports import lists, operations, trends
from reports.lists import PayoutFilter
from reports.pages import desk, drawing
from reports.pages.drawing import Chart
from reports.trends import Day

blueprint = Blueprint("today", __name__)
_WHOLE_BPS = 10_000

_NEWEST = 8
_A_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Trend:
    """One connection's runs over time: their figures and the two pictures of them."""

    connection: Connection
    days: Sequence[Day]
    rates: Chart
    risks: Chart

    @property
    def currency(self) -> str:
        return self.connection.country.currency


def trend(session: Session, connection: Connection) -> Trend:
    days = trends.by_run(session, connection.name, connection.country.currency, desk.today())
    rates = drawing.line([day.rate_bps for day in days], top=_WHOLE_BPS)
    return Trend(connection, days, rates, drawing.columns([day.at_risk for day in days]))


@blueprint.get("/")
def show() -> ResponseReturnValue:
    with desk.house().store.reading() as session:
        runs = lists.runs_now(session, desk.names(), desk.today())
        statuses = lists.payouts_by_status(session, runs)
        codes = lists.open_by_code(session, desk.names())
        newest = lists.payouts(session, runs, PayoutFilter(), 1).rows[:_NEWEST]
        gaps = operations.gaps_open(session, desk.names())
        arrived = operations.received_since(session, desk.names(), desk.now() - _A_DAY)
        shown = [trend(session, connection) for connection in desk.connections()]
        complete = [(c.name, complete_until(session, c.name, trends.EVENTS)) for c in desk.connections()]
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
        trends=[part for part in shown if part.days],
        complete=complete,
        explained=[
            sum(part.days[-1].payouts_closed for part in shown if part.days),
            sum(part.days[-1].payouts for part in shown if part.days),
        ],
    )
