"""The bank: what came into the accounts payouts go to, what each line pays, and the tie by hand."""

from flask import Blueprint, abort, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlmodel import Session

from consumer.facts.messages import translate
from reconcile.desk import decisions
from reconcile.desk.decisions import Pair, Signature
from reconcile.desk.ties import find_ties, share_of, tie
from reconcile.kept import chunks
from reports.access.people import Role
from reports.pages import desk, pending
from reports.pages.decisions import form_number, take_decision
from reports.pages.protection import need
from reports.queries import bank, standing
from reports.queries.bank import STATES, LineFilter

blueprint = Blueprint("bank", __name__, url_prefix="/bank")


@blueprint.get("")
def index() -> ResponseReturnValue:
    asked = LineFilter(desk.choice("state", STATES), desk.short_text("account"), desk.search(), desk.span())
    with desk.installation().store.reading() as session:
        runs = standing.runs_now(session, desk.names(), desk.today())
        found = bank.find_lines(session, runs, asked, desk.page_number(), pending.on_bank())
        # An earlier version published no lines of the bank.
        lacking = [run for run in runs if not chunks.is_kept(session, run, chunks.BANK)]
        paid = standing.find_payouts(session, runs, {row["payout_id"] for row in found.page.rows if row["payout_id"]})
    return render_template(
        "bank.html", found=found, asked=asked, states=STATES, runs=runs, lacking=lacking, payouts=paid,
        may_decide=desk.reader().role.may(Role.FINANCE),
    )  # fmt: skip


@blueprint.get("/<connection>/<path:movement_id>")
def show(connection: str, movement_id: str) -> ResponseReturnValue:
    """Show one line with the payouts it may have brought."""
    own = desk.find_connection(connection)
    with desk.installation().store.reading() as session:
        runs = standing.runs_now(session, [own.name], desk.today())
        later = pending.on_bank()
        line = bank.find_line(session, runs[0], movement_id, later) if runs else None
        if line is None:
            abort(404)
        ties = find_ties(session, connection, "doc_key", movement_id)
        payouts = standing.find_payouts(session, runs, {line["payout_id"]} if line["payout_id"] else set())
        candidates = [] if line["payout_id"] else bank.find_candidates(session, runs[0], line, later)
    return render_template(
        "bank_line.html", line=line, payout=payouts.get(line["payout_id"]), candidates=candidates,
        share=f"{share_of(runs[0]):g}", ties=ties, may_decide=desk.reader().role.may(Role.FINANCE),
    )  # fmt: skip


@blueprint.post("/<connection>")
def decide(connection: str) -> ResponseReturnValue:
    """Tie a payout to a line, or take that back; the page that asked is shown again."""
    need(Role.FINANCE)
    own = desk.find_connection(connection)
    pair = Pair(own.name, desk.form_text("resource_id"), desk.form_text("doc_key"))
    is_undone = "undo" in request.form

    def act(session: Session, signed: Signature) -> None:
        if is_undone:
            # What another person tied meanwhile is not taken back with what this one saw.
            decisions.withdraw(session, pair, signed, seen=form_number("seen"))
        else:
            tie(session, pair, signed, today=desk.today())

    refused = take_decision(act)
    flash(
        refused or translate("done.withdraw" if is_undone else "done.tie", desk.language()),
        "alert" if refused else "done",
    )
    if request.form.get("back") == "payout":
        return redirect(url_for("payouts.show", payout_id=pair.resource_id, _anchor="bank"))
    return redirect(url_for("bank.show", connection=connection, movement_id=pair.doc_key))
