"""The work list: what a person must look at, gravest first, with its age in bank days."""

from flask import Blueprint, render_template, request
from flask.typing import ResponseReturnValue

from consumer.facts.bankdays import calendar_of
from reports import lists
from reports.lists import ExceptionFilter
from reports.pages import desk
from reports.pages.case import BULK, decide_one
from reports.pages.codes import CODES
from reports.pages.desk import BadQueryError
from reports.pages.protection import need
from reports.people import Role

blueprint = Blueprint("exceptions", __name__, url_prefix="/exceptions")

STATES = ("open", "closed", "all")
_MOST_PICKED = 500
SEVERITIES = ("high", "medium", "low", "info")


@blueprint.get("")
def index() -> ResponseReturnValue:
    asked = ExceptionFilter(
        code=desk.choice("code", CODES),
        state=desk.choice("state", STATES, "open"),
        severity=desk.choice("severity", SEVERITIES),
        search=desk.search(),
    )
    with desk.house().store.reading() as session:
        runs = lists.runs_now(session, desk.names())
        page = lists.exceptions(session, desk.names(), asked, desk.page_number())
    day_of = {run.connection: run.as_of for run in runs}
    calendars = {c.name: calendar_of(c.country_code) for c in desk.connections()}
    ages = {}
    for row in page.rows:
        until = row["resolved_on"] or day_of.get(row["connection"], row["last_seen_on"])
        ages[row["id"]] = max(0, calendars[row["connection"]].days_between(row["opened_on"], until))
    return render_template(
        "exceptions.html",
        page=page,
        asked=asked,
        states=STATES,
        severities=SEVERITIES,
        codes=CODES,
        ages=ages,
        as_of=max(day_of.values(), default=None),
        may_decide=desk.reader().role.may(Role.FINANCE),
    )


@blueprint.post("/bulk")
def bulk() -> ResponseReturnValue:
    """Decide about each chosen exception on its own, and say of each what became of it."""
    need(Role.FINANCE)
    action = request.form.get("action", "")
    if action not in BULK:
        raise BadQueryError(f"action: {action!r} is not one of {', '.join(BULK)}")
    outcomes = []
    for pick in request.form.getlist("pick")[:_MOST_PICKED]:
        connection, _, rest = pick.partition("/")
        exception_id, _, version = rest.partition("/")
        seen = desk.whole_number(version)
        if connection not in {own.name for own in desk.house().settings.all_connections} or seen is None:
            raise BadQueryError(f"pick: {pick[:100]!r} is not an exception of the list")
        refusal = decide_one(action, connection, exception_id, version=seen)
        outcomes.append((connection, exception_id, refusal))
    return render_template("bulk.html", action=action, outcomes=outcomes)
