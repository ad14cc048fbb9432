"""The work list: what a person must look at, gravest first, with its age in bank days."""

from flask import Blueprint, Response, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from reconcile.worklist import SheetRefused
from reports import files, lists
from reports import sheet as sheets
from reports.codes import CODES
from reports.export import Format
from reports.files import MIME, Shape
from reports.lists import ExceptionFilter
from reports.pages import desk
from reports.pages.case import BULK, decide_one
from reports.pages.desk import BadQueryError
from reports.pages.protection import need
from reports.pages.words import translate
from reports.people import Role
from reports.query import calendars_of
from reports.trail import note

blueprint = Blueprint("exceptions", __name__, url_prefix="/exceptions")

STATES = ("open", "closed", "all")
_MOST_PICKED = 500
_LARGEST_SHEET = 10_000_000
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
        runs = lists.runs_now(session, desk.names(), desk.today())
        page = lists.exceptions(session, desk.names(), asked, desk.page_number())
    day_of = {run.connection: run.as_of for run in runs}
    calendars = calendars_of(desk.house(), desk.connections(), runs)
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


@blueprint.get("/sheet.<any(csv, xlsx):file_format>")
def sheet(file_format: str) -> ResponseReturnValue:
    """Send what is open as a sheet to fill in."""
    need(Role.FINANCE)
    country = desk.home_connection().country
    shape = Shape(Format(file_format), country.profile, desk.language())
    report = sheets.make(desk.house(), desk.connections(), today=desk.today())
    note(desk.house().store, desk.reader().name, "download", f"exceptions-sheet.{file_format}", now=desk.now())
    headers = {"Content-Disposition": f'attachment; filename="{files.name_of(report, shape.format)}"'}
    return Response(b"".join(files.pieces([report], shape)), headers=headers, content_type=MIME[shape.format])


@blueprint.post("/sheet")
def take_sheet() -> ResponseReturnValue:
    """Take a filled sheet back, row by row; a row that somebody changed meanwhile is refused alone."""
    need(Role.FINANCE)
    given = request.files.get("sheet")
    content = given.read(_LARGEST_SHEET + 1) if given else b""
    if not content:
        raise BadQueryError(translate("Choose a file first.", desk.language()))
    if len(content) > _LARGEST_SHEET:
        raise BadQueryError(translate("The file is too large.", desk.language()))
    who, now = desk.reader().name, desk.now()
    try:
        taken = list(
            sheets.take_back(desk.house(), desk.connections(), content, author=who, at=now, today=desk.today())
        )
    except SheetRefused as error:
        flash(str(error), "alert")
        return redirect(url_for("exceptions.index"))
    note(desk.house().store, who, "upload", f"exceptions-sheet of {len(taken)} rows", now=now)
    touched = [(name, row) for name, row in taken if row.changed or row.refused]
    return render_template("sheet.html", rows=touched, untouched=len(taken) - len(touched))
