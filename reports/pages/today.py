"""The first page of the morning: what ties out, what is open, what it is worth."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from flask import Blueprint, abort, redirect, render_template, url_for
from flask.typing import ResponseReturnValue
from markupsafe import Markup
from sqlmodel import Session

from consumer.facts.bankdays import read_calendar
from consumer.facts.clock import local_date
from consumer.facts.completeness import complete_until
from consumer.facts.installation import Connection
from consumer.facts.messages import translate
from reconcile.desk import casework, payers
from reconcile.desk.payers import RuleState
from reconcile.fiscal.calendar import Due, find_near
from reconcile.rules.at_risk import Total
from reconcile.tables.runs import Run
from reports.pages import desk, drawing, pending, pending_totals, saved
from reports.pages.drawing import Chart
from reports.pages.exceptions import warnings
from reports.queries import bookkeeping, morning, operations, run_history, standing, trends
from reports.queries.morning import Change, News
from reports.queries.standing import StatusCount
from reports.queries.trends import Day
from reports.shapes import notation
from reports.wording import phrases

blueprint = Blueprint("today", __name__)
_WHOLE_BPS = 10_000

_NEWEST = 8
_A_DAY = timedelta(days=1)
OnRisk = Callable[[str, Mapping[str, Total]], Mapping[str, Total]]
# How payouts stand that did not arrive and tie out, in the order in which they are said.
_OTHERS = ("open", "incomplete", "no_bank", "not_due", "returned", "canceled")


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
class Risk:
    """What the newest runs left open in one currency, and which runs those are."""

    amount: int
    exceptions: int
    runs: Sequence[Run]


def value_at_risk(
    shown: Sequence[Trend], runs: Mapping[str, Run], later: OnRisk = lambda _connection, total: total
) -> dict[str, Risk]:
    """Read the totals from the runs that the trends end with; `later` says what they will be."""
    found: dict[str, Risk] = {}
    for part in shown:
        run, last = runs.get(part.connection.name), part.days[-1] if part.days else None
        if run is None or last is None or last.number != run.number:
            continue
        for currency, total in later(part.connection.name, last.at_risk).items():
            before = found.get(currency, Risk(0, 0, ()))
            found[currency] = Risk(
                before.amount + total.amount, before.exceptions + total.exceptions, [*before.runs, run]
            )
    return dict(sorted(found.items()))


@blueprint.get("/")
def show() -> ResponseReturnValue:
    with desk.installation().store.reading() as session:
        runs = desk.runs_now(session, desk.names())
        today = max((run.as_of for run in runs), default=desk.today())
        published = standing.payouts_by_status(session, runs)
        statuses = pending_totals.on_statuses(session, runs, published)
        open_codes = standing.open_by_code(session, desk.names())
        codes = pending_totals.on_codes(session, desk.names(), open_codes)
        newest = pending.on_payouts(standing.newest_payouts(session, runs, _NEWEST))
        gaps = operations.gaps_open(session, desk.names())
        arrived = operations.count_recent(session, desk.names(), desk.now() - _A_DAY)
        shown = [trend(session, connection) for connection in desk.connections()]
        by_name = {run.connection: run for run in runs}
        warned = list(warnings(runs))
        named = casework.unseen(session, desk.names(), desk.reader().name)
        waiting = bookkeeping.waiting_approvals(session, desk.names(), now=desk.now())
        rules = payers.list_to_decide(session, desk.names())
        complete = [(c.name, complete_until(session, c.name, trends.EVENTS)) for c in desk.connections()]
        first = pending.on_exceptions(morning.find_first(session, desk.names(), today))
        answers = pending.on_exceptions(morning.find_to_answer(session, desk.names()))
        news = morning.find_news(session, runs, desk.reader().person_id)
        duties = [(own, due) for own in desk.connections() for due in _find_due(session, own)]
    return render_template(
        "today.html",
        runs=runs,
        today=today,
        waiting=len(waiting),
        sent_back=sum(rule.state == RuleState.SENT_BACK for rule in rules),
        proposed=sum(rule.state == RuleState.PROPOSED for rule in rules),
        named=named,
        duties=duties,
        statuses=statuses,
        codes=codes,
        newest=newest,
        settled=_count(statuses, "closed"),
        was_settled=_count(published, "closed"),
        was_open=sum(row.count for row in open_codes),
        total=sum(row.payouts for row in statuses),
        others={status: number for status in _OTHERS if (number := _count(statuses, status))},
        missing=sum(run_history.missing_streams(run) for run in runs),
        risk=value_at_risk(shown, by_name, pending_totals.on_risk),
        was_risk=value_at_risk(shown, by_name),
        gaps=gaps,
        arrived=arrived,
        trends=[part for part in shown if part.days],
        complete=complete,
        first=first,
        answers=answers,
        news=news,
        news_words=_say_change,
        may_mark=desk.reader().person_id is not None and runs,
        warnings=warned,
        pins=saved.pinned(),
    )


def _find_due(session: Session, own: Connection) -> Iterator[Due]:
    calendar = read_calendar(desk.installation().settings.files_dir, own.country_code)
    return find_near(session, own, calendar, local_date(desk.now(), own.country.zone))


@blueprint.post("/seen")
def mark_seen() -> ResponseReturnValue:
    """Remember what this person has seen, so that the page says what changed since."""
    person_id = desk.reader().person_id
    if person_id is None:
        abort(403)
    with desk.installation().store.transaction() as session:
        morning.mark_seen(session, person_id, desk.runs_now(session, desk.names()), now=desk.now())
    return redirect(url_for("today.show"))


def _count(statuses: Sequence[StatusCount], status: str) -> int:
    return sum(row.payouts for row in statuses if row.status == status)


def _say_change(change: Change, part: News) -> Markup:
    """Say one change in a sentence that leads to the rows it counts."""
    group, language = "news_one" if change.count == 1 else "news", desk.language()
    title = phrases.code_title(change.code, language) if change.code else ""
    n = notation.format_count(change.count, language)
    sentence = translate(f"{group}.{change.cause}", language, n=n, title=title)
    return Markup('<a href="{}">{}</a>').format(_address(change, part), sentence)


def _address(change: Change, part: News) -> str:
    own = part.connection
    if change.cause.startswith("payout_"):
        return url_for("payouts.index", status=change.cause.removeprefix("payout_"), connection=own)
    if change.code:
        since = part.before.as_of + _A_DAY
        return url_for("exceptions.index", code=change.code, opened_from=since, connection=own)
    if change.cause == "closed":
        since = part.before.as_of + _A_DAY
        return url_for("exceptions.index", state="closed", closed_from=since, connection=own)
    place = {"late": "periods", "decisions": "decisions"}.get(change.cause)
    return url_for("books.index", name=place, connection=own) if place else url_for("books.overview")
