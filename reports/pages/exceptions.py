"""The work list: what a person must look at, gravest first, with its age in bank days."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from flask import Blueprint, Response, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlmodel import Session

from consumer.facts.tables.types import core_of
from consumer.facts.uploads import LARGEST
from reconcile.desk.worklist import WorklistError
from reconcile.rules.outcomes import SEVERITIES, Code
from reconcile.tables.desk import ExceptionRow
from reconcile.tables.runs import Run
from reports import sheet as sheets
from reports.access.owners import find_owners
from reports.access.people import Role
from reports.directory import MOST_ROWS, TooLongError
from reports.making import catalogue
from reports.output import files
from reports.output.export import Format
from reports.output.files import MIME, Shape
from reports.pages import desk, lists, pending, pending_totals, staging
from reports.pages.desk import BadQueryError
from reports.pages.lists import Drawn
from reports.pages.protection import need
from reports.pages.words import refusal
from reports.queries import frames, standing
from reports.queries import listing as listings
from reports.queries.asking import AskedError, fold
from reports.queries.listing import Listing, Wanted
from reports.queries.query import Query, calendars_of
from reports.queries.standing import ExceptionFilter
from reports.shapes import build
from reports.shapes.build import Report, to_table
from reports.shapes.definitions import definition_of
from reports.shapes.spans import Row
from reports.wording import phrases

blueprint = Blueprint("exceptions", __name__, url_prefix="/exceptions")

STATES = ("open", "closed", "all")
OF_EXCEPTIONS = frozenset({"state", "severity", "code", "owner", "opened_from", "closed_from", "payout"})
NO_OWNER = "-"
# Beyond this an exception has no place that a person would count.
_MOST_NEAR = 2_000
_ONLY_GAPS = "The newest run looks at a day whose data has not come yet. The list shows what earlier days left open."
_NO_LOOK_YET = "No run has looked at the list with complete data yet: only what is missing is shown."


@blueprint.get("")
def index() -> ResponseReturnValue:
    with desk.installation().store.reading() as session:
        runs = desk.runs_now(session, desk.names())
        drawn, asked = draw(session, runs)
        matching = drawn.page.total
        if asked.opening:
            matching = listings.count(session, standing.work_list(replace(asked, opening=())), read()[1])
        owners = standing.owners(session, desk.names())
        people = {
            login for name in desk.names() for login, is_active in find_owners(session, name).items() if is_active
        }
    return render_template(
        "exceptions.html",
        drawn=drawn,
        asked=asked,
        matching=matching,
        box=lists.box(OF_EXCEPTIONS),
        states=STATES,
        severities=SEVERITIES,
        codes=tuple(Code),
        owners=owners,
        people=people,
        no_owner=NO_OWNER,
        warnings=list(warnings(runs)),
        may_decide=desk.reader().role.may(Role.FINANCE),
    )


def draw(session: Session, runs: Sequence[Run]) -> tuple[Drawn, ExceptionFilter]:
    """Read one page of the work list with its ages in bank days, and what is at risk in all that is filtered."""
    asked, found = read()
    asked = replace(asked, opening=tuple(pending.list_opening()), dialect=session.get_bind().dialect.name)
    listing = standing.work_list(asked)
    totals, later, number = add_up(session, listing, asked, found)
    drawn = lists.draw(session, listing, found, totals, number)
    day_of = {run.connection: run.as_of for run in runs}
    calendars = calendars_of(desk.installation(), desk.connections(), runs)
    for row in drawn.page.rows:
        until = row["resolved_on"] or day_of.get(row["connection"]) or row["last_seen_on"]
        row["age_business_days"] = max(0, calendars[row["connection"]].days_between(row["fact_on"], until))
    back = request.query_string.decode() or "state=open"
    page = replace(drawn.page, rows=pending.on_exceptions(drawn.page.rows))
    return replace(drawn, page=page, later=None if later == totals else later, back=back), asked


def add_up(
    session: Session, listing: Listing, asked: ExceptionFilter, found: Wanted
) -> tuple[standing.Sums, standing.Sums, int | None]:
    """Add up what is at risk in a filtered list, as it is and with the decisions that wait; count its rows with it."""
    published = replace(asked, reopening=(), opening=())
    totals, number = standing.total_at_risk(session, standing.work_list(published), found)
    known = pending_totals.known_now(desk.names())
    if not known:
        return totals, totals, number
    changed = {name: waiting.changed for name, waiting in known.items()}
    later, _ = standing.total_at_risk(session, listing, found, standing.Later(asked.state, changed))
    return totals, later, None


def read() -> tuple[ExceptionFilter, Wanted]:
    """Read what the address asks of the work list."""
    found = lists.wanted(standing.work_list(ExceptionFilter()), OF_EXCEPTIONS)
    language, words = desk.language(), fold(found.search)
    asked = ExceptionFilter(
        code=desk.choice("code", tuple(Code)),
        state=desk.choice("state", STATES, "open"),
        severity=desk.choice("severity", SEVERITIES),
        search=found.search,
        owner=_owner(),
        opened_from=desk.day("opened_from"),
        closed_from=desk.day("closed_from"),
        payout_id=desk.args().get("payout", "")[:100],
        codes=tuple(code for code in Code if words and words in fold(phrases.code_title(code, language))),
        reopening=tuple(pending.list_reopening()),
    )
    return asked, found


@dataclass(frozen=True, slots=True)
class Near:
    """Where an exception stands in the list its reader came from, with the ones before and after it."""

    place: int = 0
    total: int = 0
    before: tuple[str, str] | None = None
    after: tuple[str, str] | None = None


def find_neighbours(connection: str, exception_id: str) -> Near:
    """Find what a list shows before and after an exception; one it shows no more is followed by its first."""
    try:
        with desk.asking(request.args.get("list", "")), desk.installation().store.reading() as session:
            asked, found = read()
            keys = standing.find_keys(session, standing.work_list(asked), found, most=_MOST_NEAR)
    except (BadQueryError, AskedError):
        return Near()
    if (connection, exception_id) not in keys:
        return Near(after=keys[0] if keys else None)
    at = keys.index((connection, exception_id))
    return Near(at + 1, len(keys), keys[at - 1] if at else None, keys[at + 1] if at + 1 < len(keys) else None)


def make_shown() -> Report:
    """Make a report of the exceptions that are asked for, in the order and with the ages of their page."""
    asked, found = read()
    listing, own = standing.work_list(asked), desk.installation()
    with own.store.reading() as session:
        if (rows := listings.count(session, listing, found)) > MOST_ROWS:
            raise TooLongError("reports.list_too_long", list=listing.name, rows=rows, most=MOST_ROWS)
        query = Query(listing.name, desk.connections(), desk.today())
        source = catalogue.source_of(own, session, query)
        shown = listings.ask(session, listing, found).with_only_columns(*core_of(ExceptionRow).columns)
        day_of = {run.connection: run.as_of for run in desk.runs_now(session, desk.names())}
        aged = (
            one
            for row in frames.exception_rows(session, shown)
            for one in build.exceptions(
                [row], source.calendars, as_of=row["resolved_on"] or day_of.get(row["connection"], source.as_of)
            )
        )
        definition = replace(definition_of(listing.name), sort=())
        table = to_table(definition, aged, currency=lambda row: str(row["currency"]))
    return Report(
        definition,
        table,
        query.span,
        max(day_of.values(), default=source.as_of),
        facts=catalogue.facts_of(query, source.runs),
    )


def _owner() -> str | None:
    """Return the owner whose exceptions are asked for: empty for those without one, None for all."""
    owner = desk.args().get("owner", "")[:200]
    return "" if owner == NO_OWNER else owner or None


def warnings(runs: Sequence[Run]) -> Iterator[str]:
    """Say what a reader must know of the runs behind the list before trusting that it is the whole truth."""
    if any(run.as_of > desk.today() for run in runs):
        yield "This run is of a day to come: what is shown holds only if nothing else arrives."
    with desk.installation().store.reading() as session:
        for run in runs:
            if standing.only_gaps(run):
                yield _ONLY_GAPS if standing.has_seen_more(session, run.connection) else _NO_LOOK_YET


def show_outcome(content: Row) -> ResponseReturnValue:
    """Lead to a page of its own, which can be left and come back to without sending the form again."""
    key = staging.stage(desk.installation(), staging.OUTCOMES, content, who=desk.reader().name, now=desk.now()).key
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
    return show_outcome({"template": "sheet.html", "rows": rows, "untouched": len(taken) - len(touched)})
