"""A rule about payers: its evidence, what it would alter, its history, and what a person makes of it."""

from collections.abc import Sequence

from flask import Blueprint, abort, flash, redirect, render_template, url_for
from flask.typing import ResponseReturnValue
from sqlmodel import Session

from consumer.facts.installation import Connection
from consumer.facts.messages import translate, word
from reconcile.desk import payers
from reconcile.desk.decisions import DecisionError, Signature
from reconcile.desk.payers import RuleState
from reconcile.kept.snapshots import SnapshotError
from reconcile.runs.previews import Preview, preview_payers
from reconcile.tables.desk import PayerRule
from reports.access.people import Role
from reports.pages import desk
from reports.pages.protection import need
from reports.pages.words import refusal
from reports.queries import names

blueprint = Blueprint("payers", __name__, url_prefix="/payers")

_MOST_CHANGES = 200
_TRAIL = {"accept": "accept payers", "reject": "reject payers", "revoke": "revoke payers"}
_DEEDS = {"accept": RuleState.ACCEPTED, "reject": RuleState.REJECTED, "revoke": RuleState.REVOKED}


@blueprint.get("")
def index() -> ResponseReturnValue:
    """Lead to the list, which stands among the books."""
    return redirect(url_for("books.index", name="payers"))


@blueprint.get("/<connection>/<int(max=2147483647):number>")
def show(connection: str, number: int) -> ResponseReturnValue:
    own = desk.find_connection(connection)
    with desk.installation().store.reading() as session:
        row = _find(session, own, number)
        history = payers.history(session, number)
        customers = names.name_customers(session, own.name, [row.subject, row.object])
    changes = _preview(own, row)
    return render_template(
        "payer.html",
        row=row,
        own=own.name,
        deeds=[deed for deed, state in _DEEDS.items() if payers.may_become(row, state)],
        changes=changes,
        most=_MOST_CHANGES,
        history=history,
        customers=customers,
        allowed=payers.allowed_bps(desk.installation().settings.rules),
        may_decide=desk.reader().role.may(Role.FINANCE),
    )


@blueprint.post("/<connection>/<int(max=2147483647):number>/<any(accept, reject, revoke):deed>")
def decide(connection: str, number: int, deed: str) -> ResponseReturnValue:
    """Accept, reject or revoke a rule as the reader saw it."""
    need(Role.FINANCE)
    own = desk.find_connection(connection)
    signed = Signature(desk.reader().name, desk.form_text("reason"), desk.now())
    version = desk.whole_number(desk.form_text("version"))
    language = desk.language()
    try:
        with desk.installation().store.transaction() as session:
            _find(session, own, number)
            approvals = desk.installation().settings.approvals
            row = payers.decide(session, own.name, number, _DEEDS[deed], signed, approvals=approvals, version=version)
            state = row.state
    except DecisionError as error:
        return desk.refuse(refusal(error.message, language), "payers.show", connection=own.name, number=number)
    desk.note(_TRAIL[deed], f"{own.name} {number}")
    flash(translate("payers.done", language, number=number, state=word("payer_state", state, language)), "done")
    return redirect(url_for("payers.show", connection=own.name, number=number))


def _find(session: Session, own: Connection, number: int) -> PayerRule:
    try:
        return payers.find(session, own.name, number)
    except DecisionError:
        abort(404)


def _preview(own: Connection, row: PayerRule) -> Sequence[Preview] | None:
    """Return what deciding would alter; None where that takes too long or the inputs are gone."""
    try:
        return list(preview_payers(desk.installation(), own, row, today=desk.today()))
    except SnapshotError:
        return None
