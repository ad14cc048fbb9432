"""The exception desk: one exception with its evidence, and what a person decides about it."""

from collections.abc import Callable
from typing import Any

from flask import Blueprint, abort, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlmodel import Session

from consumer.facts.clock import local_date
from reconcile import decisions
from reconcile.decisions import DecisionError, Pair, Signature
from reports import cases, lists
from reports.pages import desk
from reports.pages.protection import need
from reports.pages.words import translate
from reports.people import Role

blueprint = Blueprint("case", __name__, url_prefix="/exceptions")

_LONGEST = 2000


@blueprint.get("/<connection>/<exception_id>")
def show(connection: str, exception_id: str) -> ResponseReturnValue:
    with desk.house().store.reading() as session:
        runs = lists.runs_now(session, _known(connection), desk.today())
        case = cases.find_case(session, runs, connection, exception_id)
    if case is None:
        abort(404)
    return render_template("case.html", case=case, row=case.row, may_decide=desk.reader().role.may(Role.FINANCE))


@blueprint.post("/<connection>/<exception_id>/<action>")
def decide(connection: str, exception_id: str, action: str) -> ResponseReturnValue:
    """Take one decision; a stale or impossible one changes nothing and says why."""
    need(Role.FINANCE)
    _known(connection)
    if action not in ACTIONS:
        abort(404)
    version = _number("version") if action in EDITS else 0
    refusal = decide_one(action, connection, exception_id, version=version)
    if refusal is not None:
        flash(refusal, "alert")
    else:
        flash(translate(f"done.{action}", desk.language()), "done")
    return redirect(url_for("case.show", connection=connection, exception_id=exception_id))


def decide_one(action: str, connection: str, exception_id: str, *, version: int) -> str | None:
    """Take a decision in a transaction of its own, and return why it was refused."""
    who, now = desk.reader().name, desk.now()
    signed = Signature(author=who, reason=_text("reason") or "decided on the page", at=now)
    try:
        with desk.house().store.transaction() as session:
            ACTIONS[action](session, connection, exception_id, signed, version)
    except DecisionError as error:
        return str(error)
    return None


def _known(connection: str) -> list[str]:
    if connection not in {own.name for own in desk.house().settings.all_connections}:
        abort(404)
    return [connection]


def _text(name: str) -> str:
    return request.form.get(name, "").strip()[:_LONGEST]


def _number(name: str) -> int:
    number = desk.whole_number(text := request.form.get(name, ""))
    if number is None:
        raise desk.BadQueryError(f"{name}: {text[:20]!r} is not a number")
    return number


def _assign(session: Session, connection: str, exception_id: str, signed: Signature, version: int) -> None:
    decisions.assign(session, connection, exception_id, signed, owner=_text("owner"), version=version)


def _note(session: Session, connection: str, exception_id: str, signed: Signature, version: int) -> None:
    decisions.note(session, connection, exception_id, signed, text=_text("note"), version=version)


def _resolve(session: Session, connection: str, exception_id: str, signed: Signature, version: int) -> None:
    # The day of the newest run, as the commands have it: an age must not depend on where somebody decided.
    runs = lists.runs_now(session, [connection], local_date(signed.at, desk.zone_of(connection)))
    on = max((run.as_of for run in runs), default=local_date(signed.at, desk.zone_of(connection)))
    decisions.resolve(session, connection, exception_id, _reasoned(signed), on=on, version=version)


def _reopen(session: Session, connection: str, exception_id: str, signed: Signature, version: int) -> None:
    decisions.reopen(session, connection, exception_id, _reasoned(signed), version=version)


Decide = Callable[..., Any]


def _about_a_pair(take: Decide) -> Decide:
    """Make an action of a decision about a payment and a document, which the form names."""

    def act(session: Session, connection: str, _exception_id: str, signed: Signature, _version: int) -> None:
        pair = Pair(connection, _text("resource_id"), _text("doc_key"))
        take(session, pair, _reasoned(signed), seen=_number("seen"))

    return act


def _reasoned(signed: Signature) -> Signature:
    """Refuse a decision about money that gives no reason of its own."""
    if not _text("reason"):
        raise decisions.Impossible(translate("Give a reason.", desk.language()))
    return signed


EDITS: dict[str, Decide] = {"assign": _assign, "note": _note, "resolve": _resolve, "reopen": _reopen}
ACTIONS: dict[str, Decide] = {
    **EDITS,
    "match": _about_a_pair(decisions.match),
    "unmatch": _about_a_pair(decisions.unmatch),
    "decline": _about_a_pair(decisions.decline),
    "adjust": _about_a_pair(decisions.adjust),
}
BULK = ("assign", "resolve")
