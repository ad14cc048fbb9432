"""What waits for a second person: asked for by a deed that was refused, approved, refused or withdrawn here."""

from datetime import date

from flask import Blueprint, abort, flash, redirect, url_for
from flask.typing import ResponseReturnValue

from consumer.facts import approvals
from consumer.facts.approvals import ApprovalError, ApprovalNeededError, Deed, State, Subject
from consumer.facts.messages import Message, RefusalError, translate
from consumer.facts.tables.approvals import ApprovalRequest
from reconcile.desk import decisions, payers
from reconcile.desk.decisions import Adjustment, Pair, Signature
from reconcile.desk.payers import RuleState
from reconcile.runs.ordered_closing import OrderState
from reconcile.tables.closing import ClosingOrder
from reports.access.people import Role
from reports.pages import closing, desk
from reports.pages.protection import need
from reports.pages.words import refusal
from reports.tables import User

blueprint = Blueprint("approvals", __name__, url_prefix="/approvals")


def ask_for(error: ApprovalNeededError) -> ResponseReturnValue:
    """Make the request for what the reader just tried, and show it among those that wait."""
    store, wish = desk.installation().store, error.wish
    number = approvals.ask(store, wish, _subject(), reason=desk.form_text("reason"), now=desk.now())
    desk.note("ask approval", f"{wish.connection} {wish.deed} {wish.subject}")
    return _show(Message("approvals.asked", {"number": number}), "done")


@blueprint.post("/<int(max=2147483647):number>/approve")
def approve(number: int) -> ResponseReturnValue:
    """Approve what another person asked for, and do it; a refund is sent from the terminal that asked."""
    row = _find(number)
    with desk.installation().store.transaction() as session:
        asker = session.get(User, row.asked_by) if row.asked_by is not None else None
        if asker is not None and (asker.disabled_at is not None or not Role(asker.role).may(Role.FINANCE)):
            raise ApprovalError("approvals.asker_gone", who=asker.email)
        row = approvals.approve(session, number, _subject(), now=desk.now())
    desk.note("approve", f"{row.connection} {row.deed} {row.subject}")
    if row.state == State.WAITING:
        return _show(Message("approvals.confirmed"), "done")
    return _carry_out(row)


@blueprint.post("/<int(max=2147483647):number>/do")
def carry_out(number: int) -> ResponseReturnValue:
    """Do what was approved and not yet done, where the answer to the approval was lost."""
    row = _find(number)
    if approvals.state_of(row, now=desk.now()) != State.APPROVED:
        raise ApprovalError("approvals.over")
    return _carry_out(row)


@blueprint.post("/<int(max=2147483647):number>/end")
def turn_down(number: int) -> ResponseReturnValue:
    """Withdraw one's own request, or refuse another person's."""
    _find(number)
    with desk.installation().store.transaction() as session:
        row = approvals.turn_down(session, number, _subject(), now=desk.now())
    desk.note("withdraw approval" if row.state == State.WITHDRAWN else "refuse approval",
              f"{row.connection} {row.deed} {row.subject}")  # fmt: skip
    return _show(Message("approvals.ended"), "done")


@blueprint.errorhandler(ApprovalError)
def _refuse(error: ApprovalError) -> ResponseReturnValue:
    return _show(error.message, "alert")


def _find(number: int) -> ApprovalRequest:
    """Return a request whose connection the reader may see; a reader who may not decide is refused."""
    need(Role.FINANCE)
    with desk.installation().store.reading() as session:
        row = session.get(ApprovalRequest, number) or abort(404)
    desk.find_connection(row.connection)
    return row


def _carry_out(row: ApprovalRequest) -> ResponseReturnValue:
    if row.deed == Deed.REFUND:
        return _show(Message("approvals.repeat"), "done")
    # The trail of the deed names both.
    signed = Signature(f"{row.who}, {row.second}", row.reason, desk.now())
    if row.deed == Deed.CLOSING:
        return _close(row, signed)
    try:
        (_accept_rule if row.deed == Deed.PAYERS else _accept)(row, signed)
    except (ApprovalNeededError, RefusalError) as error:
        with desk.installation().store.transaction() as session:
            approvals.make_stale(session, row.id or 0)
        return _show(error.message if isinstance(error, RefusalError) else Message("approvals.changed"), "alert")
    return _show(Message("approvals.done"), "done")


def _close(row: ApprovalRequest, signed: Signature) -> ResponseReturnValue:
    terms = approvals.terms_of(row)
    until, as_of = (date.fromisoformat(str(terms[name])) for name in ("until", "as_of"))
    wanted = ClosingOrder(
        connection=row.connection, until=until, as_of=as_of, reason=signed.reason, author=signed.author,
        request_id=row.id, ordered_at=signed.at, state=OrderState.ORDERED,
    )  # fmt: skip
    if not closing.start(desk.find_connection(row.connection), wanted):
        flash(translate("closing.runs_already", desk.language()), "alert")
    return redirect(url_for("closing.show", connection=row.connection))


def _accept_rule(row: ApprovalRequest, signed: Signature) -> None:
    settings = desk.installation().settings
    with desk.installation().store.transaction() as session:
        payers.decide(
            session, row.connection, int(row.subject), RuleState.ACCEPTED, signed, approvals=settings.approvals
        )


def _accept(row: ApprovalRequest, signed: Signature) -> None:
    terms, pair = approvals.terms_of(row), Pair(row.connection, doc_key=row.subject)
    amount = None if terms["amount"] is None else int(terms["amount"])
    with desk.installation().store.transaction() as session:
        decision = decisions.adjust(session, pair, signed, amount=amount, kind=Adjustment(str(terms["kind"])))
        decisions.use_approval(session, decision, desk.installation().settings.approvals)


def _subject() -> Subject:
    return Subject(desk.reader().name, desk.reader().person_id)


def _show(sentence: Message, category: str) -> ResponseReturnValue:
    said = refusal(sentence, desk.language()) if category == "alert" else translate(sentence, desk.language())
    flash(said, category)
    return redirect(url_for("books.index", name="approvals"))
