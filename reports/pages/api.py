"""Every list as JSON with cursor paging, by session or token, and its OpenAPI description."""

import base64
import hashlib
import json
from dataclasses import replace
from datetime import date, datetime

from flask import Blueprint, Response, abort, jsonify, request
from flask.typing import ResponseReturnValue
from sqlmodel import Session

from consumer.facts.clock import format_instant
from consumer.facts.messages import word
from reports.access.people import Role
from reports.directory import LISTINGS, TooLongError, narrow
from reports.making import catalogue, windows
from reports.making.catalogue import NoRunError
from reports.making.windows import Window
from reports.output.export import to_json_rows
from reports.pages import desk, exceptions, lists, search
from reports.pages.desk import BadQueryError
from reports.pages.downloads import ON_PAGES, find_asked, find_shown
from reports.pages.openapi import describe
from reports.pages.protection import need
from reports.queries.listing import Listing, Wanted, count, read
from reports.queries.query import Query
from reports.search.sources import KINDS as SEARCH_KINDS
from reports.shapes.build import Report
from reports.shapes.spans import Row
from reports.wording.cells import cell_in_english, in_english

blueprint = Blueprint("api", __name__, url_prefix="/api/v1")

MOST_ROWS, USUAL_ROWS = 1000, 100
# Of each kind, however many are asked for.
MOST_FOUND = 50
# How many rows may come in between two pages of a list.
_MOST_NEW = 10_000
_LASTING = {
    "connection", "id", "number", "stream", "from", "job", "planned_at", "at", "who", "action", "subject", "name",
    "other_sha256", "sha256", "doc_key", "field", "decision", "period", "kind", "closed_at", "found_at", "payout_id",
}  # fmt: skip
_OF_REPORTS = frozenset({"connection", "from", "to", "as_of", "payout", "limit", "cursor"})
_OF_SEARCH = frozenset({"connection", "q", "limit"})
_OF_LISTS = frozenset({"connection", "state", "q", "limit", "cursor"})


@blueprint.get("/openapi.json", provide_automatic_options=False)
def openapi() -> ResponseReturnValue:
    return jsonify(describe(USUAL_ROWS, MOST_ROWS))


@blueprint.get("/search", provide_automatic_options=False)
def find_all() -> ResponseReturnValue:
    """Answer what a text finds, at most `limit` of each kind, in English."""
    desk.check_names(_OF_SEARCH)
    hits = search.find(desk.names(), search.asked(), SEARCH_KINDS, min(_limit(), MOST_FOUND), "en")
    rows = [
        {"kind": hit.kind, "connection": hit.connection, "key": hit.key, "name": hit.name, "detail": hit.detail,
         "state": word(*hit.state, "en") if hit.state[1] else "", "path": search.address_of(hit)}
        for hit in hits
    ]  # fmt: skip
    return jsonify({"data": rows, "next_cursor": None, "total": len(rows)})


@blueprint.get("/<name>", provide_automatic_options=False)
def index(name: str) -> ResponseReturnValue:
    """Answer one page of a report of the catalogue or of a list of operation."""
    if name in LISTINGS:
        if LISTINGS[name].for_admins:
            need(Role.ADMIN)
        return _list(LISTINGS[name])
    if name not in catalogue.AVAILABLE:
        abort(404, f"there is no list {name!r}; there are {', '.join((*catalogue.AVAILABLE, *LISTINGS))}")
    limit, (start, of_runs) = _limit(), _cursor()
    try:
        found = _find_shown(name, start, limit) if _is_shown() and name in ON_PAGES else _find(name, start, limit)
    except NoRunError as error:
        abort(404, str(error))
    except TooLongError as error:
        raise BadQueryError(error.message) from None
    return _report(found.report, found.total, start, of_runs)


def _is_shown() -> bool:
    """Return whether the address asks for a list as a page shows it: with its filters, order, columns and day."""
    return "columns" in request.args


def _find_shown(name: str, start: int, limit: int) -> Window:
    if name == "exceptions":
        whole = exceptions.make_shown()
        part = replace(whole, table=whole.table.slice(start, limit))
        total = whole.table.num_rows
    else:
        selection = find_shown(name)
        part, total = selection.page(start, limit), len(selection.places)
    return Window(narrow(part, find_asked(name).columns), total, frozenset())


def _find(name: str, start: int, limit: int) -> Window:
    desk.check_names(_OF_REPORTS)
    query = Query(
        name,
        desk.connections(),
        desk.today(),
        desk.span(),
        desk.day("as_of"),
        request.args.get("payout") or None,
    )
    return windows.find(desk.installation(), query, start, limit)


def _report(report: Report, total: int, start: int, of_runs: str) -> ResponseReturnValue:
    """Answer some rows of a report; a cursor names the runs it began with, so that a page never mixes two."""
    state = f"{report.facts['runs']}|{total}"
    if of_runs and of_runs != state:
        is_same_run = of_runs.startswith(f"{report.facts['runs']}|")
        raise BadQueryError("pages.list_changed" if is_same_run else "pages.newer_run")
    rows = to_json_rows(in_english(report), 0, report.table.num_rows)
    return _page(rows, start + len(rows), total, anchor=state, meta=_meta(report))


def _meta(report: Report) -> Row:
    names = ("runs", "incomplete", "missing")
    return {"as_of": report.as_of.isoformat(), **{name: report.facts[name].split() for name in names}}


def _list(listing: Listing) -> ResponseReturnValue:
    """Page through a list; what comes in meanwhile, new or late, neither repeats a row nor hides one."""
    limit, (start, anchor) = _limit(), _cursor()
    if _is_shown():
        wanted = replace(lists.wanted(listing), size=limit)
    else:
        desk.check_names(_OF_LISTS)
        wanted = desk.wanted(listing, size=limit)
    names = [column.name for column in wanted.asked.columns] or listing.names
    with desk.installation().store.reading() as session:
        total = count(session, listing, wanted)
        skip = _after(session, listing, wanted, start, anchor=anchor, total=total)
        page = read(session, listing, wanted, skip=skip)
    rows = [{name: _plain(cell_in_english(listing.name, name, row[name])) for name in names} for row in page.rows]
    last = _mark(listing, page.rows[-1]) if page.rows else ""
    return _page(rows, skip + limit, total, anchor=f"{total}:{last}", meta={})


def _after(session: Session, listing: Listing, wanted: Wanted, start: int, *, anchor: str, total: int) -> int:
    """Return where the next page begins: after the last row of the page before, though newer rows have moved it."""
    known, _, mark = anchor.partition(":")
    more = total - (desk.whole_number(known) or total)
    if more == 0 or not start or not mark:
        return start
    if 0 < more <= _MOST_NEW:
        near = read(session, listing, replace(wanted, size=more + 1), skip=start - 1)
        for place, row in enumerate(near.rows):
            if _mark(listing, row) == mark:
                return start + place
    raise BadQueryError("pages.list_changed_much")


def _mark(listing: Listing, row: Row) -> str:
    """Name a row by what does not change while it is read."""
    words = [str(row[key]) for key in listing.names if key in _LASTING]
    return hashlib.sha256("\x1f".join(words).encode()).hexdigest()[:16]


def _page(rows: list[Row], upto: int, total: int, *, anchor: str, meta: Row) -> Response:
    more = _to_cursor(upto, anchor) if upto < total else None
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
        raise BadQueryError("pages.bad_cursor")
    return start, anchor


def _limit() -> int:
    number = desk.whole_number(text := request.args.get("limit", str(USUAL_ROWS)))
    if number is None or not 1 <= number <= MOST_ROWS:
        raise BadQueryError("pages.number_out_of_range", name="limit", value=text[:20], most=MOST_ROWS)
    return number


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return format_instant(value)
    return value.isoformat() if isinstance(value, date) else value
