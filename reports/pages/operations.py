"""How the machinery fares: runs, events, conflicts, gaps and jobs, each as a list with its filter."""

from flask import Blueprint, abort, render_template
from flask.typing import ResponseReturnValue

from reports import operations
from reports.operations import LISTINGS, Wanted
from reports.pages import desk

blueprint = Blueprint("operations", __name__, url_prefix="/operation")


@blueprint.get("/<name>")
def index(name: str) -> ResponseReturnValue:
    if name not in LISTINGS:
        abort(404)
    listing = LISTINGS[name]
    wanted = Wanted(desk.names(), desk.choice("state", listing.states), desk.search(), desk.page_number())
    with desk.house().store.reading() as session:
        page = operations.read(session, listing, wanted)
    return render_template("listing.html", listing=listing, page=page, wanted=wanted, listings=LISTINGS.values())


@blueprint.get("/events/<connection>/<event_id>")
def event(connection: str, event_id: str) -> ResponseReturnValue:
    """Show one event: what is known of it and the body as it came."""
    if connection not in {own.name for own in desk.house().settings.all_connections}:
        abort(404)
    with desk.house().store.reading() as session:
        found = operations.find_event(session, connection, event_id)
    if found is None:
        abort(404)
    return render_template("event.html", event=found)
