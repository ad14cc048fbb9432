"""Disputes: what must be answered by when, and one dispute with the evidence that goes out from here, once."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path

from flask import Blueprint, Response, abort, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from consumer.facts.clock import to_instant
from consumer.facts.disputes import WAITS, Chosen, DisputeDesk, EvidenceError, State, find_evidence_type, not_waiting
from consumer.facts.installation import Connection
from consumer.facts.messages import Message, Value, translate
from consumer.facts.tables.disputes import Evidence
from consumer.facts.uploads import LARGEST
from reconcile.books.intake import to_safe_name
from reports.access.people import Role
from reports.making import catalogue
from reports.making.disputes import dispute_rows
from reports.pages import desk
from reports.pages.protection import available, need
from reports.pages.words import refusal
from reports.queries.query import Query
from reports.shapes import notation
from reports.shapes.spans import Row

blueprint = Blueprint("disputes", __name__, url_prefix="/disputes")

_NAME = "disputes"
# Moments of refusals, which pages say in the local time of the connection.
_MOMENTS = {"at", "due"}
_NEVER = datetime.max.replace(tzinfo=UTC)


@blueprint.get("")
def index() -> ResponseReturnValue:
    """List the disputes: those that wait for an answer first, the nearest deadline before all."""
    rows = [row for connection in desk.connections() for row in _read_rows(connection)]
    rows.sort(key=lambda row: (row["status"] != WAITS, row["due_at_utc"] or _NEVER, row["dispute_id"]))
    return render_template("disputes.html", rows=rows, waits=WAITS)


@blueprint.get("/<connection>/<dispute_id>")
def show(connection: str, dispute_id: str) -> ResponseReturnValue:
    """Show one dispute with its evidence: what was sent, and what would go out."""
    own = desk.find_connection(connection)
    row = _find_row(own, dispute_id)
    return _show(own, row)


@blueprint.get("/<connection>/<dispute_id>/evidence/<int(max=2147483647):number>")
def download(connection: str, dispute_id: str, number: int) -> ResponseReturnValue:
    """Send a document as it was kept, never for the browser to run."""
    own = desk.find_connection(connection)
    kept = _find_evidence(own, dispute_id, number)
    content = _desk().read(kept)
    answer = Response(content, mimetype=find_evidence_type(kept.name, content))
    answer.headers.set("Content-Disposition", "attachment", filename=kept.name)
    return answer


@blueprint.post("/<connection>/<dispute_id>/evidence")
def keep(connection: str, dispute_id: str) -> ResponseReturnValue:
    """Keep a document that the reader chose, to be looked at before it is sent."""
    own, row = _find_for_change(connection, dispute_id)
    if row["status"] != WAITS:
        return _refuse(own, row, not_waiting(dispute_id, row["status"]))
    given = request.files.get("file")
    if given is None or not given.filename:
        return _refuse(own, row, EvidenceError("Choose a file first."))
    name = to_safe_name(Path(given.filename.replace("\\", "/")).name)
    try:
        _desk().keep(own, dispute_id, Chosen(name, given.read(LARGEST), desk.reader().name, desk.now()))
    except EvidenceError as error:
        return _refuse(own, row, error)
    desk.note("keep evidence", f"{own.name} {dispute_id}")
    return _done(own, dispute_id, "disputes.kept")


@blueprint.post("/<connection>/<dispute_id>/evidence/<int(max=2147483647):number>")
def send(connection: str, dispute_id: str, number: int) -> ResponseReturnValue:
    """Send a document that was shown, or forget it."""
    own, row = _find_for_change(connection, dispute_id)
    try:
        if request.form.get("action") == "drop":
            _desk().drop(own, dispute_id, number)
            return _done(own, dispute_id, "disputes.dropped")
        _desk().send(own, dispute_id, number, desk.reader().name)
    except EvidenceError as error:
        return _refuse(own, row, error)
    desk.note("send evidence", f"{own.name} {dispute_id}")
    return _done(own, dispute_id, "disputes.sent")


@blueprint.post("/<connection>/<dispute_id>/submit")
def submit(connection: str, dispute_id: str) -> ResponseReturnValue:
    """Ask for the review of the documents that the reader saw."""
    own, row = _find_for_change(connection, dispute_id)
    try:
        _desk().submit(own, dispute_id, desk.whole_number(request.form.get("seen", "")) or 0, desk.reader().name)
    except EvidenceError as error:
        return _refuse(own, row, error)
    desk.note("submit dispute", f"{own.name} {dispute_id}")
    return _done(own, dispute_id, "disputes.submitted")


def _desk() -> DisputeDesk:
    return available(available(desk.errands()).disputes)


def _find_for_change(connection: str, dispute_id: str) -> tuple[Connection, Row]:
    need(Role.FINANCE)
    own = desk.find_connection(connection)
    return own, _find_row(own, dispute_id)


def _find_row(own: Connection, dispute_id: str) -> Row:
    return next(_read_rows(own, dispute_id), None) or abort(404)


def _find_evidence(own: Connection, dispute_id: str, number: int) -> Evidence:
    kept = _desk().list_kept(own, dispute_id)
    return next((one for one in kept if one.id == number and one.sha256), None) or abort(404)


def _read_rows(own: Connection, dispute_id: str | None = None) -> Iterator[Row]:
    query = Query(_NAME, (own,), desk.today(), as_of=_day_of(own))
    with desk.installation().store.reading() as session:
        yield from dispute_rows(catalogue.source_of(desk.installation(), session, query), dispute_id)


def _day_of(own: Connection) -> date | None:
    """Return the day of the newest run for a test mode, which may live in a time of its own; else None for today."""
    if own.mode == "live":
        return None
    with desk.installation().store.reading() as session:
        return max((run.as_of for run in desk.runs_now(session, [own.name])), default=None)


def _show(own: Connection, row: Row, problem: str = "") -> str:
    errands = desk.errands()
    evidence = errands.disputes.list_kept(own, row["dispute_id"]) if errands and errands.disputes else []
    return render_template(
        "dispute.html",
        row=row,
        documents=[one for one in evidence if one.sha256],
        review=next((one for one in evidence if not one.sha256), None),
        may_answer=desk.reader().role.may(Role.FINANCE) and row["status"] == WAITS and errands is not None,
        states=State,
        problem=problem,
    )


def _refuse(own: Connection, row: Row, error: EvidenceError) -> ResponseReturnValue:
    moments = {name: _say_moment(value, own) for name, value in error.message.values.items() if name in _MOMENTS}
    said = Message(error.message.code, {**error.message.values, **moments})
    return _show(own, row, refusal(said, desk.language())), 422


def _say_moment(value: Value, own: Connection) -> Value:
    at = to_instant(value) if isinstance(value, str) and value else None
    return value if at is None else notation.format_moment(at, desk.language(), own.country.zone)


def _done(own: Connection, dispute_id: str, code: str) -> ResponseReturnValue:
    flash(translate(code, desk.language()), "done")
    return redirect(url_for("disputes.show", connection=own.name, dispute_id=dispute_id), 303)
