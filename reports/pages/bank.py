"""The bank: what came into the accounts payouts go to, what each line pays, and the tie by hand."""

from dataclasses import replace

from flask import Blueprint, abort, render_template, request
from flask.typing import ResponseReturnValue
from sqlmodel import Session

from consumer.facts.columns import to_columns
from reconcile.desk import decisions
from reconcile.desk.decisions import Pair, Signature
from reconcile.desk.ties import find_ties, share_of, tie
from reconcile.kept import chunks
from reports.access.people import Role
from reports.making import catalogue
from reports.making.catalogue import NoRunError
from reports.making.columnar import Selection
from reports.pages import desk, lists, pending, views
from reports.pages.decisions import form_number, take_decision
from reports.pages.protection import need
from reports.queries import bank, standing
from reports.queries.asking import Condition
from reports.shapes import build
from reports.shapes.build import Report
from reports.shapes.definitions import definition_of

LIST = "bank-lines"
OF_BANK = frozenset({"state", "account", "from", "to"})
STATES = ("unexplained", "explained")
_DAY, _ACCOUNT, _PAYOUT = to_columns("bank_day account_last4 payout_id")
blueprint = Blueprint("bank", __name__, url_prefix="/bank")


@blueprint.get("")
def index() -> ResponseReturnValue:
    asked = lists.read(LIST, definition_of(LIST).columns, OF_BANK)
    try:
        later = find_shown(is_pending=True)
    except NoRunError:
        return render_template("bank.html", runs=())
    with desk.installation().store.reading() as session:
        runs = desk.runs(session, desk.names())
        drawn = lists.draw_report(
            later, asked, mark=lambda rows: bank.complete_rows(session, runs, rows, pending.on_bank())
        )
        # An earlier version published no lines of the bank.
        lacking = [run for run in runs if not chunks.is_kept(session, run, chunks.BANK)]
    whole = later.report.table
    # What came in is that of the account and the days, whichever of its lines are listed.
    every = _select(later.report, "") if desk.choice("state", STATES) else later
    sums, unexplained = bank.add_up(whole.take(every.places))
    return render_template(
        "bank.html", drawn=drawn, sums=sums, unexplained=unexplained, states=STATES, runs=runs, lacking=lacking,
        accounts=sorted(name for name in whole["account_last4"].unique().to_pylist() if name),
        state=desk.choice("state", STATES), account=desk.short_text("account"), span=desk.span(),
        box=lists.box(OF_BANK),
    )  # fmt: skip


def find_shown(*, is_pending: bool = False) -> Selection:
    """Find the lines that are asked for, newest first, as the newest runs say or with what waits for the next ones."""
    asked, state = lists.read(LIST, definition_of(LIST).columns, OF_BANK), desk.choice("state", STATES)
    query = views.query(LIST)
    with desk.installation().store.reading() as session:
        source = catalogue.source_of(desk.installation(), session, query)
        parts = bank.bank_tables(
            session, source.runs, query.span, pending.on_bank() if is_pending else {},
            is_complete=not is_pending or bank.is_completed_by(asked),
        )  # fmt: skip
        table = build.in_parts(definition_of(LIST), parts)
        facts = catalogue.facts_of(query, source.runs)
    return _select(Report(definition_of(LIST), table, query.span, source.as_of, facts=facts), state)


def _select(report: Report, state: str) -> Selection:
    """Filter lines, newest first, to those in a state that are asked for, or in any."""
    asked = lists.read(LIST, definition_of(LIST).columns, OF_BANK)
    if state:
        asked = asked.where(Condition(_PAYOUT, is_empty=True, is_negated=state == "explained"))
    if account := desk.short_text("account"):
        asked = asked.where(Condition(_ACCOUNT, (account,), is_whole=True))
    if asked.sort is None:
        asked = replace(asked, sort=_DAY, is_descending=True)
    return views.select(report, asked)


@blueprint.get("/<connection>/<path:movement_id>")
def show(connection: str, movement_id: str) -> ResponseReturnValue:
    """Show one line with the payouts it may have brought."""
    own = desk.find_connection(connection)
    with desk.installation().store.reading() as session:
        runs = desk.runs_now(session, [own.name])
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

    refused, done = take_decision(act), "done.withdraw" if is_undone else "done.tie"
    if request.form.get("back") == "payout":
        return desk.answer(refused, done, "payouts.show", "bank", payout_id=pair.resource_id)
    return desk.answer(refused, done, "bank.show", connection=own.name, movement_id=pair.doc_key)
