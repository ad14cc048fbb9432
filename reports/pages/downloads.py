"""Downloads: every report of the catalogue as a file, by session or token, and the archive of those already made."""

import json
from collections.abc import Callable

from flask import Blueprint, Response, abort, redirect, render_template, request, send_file, url_for
from flask.typing import ResponseReturnValue

from consumer.facts.installation import Installation
from consumer.facts.messages import Message, RefusalError
from reports import archive, orders
from reports.access.people import Role
from reports.directory import LISTINGS, MOST_ROWS, TooLongError, narrow, to_report
from reports.making import catalogue
from reports.making.catalogue import NoRunError
from reports.making.columnar import Selection
from reports.output import files
from reports.output.export import PROFILES, Format
from reports.output.files import MIME, Shape, ShapeError
from reports.output.workbook import TooManyRowsError
from reports.pages import bank, desk, exceptions, lists, payouts
from reports.pages.desk import BadQueryError
from reports.pages.protection import need
from reports.pages.views import OF_REPORTS, PLACES, select_shown
from reports.pages.words import refusal
from reports.queries.asking import Asked
from reports.queries.listing import Listing
from reports.queries.query import Query
from reports.shapes.build import Report
from reports.shapes.definitions import definition_of
from reports.tables import ReportFile

blueprint = Blueprint("downloads", __name__, url_prefix="/reports")

_KNOWN = {"from", "to", "as_of", "connection", "profile", "language", "payout", "run"}
_LONGEST_ASKED = 500
# The reports that have a page.
ON_PAGES = frozenset({*PLACES.values(), "payout-summary", bank.LIST, "exceptions"})


@blueprint.get("")
def index() -> ResponseReturnValue:
    with desk.installation().store.reading() as session:
        kept = [(file, json.loads(file.sums)) for file in archive.list_files(session, desk.wanted(LISTINGS["files"]))]
        runs = desk.runs_now(session, desk.names())
    as_of = desk.day("as_of") or max((run.as_of for run in runs), default=None)
    definitions = [definition_of(name) for name in catalogue.AVAILABLE]
    profile = desk.home_connection().country.profile
    return render_template(
        "reports.html",
        definitions=definitions,
        kept=kept,
        profile=profile,
        profiles=PROFILES,
        as_of=as_of,
        places=_places(),
    )


def _places() -> dict[str, str]:
    """Say where each report can be looked at."""
    own = {
        "payout-summary": url_for("payouts.index"),
        "payout-detail": url_for("payouts.index"),
        "bank-lines": url_for("bank.index"),
        "exceptions": url_for("exceptions.index"),
        "disputes": url_for("disputes.index"),
    }
    return own | {name: url_for("views.show", place=place) for place, name in PLACES.items()}


@blueprint.get("/<name>.<file_format>")
def download(name: str, file_format: str) -> ResponseReturnValue:
    """Build one report now and send it, noting who took it; a large one a browser orders and comes back for."""
    if name in LISTINGS:
        return _download_list(LISTINGS[name], file_format)
    if desk.args().keys() - _KNOWN and name in ON_PAGES:
        return _download_shown(name, _shape(file_format))
    query, shape = _read_query(name, file_format)
    with desk.installation().store.reading() as session:
        rows = orders.rows_of(session, query)
    if orders.is_large(rows, shape) and not desk.reader().is_machine:
        try:
            number = orders.order(desk.installation(), query, shape, who=desk.reader().name, rows=rows, now=desk.now())
        except orders.TooManyOrdersError as error:
            return _sentence(error, 429)
        desk.note("order", f"{name}.{file_format}")
        return redirect(url_for("downloads.show_order", number=number), 303)
    try:
        build = catalogue.make_sheets if shape.format is Format.XLSX else _make_alone
        made = build(desk.installation(), query)
        content = files.pieces(made, shape)
        body = content if shape.format is Format.CSV else [b"".join(content)]
    except NoRunError as error:
        return _sentence(error, 404)
    except TooManyRowsError as error:
        return _sentence(error, 413)
    desk.note("download", f"{name}.{file_format}")
    return Response(body, headers=_headers(made[0], shape), content_type=MIME[shape.format])


def _download_list(listing: Listing, file_format: str) -> ResponseReturnValue:
    """Send a list of the database as it is filtered, sorted and shown on its page."""
    if listing.for_admins:
        need(Role.ADMIN)
    wanted = lists.wanted(listing)
    with desk.installation().store.reading() as session:
        zones = catalogue.zones_of(desk.connections())
        return _send(
            lambda: to_report(session, listing, wanted, zones, as_of=desk.today()), _shape(file_format), wanted.asked
        )


def _download_shown(name: str, shape: Shape) -> ResponseReturnValue:
    """Send the rows of a report that its page shows, in their order and with its columns."""
    if name == "exceptions":
        return _send(exceptions.make_shown, shape, find_asked(name))
    selection = find_shown(name)
    if (rows := len(selection.places)) > MOST_ROWS:
        return _sentence(TooLongError("reports.list_too_long", list=name, rows=rows, most=MOST_ROWS), 413)
    return _send(lambda: selection.page(0, rows), shape, find_asked(name))


def find_asked(name: str) -> Asked:
    """Read what the address asks of a report that has a page."""
    if name == "exceptions":
        return exceptions.read()[1].asked
    return lists.read(name, definition_of(name).columns, payouts.OF_PAYOUTS | bank.OF_BANK | OF_REPORTS)


def find_shown(name: str, *, is_pending: bool = False) -> Selection:
    """Find the rows of a report that its page shows."""
    own = {"payout-summary": payouts.find_shown, bank.LIST: bank.find_shown}
    return own[name](is_pending=is_pending) if name in own else select_shown(name, is_pending=is_pending)


def _send(make: Callable[[], Report], shape: Shape, asked: Asked) -> ResponseReturnValue:
    try:
        report = narrow(make(), asked.columns)
        body = b"".join(files.pieces([report], shape))
    except (TooLongError, TooManyRowsError) as error:
        return _sentence(error, 413)
    # What was asked stands in the trail: the run keeps the rows, so that the same file can be made again.
    desk.note(
        "download", f"{report.definition.name}.{shape.format} {request.query_string.decode()[:_LONGEST_ASKED]}".strip()
    )
    return Response(body, headers=_headers(report, shape), content_type=MIME[shape.format])


def _make_alone(installation: Installation, query: Query) -> list[Report]:
    return [catalogue.make(installation, query)]


def _read_query(name: str, file_format: str) -> tuple[Query, Shape]:
    desk.check_names(_KNOWN)
    if name not in catalogue.AVAILABLE:
        known = ", ".join((*catalogue.AVAILABLE, *LISTINGS))
        abort(404, Message("pages.no_such_report", {"report": name, "known": known}))
    shape = _shape(file_format)
    query = Query(
        name,
        desk.connections(),
        today=desk.today(),
        span=desk.span(),
        as_of=desk.day("as_of"),
        payout_id=request.args.get("payout") or None,
        run=desk.pinned_run(),
    )
    return query, shape


def _shape(file_format: str) -> Shape:
    if file_format not in set(Format):
        abort(404, Message("pages.no_such_format", {"format": file_format, "known": ", ".join(Format)}))
    try:
        return files.to_shape(file_format, request.args.get("profile"), request.args.get("language"))
    except ShapeError as error:
        raise BadQueryError(error.message) from None


def _headers(report: Report, shape: Shape) -> dict[str, str]:
    headers = {"Content-Disposition": f'attachment; filename="{files.name_of(report, shape.format)}"'}
    if report.facts["incomplete"]:
        headers["X-Cuadre-Incomplete"] = report.facts["incomplete"]
    if report.facts["missing"]:
        headers["X-Cuadre-Missing"] = report.facts["missing"]
    return headers


def _sentence(error: RefusalError, status: int) -> Response:
    """Say why there is no file, to people in their language."""
    text = str(error) if desk.reader().is_machine else refusal(error.message, desk.language())
    return Response(f"{text}\n", status, mimetype="text/plain")


@blueprint.get("/orders/<int(max=2147483647):number>")
def show_order(number: int) -> ResponseReturnValue:
    """Show how far a large file is; the page looks again by itself until it is done."""
    with desk.installation().store.reading() as session:
        row = orders.find(session, number, now=desk.now())
        file = session.get(ReportFile, row.file_id) if row is not None and row.file_id is not None else None
    if row is None or not desk.may_see(json.loads(row.asked)["connections"]):
        abort(404)
    page = render_template("order.html", order=row, file=file, asked=json.loads(row.asked))
    # A header and no script: it works everywhere, and a finished page stands still.
    return Response(page, headers={"Refresh": "2"} if row.state == orders.State.MAKING else {})


@blueprint.get("/archive/<int(max=2147483647):number>")
def download_archived(number: int) -> ResponseReturnValue:
    with desk.installation().store.reading() as session:
        row = session.get(ReportFile, number)
    if row is None or not desk.may_see(row.connections.split()):
        abort(404)
    try:
        path = archive.open_kept(desk.installation(), row)
    except archive.ChangedFileError as error:
        return Response(f"{error}\n", 409, mimetype="text/plain")
    desk.note("download", row.path)
    return send_file(path, mimetype=MIME[Format(row.format)], as_attachment=True, download_name=path.name)
