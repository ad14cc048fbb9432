"""Views of lists under names: kept, shared, pinned to Today, renamed and deleted; and remembered columns."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from flask import Blueprint, abort, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlmodel import Session
from werkzeug.exceptions import HTTPException

from consumer.facts.messages import RefusalError, translate
from reports.access.people import Role
from reports.directory import LISTINGS
from reports.pages import desk, downloads, exceptions, lists
from reports.pages.desk import BadQueryError
from reports.pages.login import own_address
from reports.pages.protection import need
from reports.pages.views import PLACES
from reports.pages.words import refusal
from reports.queries import listing as listings
from reports.queries import standing, views
from reports.queries.asking import SIZES
from reports.queries.listing import BOOKS, OPERATION
from reports.queries.views import Setting, ViewError
from reports.tables import SavedView

blueprint = Blueprint("saved", __name__, url_prefix="/saved")

_OWN_PAGES = {"payout-summary": "payouts.index", "exceptions": "exceptions.index", "bank-lines": "bank.index"}
_PLACE_OF = {name: place for place, name in PLACES.items()}
# More would make Today wait.
MOST_PINNED = 6


@dataclass(frozen=True, slots=True)
class Pin:
    """A view on Today: how many rows it has and what they come to; None where it cannot be read any more.

    `is_living` says that the sums leave out payouts that came back.
    """

    view: SavedView
    address: str
    rows: int | None
    sums: Mapping[str, int]
    is_living: bool = False


def address_of(name: str, asked: str = "") -> str:
    """Return the page of a list, asked as a view asks it; answer 404 if there is no such list."""
    if name in _PLACE_OF:
        path = url_for("views.show", place=_PLACE_OF[name])
    elif name in _OWN_PAGES:
        path = url_for(_OWN_PAGES[name])
    elif name in LISTINGS and LISTINGS[name].place in (OPERATION, BOOKS):
        if LISTINGS[name].for_admins:
            need(Role.ADMIN)
        home = "operations" if LISTINGS[name].place == OPERATION else "books"
        path = url_for(f"{home}.index", name=name)
    else:
        abort(404)
    return f"{path}?{asked}" if asked else path


@blueprint.get("")
def index() -> ResponseReturnValue:
    mine = desk.reader().person_id
    return render_template("saved.html", found=[(one, owner, one.person_id == mine) for one, owner in _read_views()])


def _read_views() -> list[tuple[SavedView, str]]:
    """Return the views that this reader may open: their own and those shared, of lists and connections they see."""
    visible = [own.name for own in desk.visible_connections()]
    with desk.installation().store.reading() as session:
        found = views.list_views(session, desk.reader().person_id, visible, desk.every_name())
    withheld = {one.name for one in LISTINGS.values() if one.for_admins and not desk.reader().role.may(Role.ADMIN)}
    return [(view, owner) for view, owner in found if view.list not in withheld]


@blueprint.post("/<name>/columns")
def choose(name: str) -> ResponseReturnValue:
    """Remember which columns and how many rows this reader sees of a list."""
    home = address_of(name)
    given, size = request.form.getlist("column"), request.form.get("size", "")
    if request.form.get("reset"):
        given, size = [], ""
    elif size not in {str(one) for one in SIZES}:
        raise BadQueryError("pages.not_one_of", name="size", value=size[:20], known=", ".join(map(str, SIZES)))
    elif not given:
        raise BadQueryError("list.no_column_chosen")
    known = lists.columns_of(name)
    chosen = Setting(tuple(one for one in given if one in known), int(size or 0))
    with desk.installation().store.transaction() as session:
        views.keep_setting(session, _person(), name, chosen, now=desk.now())
    return redirect(own_address(request.form.get("next", "")) or home)


@blueprint.post("/<name>")
def save(name: str) -> ResponseReturnValue:
    """Keep a list as it is asked, under a name."""
    home, asked = address_of(name), request.form.get("asked", "")
    ticks = {one: request.form.get(one) == "yes" for one in ("is_shared", "is_pinned")}

    def act(session: Session) -> None:
        view = views.keep(session, _person(), name, desk.form_text("view"), asked, now=desk.now())
        view.is_shared, view.is_pinned = ticks["is_shared"], ticks["is_pinned"]

    return _answer(act, own_address(request.form.get("next", "")) or home)


@blueprint.post("/<int(max=2147483647):number>/<any(rename, share, pin, drop):action>")
def change(number: int, action: str) -> ResponseReturnValue:
    """Rename, share, pin or delete a view of one's own, as it was seen."""
    version = desk.whole_number(request.form.get("version", "")) or 0
    is_on = request.form.get("on") == "yes"
    to: dict[str, dict[str, str | bool]] = {
        "rename": {"name": desk.form_text("view")},
        "share": {"is_shared": is_on},
        "pin": {"is_pinned": is_on},
    }

    def act(session: Session) -> None:
        view = session.get(SavedView, number)
        if view is None or view.person_id != _person():
            abort(404)
        if action == "drop":
            views.drop(session, view, version=version)
        else:
            views.change(session, view, version=version, now=desk.now(), **to[action])

    return _answer(act, url_for("saved.index"))


def _answer(act: Callable[[Session], None], target: str) -> ResponseReturnValue:
    try:
        with desk.installation().store.transaction() as session:
            act(session)
    except ViewError as error:
        flash(refusal(error.message, desk.language()), "alert")
    else:
        flash(translate("done.view", desk.language()), "done")
    return redirect(target, 303)


def _person() -> int:
    person = desk.reader().person_id
    return person if person is not None else abort(403)


def pinned() -> Sequence[Pin]:
    """Count the rows and the money of each view that this reader sees pinned."""
    return [_to_pin(view) for view, _ in _read_views() if view.is_pinned][:MOST_PINNED]


def _to_pin(view: SavedView) -> Pin:
    try:
        with desk.asking(view.asked):
            rows, sums, is_living = count(view.list)
    except (RefusalError, HTTPException):
        # A column, a connection or a run that it names is no more.
        return Pin(view, address_of(view.list), None, {})
    return Pin(view, address_of(view.list, view.asked), rows, sums, is_living)


def count(name: str) -> tuple[int, dict[str, int], bool]:
    """Count what an address asks of a list, and add up its money: of several columns, the one that matters most.

    Payouts that came back are counted and not added up, unless nothing else was found; True says that some were.
    """
    if name in LISTINGS or name == "exceptions":
        with desk.installation().store.reading() as session:
            if name == "exceptions":
                asked, found = exceptions.read()
                listing = standing.work_list(asked)
                totals = exceptions.add_up(session, listing, asked, found)[1]
            else:
                listing = LISTINGS[name]
                found = lists.wanted(listing)
                totals = listings.add_up(session, listing, found)
            return listings.count(session, listing, found), _first(totals), False
    chosen = downloads.find_shown(name, is_pending=True)
    rows = len(chosen.places)
    living = chosen.living() if name == "payout-summary" else chosen
    is_part = 0 < len(living.places) < rows
    return rows, _first((living if is_part else chosen).totals()), is_part


_MATTERS = ("payout_amount", "balance", "amount_at_risk", "amount", "amount_signed")


def _first(totals: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
    names = [name for sums in totals.values() for name in sums]
    name = next((one for one in _MATTERS if one in names), None)
    return {currency: sums[name] for currency, sums in totals.items()} if name else {}
