"""The work list: what a person must look at, gravest first, with its age in bank days."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from flask import Blueprint, Response, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from reconcile.desk.worklist import WorklistError
from reconcile.rules.outcomes import SEVERITIES, Code
from reconcile.tables import Run
from reports import files, standing
from reports import sheet as sheets
from reports.export import Format
from reports.files import MIME, Shape
from reports.owners import find_owners
from reports.pages import desk, pending, staging
from reports.pages.desk import BadQueryError
from reports.pages.protection import need
from reports.pages.staging import LARGEST
from reports.pages.words import refusal
from reports.people import Role
from reports.query import calendars_of
from reports.standing import ExceptionFilter

blueprint = Blueprint("exceptions", __name__, url_prefix="/exceptions")

STATES = ("open", "closed", "all")
NO_OWNER = "-"
_ONLY_GAPS = "The newest run looks at a day whose data has not come yet. The list shows what earlier days left open."
_NO_LOOK_YET = "No run has looked at the list with complete data yet: only what is missing is shown."


@blueprint.get("")
def index() -> ResponseReturnValue:
    asked = read_filter()
    with desk.installation().store.reading() as session:
        runs = standing.runs_now(session, desk.names(), desk.today())
        page = standing.exceptions(session, desk.names(), asked, desk.page_number())
        owners = standing.owners(session, desk.names())
        people = {
            login for name in desk.names() for login, is_active in find_owners(session, name).items() if is_active
        }
    page = replace(page, rows=pending.on_exceptions(page.rows))
    day_of = {run.connection: run.as_of for run in runs}
    calendars = calendars_of(desk.installation(), desk.connections(), runs)
    ages = {}
    for row in page.rows:
        until = row["resolved_on"] or day_of.get(row["connection"]) or row["last_seen_on"]
        ages[row["id"]] = max(0, calendars[row["connection"]].days_between(row["fact_on"], until))
    return render_template(
        "exceptions.html",
        page=page,
        asked=asked,
        states=STATES,
        severities=SEVERITIES,
        codes=tuple(Code),
        ages=ages,
        owners=owners,
        people=people,
        no_owner=NO_OWNER,
        warnings=list(warnings(runs)),
        as_of=max(day_of.values(), default=None),
        may_decide=desk.reader().role.may(Role.FINANCE),
    )


def read_filter() -> ExceptionFilter:
    """Read what the address asks of the work list."""
    return ExceptionFilter(
        code=desk.choice("code", tuple(Code)),
        state=desk.choice("state", STATES, "open"),
        severity=desk.choice("severity", SEVERITIES),
        search=desk.search(),
        owner=_owner(),
        opened_from=desk.day("opened_from"),
        closed_from=desk.day("closed_from"),
        payout_id=request.args.get("payout", "")[:100],
    )


def _owner() -> str | None:
    """Return the owner whose exceptions are asked for: empty for those without one, None for all."""
    owner = request.args.get("owner", "")[:200]
    return "" if owner == NO_OWNER else owner or None


def warnings(runs: Sequence[Run]) -> Iterator[str]:
    """Say what a reader must know of the runs behind the list before trusting that it is the whole truth."""
    if any(run.as_of > desk.today() for run in runs):
        yield "This run is of a day to come: what is shown holds only if nothing else arrives."
    with desk.installation().store.reading() as session:
        for run in runs:
            if standing.only_gaps(run):
                yield _ONLY_GAPS if standing.has_seen_more(session, run.connection) else _NO_LOOK_YET


def _show_result(outcome: dict[str, object]) -> ResponseReturnValue:
    """Lead to a page of its own, which can be left and come back to without sending the form again."""
    key = staging.stage(desk.installation(), staging.OUTCOMES, outcome, who=desk.reader().name, now=desk.now()).key
    return redirect(url_for("bulk.outcome", key=key), 303)


@blueprint.get("/sheet.<any(csv, xlsx):file_format>")
def sheet(file_format: str) -> ResponseReturnValue:
    """Send what is open as a sheet to fill in."""
    need(Role.FINANCE)
    country = desk.home_connection().country
    shape = Shape(Format(file_format), country.profile, desk.language())
    report = sheets.make(desk.installation(), desk.connections(), today=desk.today())
    desk.note("download", f"exceptions-sheet.{file_format}")
    headers = {"Content-Disposition": f'attachment; filename="{files.name_of(report, shape.format)}"'}
    return Response(b"".join(files.pieces([report], shape)), headers=headers, content_type=MIME[shape.format])


@blueprint.post("/sheet")
def take_sheet() -> ResponseReturnValue:
    """Take a filled sheet back, row by row; a row that was changed meanwhile is refused alone."""
    need(Role.FINANCE)
    given = request.files.get("sheet")
    content = given.read(LARGEST + 1) if given else b""
    if not content:
        raise BadQueryError("Choose a file first.")
    if len(content) > LARGEST:
        raise BadQueryError("The file is too large.")
    who, now = desk.reader().name, desk.now()
    try:
        taken = list(
            sheets.take_back(desk.installation(), desk.connections(), content, author=who, at=now, today=desk.today())
        )
    except WorklistError as error:
        flash(refusal(error.message, desk.language()), "alert")
        return redirect(url_for("exceptions.index"))
    desk.note("upload", f"exceptions-sheet of {len(taken)} rows")
    touched = [(name, row) for name, row in taken if row.changed or row.refused]
    rows = [(name, row.line, row.exception_id, row.changed, row.refused and refusal(row.refused, desk.language()))
            for name, row in touched]  # fmt: skip
    return _show_result({"template": "sheet.html", "rows": rows, "untouched": len(taken) - len(touched)})
