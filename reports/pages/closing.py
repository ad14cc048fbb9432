"""Closing days: what to look at first and what it freezes, and how far it is while another process does it."""

from datetime import date
from urllib.parse import urlencode

from flask import Blueprint, abort, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from consumer.facts.installation import Connection
from consumer.facts.messages import Message, translate
from consumer.facts.tables.jobs import TickState, find_newest, to_shown
from consumer.facts.work import ErrandRefusedError, closing_job
from reconcile.kept.records import last_closed
from reconcile.runs import ordered_closing
from reconcile.runs.close_period import PeriodError, look_before_closing
from reconcile.runs.ordered_closing import OrderState
from reconcile.tables.closing import ClosingOrder
from reports.access.people import Role
from reports.pages import desk
from reports.pages.desk import BadQueryError
from reports.pages.protection import available, need
from reports.pages.words import refusal
from reports.queries import run_history
from reports.wording import stored

blueprint = Blueprint("closing", __name__, url_prefix="/books")


@blueprint.get("/closing")
def look() -> ResponseReturnValue:
    """Show the checklist of the days up to one, and what closing them freezes, before the reader says so."""
    need(Role.FINANCE)
    own, until = desk.find_connection(desk.args().get("connection", "")), desk.day("until")
    if until is None:
        raise BadQueryError("pages.choose_last_day")
    try:
        with desk.installation().store.reading() as session:
            checks, frozen = look_before_closing(session, desk.installation(), own, until=until, now=desk.now())
            order = ordered_closing.find_order(session, own.name)
    except PeriodError as error:
        flash(refusal(error.message, desk.language()), "alert")
        return redirect(url_for("books.index", name="periods"))
    # What was written for an order that another process refused.
    is_refused = order is not None and order.until == until and order.state == OrderState.REFUSED
    before = order.reason if order is not None and is_refused else ""
    return render_template(
        "closing.html", own=own.name, until=until, checks=checks, frozen=frozen, before=before,
        is_closing=request.method == "POST",
    )  # fmt: skip


@blueprint.post("/close")
def close() -> ResponseReturnValue:
    """Have another process close the days up to one; who comes second sees the closing that is under way."""
    need(Role.FINANCE)
    own = desk.find_connection(request.form.get("connection", ""))
    until = desk.to_day("until", request.form.get("until", ""))
    if until is None:
        raise BadQueryError("pages.choose_last_day")
    wanted = ClosingOrder(
        connection=own.name, until=until, as_of=_day_of_figures(own, until), reason=desk.form_text("reason"),
        author=desk.reader().name, person_id=desk.reader().person_id, ordered_at=desk.now(), state=OrderState.ORDERED,
    )  # fmt: skip
    if start(own, wanted):
        return redirect(url_for("closing.show", connection=own.name))
    with desk.asking(urlencode({"connection": own.name, "until": until})):
        return desk.refuse(translate("closing.runs_already", desk.language()), "closing.look")


def start(own: Connection, wanted: ClosingOrder) -> bool:
    """Start the process that closes what is wanted; return False if another closing is under way."""
    close = available(available(desk.errands()).close)
    store = desk.installation().store

    def order() -> None:
        with store.transaction() as session:
            ordered_closing.order(session, wanted)

    try:
        close(own, order, desk.reader().name)
    except ErrandRefusedError:
        return False
    desk.note("close period", f"{own.name} {wanted.until.isoformat()}")
    return True


@blueprint.get("/closing/<connection>")
def show(connection: str) -> ResponseReturnValue:
    """Show how far a closing is; once it is done, lead to the period."""
    own = desk.find_connection(connection)
    desk.end_dead_work()
    with desk.installation().store.reading() as session:
        tick = find_newest(session, closing_job(own.name))
        order = ordered_closing.find_order(session, own.name)
        period = last_closed(session, own.name)
    if tick is None and order is None:
        abort(404)
    shown = to_shown(tick, now=desk.now()) if tick is not None else {}
    is_running = shown.get("state") == TickState.RUNNING
    if not is_running and order is not None and order.state != OrderState.ORDERED:
        words = refusal(stored.sentence(order.words, desk.language()), desk.language())
        if order.state == OrderState.DONE:
            flash(words, "done")
            return redirect(url_for("books.period", connection=own.name, number=order.period_id))
        flash(words, "done" if order.state == OrderState.ASKED else "alert")
        return redirect(url_for("books.index", name="approvals" if order.state == OrderState.ASKED else "periods"))
    # Its process may die after it has closed them, and a command may close them meanwhile.
    if not is_running and order is not None and period is not None and period.until >= order.until:
        return redirect(url_for("books.period", connection=own.name, number=period.id))
    step = str(shown["outcome"] or "") if is_running else Message("closing.process_ended").to_text()
    return render_template("closing_progress.html", own=own.name, order=order, is_running=is_running, step=step)


def _day_of_figures(connection: Connection, until: date) -> date | None:
    """Choose the newest complete run's day, whose data is all here; today's may still be on its way."""
    with desk.installation().store.reading() as session:
        found = run_history.newest_complete(session, connection.name, desk.today())
    return found.as_of if found is not None and found.as_of >= until else None
