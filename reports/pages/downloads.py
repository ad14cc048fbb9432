"""Downloads: every report of the catalogue as a file, by session or token, and the archive of those already made."""

from flask import Blueprint, Response, abort, render_template, request, send_file, url_for
from flask.typing import ResponseReturnValue

from consumer.facts.house import House
from reports import archive, catalogue, files, lists
from reports.build import Report
from reports.catalogue import NoRunError
from reports.definitions import definition_of
from reports.export import PROFILES, Format
from reports.files import MIME, Shape
from reports.pages import desk
from reports.pages.desk import BadQueryError
from reports.pages.views import PLACES
from reports.people import note
from reports.query import Query
from reports.tables import ReportFile
from reports.workbook import TooManyRowsError

blueprint = Blueprint("downloads", __name__, url_prefix="/reports")

_KNOWN = {"from", "to", "as_of", "connection", "profile", "language", "payout"}


@blueprint.get("")
def index() -> ResponseReturnValue:
    with desk.house().store.reading() as session:
        kept = archive.kept_files(session)
        runs = lists.runs_now(session, desk.names())
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
        "exceptions": url_for("exceptions.index"),
    }
    return own | {name: url_for("views.show", place=place) for place, name in PLACES.items()}


@blueprint.get("/<name>.<file_format>")
def download(name: str, file_format: str) -> ResponseReturnValue:
    """Build one report now and send it, noting who took it."""
    query, shape = _asked(name, file_format)
    try:
        build = catalogue.make_sheets if shape.format is Format.XLSX else _make_alone
        made = build(desk.house(), query)
        content = files.pieces(made, shape)
        body = content if shape.format is Format.CSV else [b"".join(content)]
    except NoRunError as error:
        return _sentence(f"{error}", 404)
    except TooManyRowsError as error:
        return _sentence(f"{error}", 413)
    note(desk.house().store, desk.reader().name, "download", f"{name}.{file_format}", now=desk.now())
    return Response(body, headers=_headers(made[0], shape), content_type=MIME[shape.format])


def _make_alone(house: House, query: Query) -> list[Report]:
    return [catalogue.make(house, query)]


def _asked(name: str, file_format: str) -> tuple[Query, Shape]:
    unknown = sorted(set(request.args) - _KNOWN)
    if unknown:
        raise BadQueryError(f"{unknown[0]} is not a parameter; there are {', '.join(sorted(_KNOWN))}")
    if name not in catalogue.AVAILABLE:
        abort(404, f"there is no report {name!r}; there are {', '.join(catalogue.AVAILABLE)}")
    if file_format not in set(Format):
        abort(404, f"there is no format {file_format!r}; there are {', '.join(Format)}")
    try:
        shape = files.to_shape(file_format, request.args.get("profile"), request.args.get("language"))
    except ValueError as error:
        raise BadQueryError(str(error)) from None
    query = Query(
        name,
        desk.connections(),
        today=desk.today(),
        span=desk.span(),
        as_of=desk.day("as_of"),
        payout_id=request.args.get("payout") or None,
    )
    return query, shape


def _headers(report: Report, shape: Shape) -> dict[str, str]:
    headers = {"Content-Disposition": f'attachment; filename="{files.name_of(report, shape.format)}"'}
    if report.facts["incomplete"]:
        headers["X-Cuadre-Incomplete"] = report.facts["incomplete"]
    if report.facts["missing"]:
        headers["X-Cuadre-Missing"] = report.facts["missing"]
    return headers


def _sentence(text: str, status: int) -> Response:
    return Response(text + "\n", status, mimetype="text/plain")


@blueprint.get("/archive/<int(max=2147483647):number>")
def kept(number: int) -> ResponseReturnValue:
    with desk.house().store.reading() as session:
        row = session.get(ReportFile, number)
    if row is None:
        abort(404)
    path = archive.path_of(desk.house(), row)
    if not path.is_file():
        abort(404, f"{path.name} is no longer in the archive")
    note(desk.house().store, desk.reader().name, "download", row.path, now=desk.now())
    return send_file(path, mimetype=MIME[Format(row.format)], as_attachment=True, download_name=path.name)
