"""How the machinery fares: runs, events, conflicts, gaps, jobs and the trail, with what a person may set going."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import islice

from flask import Blueprint, abort, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlmodel import Session

from consumer.facts.completeness import Percentiles, Way, complete_until, percentiles
from consumer.facts.installation import Connection
from consumer.facts.messages import translate
from consumer.facts.work import ErrandRefusedError
from reconcile.kept import records
from reconcile.runs import comparison
from reconcile.tables.runs import Run
from reports.access.people import Role
from reports.directory import LISTINGS
from reports.pages import desk, drawing, lists, staging
from reports.pages.desk import BadQueryError
from reports.pages.drawing import Chart
from reports.pages.protection import available, need
from reports.pages.words import refusal
from reports.queries import operations, run_history, trends
from reports.queries.listing import OPERATION, Listing
from reports.queries.trends import Hour

blueprint = Blueprint("operations", __name__, url_prefix="/operation")

_MOST_PICKED = 500
_MOST_CHANGES = 500
_SHARES = ("50", "95", "99", "99.9", "100")
# Replaying an applied event has no effect; these are the lists where it may help.
_WORTH_A_REPLAY = {"failed", "quarantined"}


@dataclass(frozen=True, slots=True)
class Part:
    """How one connection's data comes in."""

    connection: Connection
    complete_until: datetime | None
    gaps: int
    hours: Sequence[Hour]
    events: Chart
    sample: int
    late: Sequence[tuple[str, int, int]]


@blueprint.get("")
def overview() -> ResponseReturnValue:
    """Show at a glance whether everything comes in, and how late."""
    with desk.installation().store.reading() as session:
        found = [_part(session, connection) for connection in desk.connections()]
    return render_template("overview.html", parts_of=found, listings=list_tabs())


def _part(session: Session, connection: Connection) -> Part:
    hours = trends.by_hour(session, connection.name)
    measured = percentiles(session, connection.name, Way.WEBHOOK, now=desk.now())
    late = _shares(measured) if measured else []
    widths = drawing.lengths([seconds for _, seconds in late])
    return Part(
        connection=connection,
        complete_until=complete_until(session, connection.name, trends.EVENTS),
        gaps=operations.gaps_open(session, [connection.name]),
        hours=hours,
        events=drawing.columns([hour.events for hour in hours], [hour.in_gap for hour in hours]),
        sample=measured.events if measured else 0,
        late=[(share, seconds, width) for (share, seconds), width in zip(late, widths, strict=True)],
    )


def _shares(found: Percentiles) -> list[tuple[str, int]]:
    seconds = (found.p50, found.p95, found.p99, found.p999, found.worst)
    return list(zip(_SHARES, seconds, strict=True))


def list_tabs() -> list[Listing]:
    """List the pages of operation that this reader may open."""
    mine = (each for each in LISTINGS.values() if each.place == OPERATION)
    return [each for each in mine if not each.for_admins or desk.reader().role.may(Role.ADMIN)]


@blueprint.get("/<name>")
def index(name: str) -> ResponseReturnValue:
    if name not in LISTINGS or LISTINGS[name].place != OPERATION:
        abort(404)
    listing = LISTINGS[name]
    if listing.for_admins:
        need(Role.ADMIN)
    wanted = lists.wanted(listing)
    with desk.installation().store.reading() as session:
        drawn = lists.draw(session, listing, wanted)
        trouble = operations.trouble(session, wanted.connections) if name == "events" else ()
    errands = desk.errands() if desk.reader().role.may(Role.FINANCE) else None
    return render_template(
        "listing.html",
        home="operations",
        listing=listing,
        drawn=drawn,
        page=drawn.page,
        box=lists.box({"state"}),
        trouble=trouble,
        wanted=wanted,
        listings=list_tabs(),
        errands=errands,
        may_replay=errands is not None and name == "events" and wanted.state in _WORTH_A_REPLAY,
    )


@blueprint.get("/runs/<connection>/<int(max=2147483647):number>")
def run(connection: str, number: int) -> ResponseReturnValue:
    """Show one run: its figures, what it found, and where asked what changed since another one."""
    desk.find_connection(connection)
    with desk.installation().store.reading() as session:
        found = run_history.find_run(session, connection, number)
        if found is None:
            abort(404)
        others = run_history.earlier(session, found)
        before = _to_compare(others)
        changes = None
        if before is not None and found.pruned_at is None:
            comparison.bring_inputs(desk.installation(), before, found)
            differing = comparison.diff(session, desk.installation().settings.files_dir, before, found)
            changes = list(islice(differing, _MOST_CHANGES + 1))
        codes = run_history.count_findings(session, found)
    return render_template(
        "run.html",
        run=found,
        summary=records.read_summary(found),
        at_risk=run_history.at_risk(records.read_summary(found)),
        codes=codes,
        others=others,
        before=before,
        changes=changes[:_MOST_CHANGES] if changes is not None else None,
        is_cut=changes is not None and len(changes) > _MOST_CHANGES,
        most=_MOST_CHANGES,
        listings=list_tabs(),
    )


def _to_compare(others: Sequence[Run]) -> Run | None:
    """Find the run to compare with; comparing reads both whole, so it is done only on request."""
    asked = request.args.get("before")
    if asked is None:
        return None
    found = next((other for other in others if str(other.number) == asked), None)
    if found is None:
        raise BadQueryError(
            "pages.not_one_of",
            name="before",
            value=asked[:20],
            known=", ".join(str(other.number) for other in others),
        )
    return found


@blueprint.get("/events/<connection>/<event_id>")
def event(connection: str, event_id: str) -> ResponseReturnValue:
    """Show one event: what is known of it and the body as it came."""
    desk.find_connection(connection)
    with desk.installation().store.reading() as session:
        found = operations.find_event(session, connection, event_id)
    if found is None:
        abort(404)
    may_replay = desk.errands() is not None and desk.reader().role.may(Role.FINANCE)
    return render_template("event.html", event=found, may_replay=may_replay)


@blueprint.post("/replay")
def replay() -> ResponseReturnValue:
    """Apply the chosen events again and say of each what became of it."""
    need(Role.FINANCE)
    errands = available(desk.errands())
    picks = [pick.partition("/") for pick in request.form.getlist("pick")[:_MOST_PICKED]]
    if not picks:
        raise BadQueryError("pages.choose_event")
    names = [(desk.find_connection(connection).name, event_id) for connection, _, event_id in picks]
    lines = errands.replay(names, desk.reader().name)
    key = staging.stage(
        desk.installation(), staging.OUTCOMES, {"lines": lines}, who=desk.reader().name, now=desk.now()
    ).key
    return redirect(url_for("operations.show_replayed", key=key), 303)


@blueprint.get("/replayed/<key>")
def show_replayed(key: str) -> ResponseReturnValue:
    found = staging.find(desk.installation(), staging.OUTCOMES, key, who=desk.reader().name)
    if found is None:
        abort(404)
    return render_template("replayed.html", outcomes=found.content["lines"])


@blueprint.post("/pull")
def pull() -> ResponseReturnValue:
    """Fetch a stream of the provider anew, in the background."""
    need(Role.FINANCE)
    errands = available(desk.errands())
    stream = request.form.get("stream", "")
    if stream not in errands.streams:
        raise BadQueryError("pages.not_one_of", name="stream", value=stream[:40], known=", ".join(errands.streams))
    connection = desk.find_connection(request.form.get("connection", ""))
    begin = partial(errands.pull, connection, stream, desk.reader().name)
    return _start("pull", f"{connection.name} {stream}", begin)


@blueprint.post("/backfill")
def backfill() -> ResponseReturnValue:
    """Read the provider's log of events anew, in the background."""
    need(Role.FINANCE)
    errands = available(desk.errands())
    connection = desk.find_connection(request.form.get("connection", ""))
    return _start("backfill", connection.name, partial(errands.backfill, connection, desk.reader().name))


def _start(action: str, subject: str, begin: Callable[[], None]) -> ResponseReturnValue:
    try:
        begin()
    except ErrandRefusedError as error:
        sentence, category = refusal(error.message, desk.language()), "alert"
    else:
        desk.note(action, subject)
        sentence, category = translate(f"errand.{action}", desk.language()), "done"
    flash(sentence, category)
    return redirect(url_for("operations.index", name="jobs"))
