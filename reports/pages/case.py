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
from reports.people import Role, note

blueprint = Blueprint("case", __name__, url_prefix="/exceptions")

_LONGEST = 2000


@blueprint.get("/<connection>/<exception_id>")
def show(connection: str, exception_id: str) -> ResponseReturnValue:
    with desk.house().store.reading() as session:
        runs = lists.runs_now(session, _known(connection))
        case = cases.find_case(session, runs, connection, exception_id)
    if case is None:
        abort(404)
    return render_template("case.html", case=case, row=case.row, may_decide=desk.reader().role.may(Role.FINANCE))


@blueprint.post("/<connection>/<exception_id>/<action>")
def decide(connection: str, exception_id: str, action: str) -> ResponseReturnValue:
    """Take one decision in one transaction; a stale or impossible one changes nothing and says why."""
    need(Role.FINANCE)
    _known(connection)
    if action not in ACTIONS:
        abort(404)
    who, now = desk.reader().name, desk.now()
    signed = Signature(author=who, reason=_text("reason") or translate("decided on the page", "en"), at=now)
    try:
        with desk.house().store.transaction() as session:
            ACTIONS[action](session, connection, exception_id, signed)
    except DecisionError as error:
        flash(str(error), "alert")
    else:
        note(desk.house().store, who, action, f"exception {connection} {exception_id}", now=now)
        flash(translate(f"done.{action}", desk.language()), "done")
    return redirect(url_for("case.show", connection=connection, exception_id=exception_id))


def _known(connection: str) -> list[str]:
    if connection not in {own.name for own in desk.house().settings.all_connections}:
        abort(404)
    return [connection]


def _text(name: str) -> str:
    return request.form.get(name, "").strip()[:_LONGEST]


def _number(name: str) -> int:
    text = request.form.get(name, "")
    if not (text.isascii() and text.isdigit()):
        raise desk.BadQueryError(f"{name}: {text!r} is not a number")
    return int(text)


def _assign(session: Session, connection: str, exception_id: str, signed: Signature) -> None:
    version = _number("version")
    decisions.assign(session, connection, exception_id, signed, owner=_text("owner"), version=version)


def _note(session: Session, connection: str, exception_id: str, signed: Signature) -> None:
    decisions.note(session, connection, exception_id, signed, text=_text("note"), version=_number("version"))


def _resolve(session: Session, connection: str, exception_id: str, signed: Signature) -> None:
    on = local_date(signed.at, desk.zone_of(connection))
    decisions.resolve(session, connection, exception_id, _reasoned(signed), on=on, version=_number("version"))


def _reopen(session: Session, connection: str, exception_id: str, signed: Signature) -> None:
    decisions.reopen(session, connection, exception_id, _reasoned(signed), version=_number("version"))


def _pair(connection: str) -> Pair:
    return Pair(connection, _text("resource_id"), _text("doc_key"))


def _match(session: Session, connection: str, _exception_id: str, signed: Signature) -> None:
    decisions.match(session, _pair(connection), _reasoned(signed), seen=_number("seen"))


def _unmatch(session: Session, connection: str, _exception_id: str, signed: Signature) -> None:
    decisions.unmatch(session, _pair(connection), _reasoned(signed), seen=_number("seen"))


def _decline(session: Session, connection: str, _exception_id: str, signed: Signature) -> None:
    decisions.decline(session, _pair(connection), _reasoned(signed), seen=_number("seen"))


def _adjust(session: Session, connection: str, _exception_id: str, signed: Signature) -> None:
    decisions.adjust(session, _pair(connection), _reasoned(signed), seen=_number("seen"))


def _reasoned(signed: Signature) -> Signature:
    """Refuse a decision about money that gives no reason of its own."""
    if not _text("reason"):
        raise decisions.Impossible(translate("Give a reason.", desk.language()))
    return signed


ACTIONS: dict[str, Callable[[Session, str, str, Signature], Any]] = {
    "assign": _assign,
    "note": _note,
    "resolve": _resolve,
    "reopen": _reopen,
    "match": _match,
    "unmatch": _unmatch,
    "decline": _decline,
    "adjust": _adjust,
}
