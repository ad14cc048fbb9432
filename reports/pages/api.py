"""Every list as JSON with cursor paging, by session or token, and its OpenAPI description."""

import base64
import json
from datetime import date, datetime
from typing import Any

from flask import Blueprint, Response, abort, jsonify, request
from flask.typing import ResponseReturnValue

from consumer.facts.clock import format_instant
from reports import catalogue, operations
from reports.build import Report
from reports.catalogue import NoRunError
from reports.export import to_json_rows
from reports.operations import LISTINGS, Listing, Wanted
from reports.pages import desk
from reports.pages.desk import BadQueryError
from reports.pages.openapi import describe
from reports.pages.protection import need
from reports.people import Role
from reports.query import Query

blueprint = Blueprint("api", __name__, url_prefix="/api/v1")

MOST_ROWS, USUAL_ROWS = 1000, 100
_OF_REPORTS = frozenset({"connection", "from", "to", "as_of", "payout", "limit", "cursor"})
_OF_LISTS = frozenset({"connection", "state", "q", "limit", "cursor"})


@blueprint.get("/openapi.json")
def openapi() -> ResponseReturnValue:
    return jsonify(describe(USUAL_ROWS, MOST_ROWS))


@blueprint.get("/<name>")
def index(name: str) -> ResponseReturnValue:
    """Answer one page of a report of the catalogue or of a list of operation."""
    if name in LISTINGS:
        if LISTINGS[name].for_admins:
            need(Role.ADMIN)
        return _list(LISTINGS[name])
    if name not in catalogue.AVAILABLE:
        abort(404, f"there is no list {name!r}; there are {', '.join((*catalogue.AVAILABLE, *LISTINGS))}")
    return _report(name)


def _report(name: str) -> ResponseReturnValue:
    """Page through a report by row; a cursor names the runs it began with, so that a page never mixes two."""
    _check_names(_OF_REPORTS)
    limit, (start, of_runs) = _limit(), _cursor()
    query = Query(
        name,
        desk.connections(),
        desk.today(),
        desk.span(),
        desk.day("as_of"),
        request.args.get("payout") or None,
    )
    try:
        report = catalogue.make(desk.house(), query)
    except NoRunError as error:
        abort(404, str(error))
    if of_runs and of_runs != report.facts["runs"]:
        raise BadQueryError("cursor: a newer run has finished since; begin again without a cursor")
    rows = to_json_rows(report, start, limit)
    return _page(rows, start + limit, report.table.num_rows, of_runs=report.facts["runs"], meta=_meta(report))


def _meta(report: Report) -> dict[str, Any]:
    names = ("runs", "incomplete", "missing")
    return {"as_of": report.as_of.isoformat(), **{name: report.facts[name].split() for name in names}}


def _list(listing: Listing) -> ResponseReturnValue:
    """Page through a list; what arrives meanwhile is newer than the first page and does not shift the next."""
    _check_names(_OF_LISTS)
    limit, (start, anchor) = _limit(), _cursor()
    state = desk.choice("state", listing.states)
    wanted = Wanted(desk.names(), state, desk.search(), size=limit)
    with desk.house().store.reading() as session:
        total = operations.count(session, listing, wanted)
        # Newer rows push the older ones down by as many places as there are more of them.
        known = desk.whole_number(anchor)
        first_total = total if known is None else known
        page = operations.read(session, listing, wanted, skip=start + max(0, total - first_total))
    rows = [{key: _plain(row[key]) for key in listing.keys} for row in page.rows]
    return _page(rows, start + limit, first_total, of_runs=str(first_total), meta={})


def _page(rows: list[dict[str, Any]], upto: int, total: int, *, of_runs: str, meta: dict[str, Any]) -> Response:
    more = _to_cursor(upto, of_runs) if upto < total else None
    return jsonify({"data": rows, "next_cursor": more, "total": total, **meta})


def _to_cursor(start: int, anchor: str) -> str:
    return base64.urlsafe_b64encode(json.dumps([start, anchor]).encode()).decode().rstrip("=")


def _cursor() -> tuple[int, str]:
    text = request.args.get("cursor", "")
    if not text:
        return 0, ""
    try:
        start, anchor = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, TypeError, RecursionError):
        start, anchor = None, None
    if type(start) is not int or not isinstance(anchor, str) or not 0 <= start < 2**31:
        raise BadQueryError("cursor: use next_cursor of the page before, unchanged")
    return start, anchor


def _limit() -> int:
    number = desk.whole_number(text := request.args.get("limit", str(USUAL_ROWS)))
    if number is None or not 1 <= number <= MOST_ROWS:
        raise BadQueryError(f"limit: {text[:20]!r} is not a number from 1 to {MOST_ROWS}")
    return number


def _check_names(known: frozenset[str]) -> None:
    unknown = sorted(set(request.args) - known)
    if unknown:
        raise BadQueryError(f"{unknown[0]} is not a parameter; there are {', '.join(sorted(known))}")


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return format_instant(value)
    return value.isoformat() if isinstance(value, date) else value
