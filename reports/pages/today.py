"""The first page of the morning: what ties out, what is open, what it is worth."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue
from sqlmodel import Session

from consumer.facts.completeness import complete_until
from consumer.facts.installation import Connection
from reconcile.tables import Run
from reports import bookkeeping, operations, run_history, standing, trends
from reports.pages import desk, drawing
from reports.pages.drawing import Chart
from reports.pages.exceptions import warnings
from reports.shapes.spans import Span
from reports.standing import ExceptionFilter, PayoutFilter
from reports.trends import Day

blueprint = Blueprint("today", __name__)
_WHOLE_BPS = 10_000

_NEWEST = 8
_TWO = 2
_A_DAY = timedelta(days=1)
# Payouts that are not expected to tie out.
_UNCOUNTED = ("not_due", "canceled", "returned")


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
    days = trends.by_run(session, connection.name, desk.today())
    rates = drawing.line([day.rate_bps for day in days], top=_WHOLE_BPS)
    amounts = [day.at_risk_in(connection.country.currency) for day in days]
    return Trend(connection, days, rates, drawing.columns(amounts, [not day.complete for day in days]))


@dataclass(frozen=True, slots=True)
class News:
    """What one connection has that it had not on the day before, each count as long as the list it leads to."""

    connection: Connection
    before: Day
    payouts: int
    opened: int
    closed: int
    at_risk: int
    matched_bps: int | None

    @property
    def since(self) -> date:
        """The first day that is new."""
        return self.before.as_of + _A_DAY


def news(session: Session, part: Trend, run: Run) -> News | None:
    """Compare the newest run with the last one of an earlier day; None if there is none."""
    # An incomplete run withholds what is missing, so that its figures look better than they are.
    known = [day for day in part.days if day.complete]
    if len(known) < _TWO or known[-1].number != run.number:
        return None
    before, now = known[-2:]
    since, names = before.as_of + _A_DAY, [run.connection]
    opened = ExceptionFilter(state="all", opened_from=since)
    closed = ExceptionFilter(state="closed", closed_from=since)
    return News(
        connection=part.connection,
        before=before,
        payouts=standing.payouts(session, [run], PayoutFilter(span=Span(since)), 1).total,
        opened=standing.exceptions(session, names, opened, 1).total,
        closed=standing.exceptions(session, names, closed, 1).total,
        at_risk=now.at_risk_in(part.currency) - before.at_risk_in(part.currency),
        matched_bps=None if now.rate_bps is None or before.rate_bps is None else now.rate_bps - before.rate_bps,
    )


@dataclass(frozen=True, slots=True)
class Risk:
    """What the newest runs left open in one currency, and which runs those are."""

    amount: int
    exceptions: int
    runs: Sequence[Run]


def value_at_risk(shown: Sequence[Trend], runs: Mapping[str, Run]) -> dict[str, Risk]:
    """Read the totals from the runs that the trends end with, so that both show the same number."""
    found: dict[str, Risk] = {}
    for part in shown:
        run, last = runs.get(part.connection.name), part.days[-1] if part.days else None
        if run is None or last is None or last.number != run.number:
            continue
        for currency, total in last.at_risk.items():
            before = found.get(currency, Risk(0, 0, ()))
            found[currency] = Risk(
                before.amount + total.amount, before.exceptions + total.exceptions, [*before.runs, run]
            )
    return dict(sorted(found.items()))


@blueprint.get("/")
def show() -> ResponseReturnValue:
    with desk.installation().store.reading() as session:
        runs = standing.runs_now(session, desk.names(), desk.today())
        statuses = standing.payouts_by_status(session, runs)
        codes = standing.open_by_code(session, desk.names())
        newest = standing.payouts(session, runs, PayoutFilter(), 1).rows[:_NEWEST]
        gaps = operations.gaps_open(session, desk.names())
        arrived = operations.count_received(session, desk.names(), desk.now() - _A_DAY)
        shown = [trend(session, connection) for connection in desk.connections()]
        by_name = {run.connection: run for run in runs}
        reported = [
            news(session, part, by_name[part.connection.name]) for part in shown if part.connection.name in by_name
        ]
        warned = list(warnings(runs))
        waiting = bookkeeping.waiting_approvals(session, desk.names(), now=desk.now())
        complete = [(c.name, complete_until(session, c.name, trends.EVENTS)) for c in desk.connections()]
    settled = sum(row.payouts for row in statuses if row.status == "closed")
    # They add up, and no source shows that the money came.
    bankless = sum(row.payouts for row in statuses if row.status == "no_bank")
    uncounted = {status: sum(row.payouts for row in statuses if row.status == status) for status in _UNCOUNTED}
    total = sum(row.payouts for row in statuses if row.status not in _UNCOUNTED)
    return render_template(
        "today.html",
        runs=runs,
        waiting=len(waiting),
        statuses=statuses,
        codes=codes,
        newest=newest,
        settled=settled,
        bankless=bankless,
        total=total,
        uncounted={status: number for status, number in uncounted.items() if number},
        missing=sum(run_history.missing_streams(run) for run in runs),
        risk=value_at_risk(shown, by_name),
        gaps=gaps,
        arrived=arrived,
        trends=[part for part in shown if part.days],
        complete=complete,
        news=[part for part in reported if part is not None],
        warnings=warned,
        explained=[
            sum(part.days[-1].payouts_closed for part in shown if part.days),
            sum(part.days[-1].payouts for part in shown if part.days),
        ],
    )
