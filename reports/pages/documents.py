"""One document's page: what the books say, what became of it, who changed or decided what, and what is left of it."""

from flask import Blueprint, abort, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from reconcile.desk import decisions
from reconcile.desk.decisions import Adjustment, Pair
from reports import standing
from reports.dossiers import find_dossier
from reports.pages import desk, taking
from reports.pages.protection import need
from reports.pages.words import translate
from reports.people import Role

blueprint = Blueprint("documents", __name__, url_prefix="/documents")


@blueprint.get("/<connection>/<path:doc_key>")
def show(connection: str, doc_key: str) -> ResponseReturnValue:
    with desk.installation().store.reading() as session:
        runs = standing.runs_now(session, [desk.known(connection).name], desk.today())
        dossier = find_dossier(session, runs, connection, doc_key)
    if dossier is None:
        abort(404)
    return render_template(
        "document.html",
        dossier=dossier,
        document=dossier.document,
        result=dossier.result,
        kinds=list(Adjustment),
        may_decide=desk.reader().role.may(Role.FINANCE),
    )


@blueprint.post("/<connection>")
def withdraw(connection: str) -> ResponseReturnValue:
    """Take back what was decided about a document, alone or with a payment."""
    need(Role.FINANCE)
    pair = Pair(desk.known(connection).name, taking.text("resource_id"), taking.text("doc_key"))
    refusal = taking.take(lambda session, signed: decisions.withdraw(session, pair, signed, seen=taking.number("seen")))
    return _told(refusal, "done.withdraw", pair)


@blueprint.post("/<connection>/<path:doc_key>")
def adjust(connection: str, doc_key: str) -> ResponseReturnValue:
    """Accept what is left of a document, or part of it, as what the reader says it is."""
    need(Role.FINANCE)
    desk.known(connection)
    pair = Pair(connection, doc_key=doc_key)
    refusal = taking.take(lambda session, signed: taking.adjust(session, pair, signed, request.form))
    return _told(refusal, "done.adjust", pair)


def _told(refusal: str | None, done: str, pair: Pair) -> ResponseReturnValue:
    if refusal is not None:
        flash(refusal, "alert")
    else:
        flash(translate(done, desk.language()), "done")
    return redirect(url_for("documents.show", connection=pair.connection, doc_key=pair.doc_key))
