"""The bank: what came into the accounts payouts go to, what each line pays, and the tie by hand."""

from flask import Blueprint, abort, render_template
from flask.typing import ResponseReturnValue

from reconcile.kept import chunks
from reports import bank, standing
from reports.bank import STATES, LineFilter
from reports.pages import desk
from reports.people import Role

blueprint = Blueprint("bank", __name__, url_prefix="/bank")


@blueprint.get("")
def index() -> ResponseReturnValue:
    asked = LineFilter(desk.choice("state", STATES), desk.short_text("account"), desk.search(), desk.span())
    with desk.installation().store.reading() as session:
        runs = standing.runs_now(session, desk.names(), desk.today())
        found = bank.find_lines(session, runs, asked, desk.page_number())
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
        line = bank.find_line(session, runs[0], movement_id) if runs else None
        if line is None:
            abort(404)
        payouts = standing.find_payouts(session, runs, {line["payout_id"]} if line["payout_id"] else set())
        candidates = [] if line["payout_id"] else bank.find_candidates(session, runs[0], line)
    return render_template(
        "bank_line.html", line=line, payout=payouts.get(line["payout_id"]), candidates=candidates, run=runs[0],
        may_decide=desk.reader().role.may(Role.FINANCE),
    )  # fmt: skip
