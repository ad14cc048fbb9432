"""The exception desk: one exception with its evidence, and what a person decides about it."""

from collections.abc import Callable
from typing import Any

from flask import Blueprint, abort, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlmodel import Session

from consumer.facts.clock import local_date
from reconcile.desk import decisions
from reconcile.desk.decisions import Adjustment, Pair, Signature
from reports import cases, standing
from reports.pages import desk, taking
from reports.pages.protection import need
from reports.pages.words import translate
from reports.people import Role
from reports.query import calendars_of

blueprint = Blueprint("case", __name__, url_prefix="/exceptions")


@blueprint.get("/<connection>/<exception_id>")
def show(connection: str, exception_id: str) -> ResponseReturnValue:
    own = desk.known(connection)
    with desk.installation().store.reading() as session:
        runs = standing.runs_now(session, [own.name], desk.today())
        case = cases.find_case(session, runs, connection, exception_id)
    if case is None:
        abort(404)
    as_of = max((run.as_of for run in runs), default=case.row.last_seen_on)
    calendar = calendars_of(desk.installation(), [own], runs)[connection]
    return render_template(
        "case.html",
        case=case,
        row=case.row,
        age=max(0, calendar.days_between(case.row.aged_from, case.row.resolved_on or as_of)),
        kinds=list(Adjustment),
        may_decide=desk.reader().role.may(Role.FINANCE),
    )


@blueprint.post("/<connection>/<exception_id>/<action>")
def decide(connection: str, exception_id: str, action: str) -> ResponseReturnValue:
    """Take one decision; a stale or impossible one changes nothing and says why."""
    need(Role.FINANCE)
    desk.known(connection)
    if action not in ACTIONS:
        abort(404)
    version = taking.number("version") if action in EDITS else 0
    refusal = decide_one(action, connection, exception_id, version=version)
    if refusal is not None:
        flash(refusal, "alert")
    else:
        flash(translate(f"done.{action}", desk.language()), "done")
    return redirect(url_for("case.show", connection=connection, exception_id=exception_id))


def decide_one(action: str, connection: str, exception_id: str, *, version: int) -> str | None:
    """Take a decision in a transaction of its own, and return why it was refused."""

    def act(session: Session, signed: Signature) -> None:
        ACTIONS[action](session, connection, exception_id, signed, version)

    # Handing over and noting say what they do; whatever moves money or closes work says why.
    return taking.take(act, reason=f"{action} on the page" if action in _SELF_EXPLAINING else None)


def _assign(session: Session, connection: str, exception_id: str, signed: Signature, version: int) -> None:
    decisions.assign(session, connection, exception_id, signed, owner=taking.text("owner"), version=version)


def _note(session: Session, connection: str, exception_id: str, signed: Signature, version: int) -> None:
    decisions.note(session, connection, exception_id, signed, text=taking.text("note"), version=version)


def _resolve(session: Session, connection: str, exception_id: str, signed: Signature, version: int) -> None:
    # The day of the newest run, as the commands have it: an age must not depend on where somebody decided.
    runs = standing.runs_now(session, [connection], local_date(signed.at, desk.zone_of(connection)))
    on = max((run.as_of for run in runs), default=local_date(signed.at, desk.zone_of(connection)))
    decisions.resolve(session, connection, exception_id, signed, on=on, version=version)


def _reopen(session: Session, connection: str, exception_id: str, signed: Signature, version: int) -> None:
    decisions.reopen(session, connection, exception_id, signed, version=version)


Decide = Callable[..., Any]


def _about_a_pair(take: Decide) -> Decide:
    """Make an action of a decision about a payment and a document, which the form names."""

    def act(session: Session, connection: str, _exception_id: str, signed: Signature, _version: int) -> None:
        take(session, _pair(connection), signed, seen=taking.number("seen"))

    return act


def _adjust(session: Session, connection: str, _exception_id: str, signed: Signature, _version: int) -> None:
    taking.adjust(session, _pair(connection), signed, request.form)


def _pair(connection: str) -> Pair:
    return Pair(connection, taking.text("resource_id"), taking.text("doc_key"))


EDITS: dict[str, Decide] = {"assign": _assign, "note": _note, "resolve": _resolve, "reopen": _reopen}
_SELF_EXPLAINING = ("assign", "note")
ACTIONS: dict[str, Decide] = {
    **EDITS,
    "match": _about_a_pair(decisions.match),
    "unmatch": _about_a_pair(decisions.unmatch),
    "decline": _about_a_pair(decisions.decline),
    "withdraw": _about_a_pair(decisions.withdraw),
    "adjust": _adjust,
}
BULK = ("assign", "note", "resolve")
