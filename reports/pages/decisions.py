"""Where people decide: the page of one exception, the page of one document, and how a form becomes a decision."""

from collections.abc import Callable
from contextlib import suppress
from datetime import date
from pathlib import Path

import sqlalchemy as sa
from flask import Blueprint, Response, abort, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlmodel import Session

from consumer.facts.alarms import tell_person
from consumer.facts.clock import local_date
from consumer.facts.messages import Message, translate
from consumer.facts.money import MoneyError, to_minor
from consumer.facts.uploads import LARGEST
from reconcile.books.intake import to_safe_name
from reconcile.desk import attachments, casework, decisions
from reconcile.desk.archive import FILES
from reconcile.desk.attachments import Given
from reconcile.desk.decisions import Adjustment, DecisionError, Pair, Signature
from reconcile.fiscal.families import find_family
from reconcile.tables.desk import ExceptionRow
from reports.access.owners import check_owner, find_owners
from reports.access.people import Role
from reports.pages import desk, matching, pending
from reports.pages.names import name_values
from reports.pages.protection import need
from reports.pages.words import refusal
from reports.queries import bookkeeping, cases
from reports.queries.asking import read_day
from reports.queries.dossiers import find_dossier
from reports.queries.query import calendars_of
from reports.shapes import notation

case = Blueprint("case", __name__, url_prefix="/exceptions")
documents = Blueprint("documents", __name__, url_prefix="/documents")


@case.get("/<connection>/<exception_id>", endpoint="show")
def show_case(connection: str, exception_id: str) -> ResponseReturnValue:
    own = desk.find_connection(connection)
    with desk.installation().store.reading() as session:
        runs = desk.runs_now(session, [own.name])
        wanted = desk.search()
        named = (
            cases.find_named(session, connection, wanted, amount=matching.read_amount(wanted, own)) if wanted else None
        )
        found = cases.find_case(session, runs, connection, exception_id, named)
        owners = find_owners(session, connection)
        mentions = casework.unseen(session, [connection], desk.reader().name)
    if found is None:
        abort(404)
    if any(one.exception_id == exception_id for one in mentions):
        _note_seen(connection, exception_id)
    as_of = max((run.as_of for run in runs), default=found.row.last_seen_on)
    calendar = calendars_of(desk.installation(), [own], runs)[connection]
    lines = pending.on_lines(found.lines, connection, resource_id=found.row.resource_id or "")
    payment = lines[0] if lines else None
    applied = cases.find_applied(lines)
    documents = pending.on_candidates(found.candidates, connection)
    candidates = [row for row in documents if row["doc_key"] not in applied and row["balance"]]
    return render_template(
        "case.html",
        case=found,
        payment=payment,
        candidates=candidates,
        applied=applied,
        left=cases.find_left(lines),
        later=pending.on_exceptions([found.row.model_dump()])[0],
        suggested="" if wanted else cases.suggest(payment, found.evidence, candidates),
        wanted=wanted,
        row=found.row,
        age=max(0, calendar.days_between(found.row.aged_from, found.row.resolved_on or as_of)),
        kinds=list(Adjustment),
        may_decide=desk.reader().role.may(Role.FINANCE),
        owners=owners,
    )


def _note_seen(connection: str, exception_id: str) -> None:
    """Note that the reader, who is named in a comment, has seen it; where no row is taken it stays unseen."""
    with suppress(sa.exc.OperationalError, sa.exc.InternalError), desk.installation().store.transaction() as session:
        casework.see(session, connection, exception_id, desk.reader().name, at=desk.now())


@case.get("/<connection>/<exception_id>/files/<int(max=2147483647):number>")
def download(connection: str, exception_id: str, number: int) -> ResponseReturnValue:
    """Send a file as it was kept, never for the browser to show."""
    desk.find_connection(connection)
    with desk.installation().store.reading() as session:
        row = attachments.find(session, connection, exception_id, number) or abort(404)
    try:
        content = attachments.find_file(desk.installation(), row).read_bytes()
        answer = Response(content, mimetype=attachments.find_attachment_type(row.name, content))
    except DecisionError as error:
        flash(refusal(error.message, desk.language()), "alert")
        return _back_to_case(connection, exception_id)
    answer.headers.set("Content-Disposition", "attachment", filename=row.name)
    return answer


@case.post("/<connection>/<exception_id>/files")
def attach(connection: str, exception_id: str) -> ResponseReturnValue:
    """Keep a file that the reader chose with an exception."""
    need(Role.FINANCE)
    desk.find_connection(connection)
    given = request.files.get("file")
    name = to_safe_name(Path((given.filename or "").replace("\\", "/")).name) if given else ""

    def act(session: Session, signed: Signature) -> None:
        if given is None or not given.filename:
            raise DecisionError("Choose a file first.")
        chosen = Given(name, given.read(LARGEST + 1), signed.author, signed.at)
        attachments.attach(session, desk.installation(), connection, exception_id, chosen)

    refused = take_decision(act, reason="a file")
    flash(refused or translate("done.attach", desk.language()), "alert" if refused else "done")
    return _back_to_case(connection, exception_id)


def _back_to_case(connection: str, exception_id: str) -> ResponseReturnValue:
    """Lead to the exception; the list that the reader came from stays behind the page."""
    back = request.args.get("list")
    return redirect(url_for("case.show", connection=connection, exception_id=exception_id, list=back))


@case.post("/<connection>/<exception_id>/detach")
def detach(connection: str, exception_id: str) -> ResponseReturnValue:
    """Take a file away that the reader added: its row first, and what no row names any more after the commit."""
    need(Role.FINANCE)
    desk.find_connection(connection)
    number, unused = form_number("number"), []

    def act(session: Session, signed: Signature) -> None:
        unused.append(attachments.detach(session, connection, exception_id, number, signed))

    refused = take_decision(act, reason="a file")
    if refused is None:
        FILES.drop_unused(desk.installation(), unused)
    flash(refused or translate("done.detach", desk.language()), "alert" if refused else "done")
    return _back_to_case(connection, exception_id)


@case.post("/<connection>/<exception_id>/<action>")
def decide(connection: str, exception_id: str, action: str) -> ResponseReturnValue:
    """Take one decision; refuse a stale or impossible one with the reason."""
    need(Role.FINANCE)
    desk.find_connection(connection)
    if action not in ACTIONS:
        abort(404)
    version = form_number("version") if action in EDITS else 0
    refused = decide_one(action, connection, exception_id, version=version)
    if refused is not None:
        # The page shows what another person changed meanwhile.
        return desk.refuse(refused, "case.show", connection=connection, exception_id=exception_id)
    flash(translate(f"done.{action}", desk.language()), "done")
    return _back_to_case(connection, exception_id)


def decide_one(action: str, connection: str, exception_id: str, *, version: int) -> str | None:
    """Take a decision in a transaction of its own, and return why it was refused."""

    def act(session: Session, signed: Signature) -> None:
        ACTIONS[action](session, connection, exception_id, signed, version)

    # Handing over and noting need no reason; a decision that moves money or closes work does.
    return take_decision(act, reason=f"{action} on the page" if action in _SELF_EXPLAINING else None)


def _assign(session: Session, connection: str, exception_id: str, signed: Signature, version: int) -> None:
    owner, row = desk.form_text("owner"), session.get(ExceptionRow, (connection, exception_id))
    check_owner(session, connection, owner, row.owner if row else "")
    decisions.assign(session, connection, exception_id, signed, owner=owner, version=version)


def _set_follow_up(session: Session, connection: str, exception_id: str, signed: Signature, version: int) -> None:
    on = to_follow_up(desk.form_text("follow_up_on"))
    decisions.set_follow_up(session, connection, exception_id, signed, on=on, version=version)


def _note(session: Session, connection: str, exception_id: str, signed: Signature, version: int) -> None:
    decisions.note(session, connection, exception_id, signed, text=desk.form_text("note"), version=version)


def _comment(session: Session, connection: str, exception_id: str, signed: Signature, _version: int) -> None:
    logins = [login for login, is_active in find_owners(session, connection).items() if is_active]
    said = Signature(signed.author, request.form.get("text", ""), signed.at)
    casework.comment(session, connection, exception_id, said, logins=logins)
    if desk.installation().settings.smtp_url is not None:
        _tell_named(session, connection, exception_id, said)


def _tell_named(session: Session, connection: str, exception_id: str, said: Signature) -> None:
    """Put a mail out for each person whom a comment names; what they wrote stays on the page."""
    row = session.get_one(ExceptionRow, (connection, exception_id))
    lines = [Message("casework.named_by", {"who": said.author}), Message(f"title.{row.code}")]
    path = url_for("case.show", connection=connection, exception_id=exception_id)
    for login in casework.find_named(session, connection, exception_id, at=said.at):
        if "@" in login:
            tell_person(session, login, lines, path, now=said.at)


def _resolve(session: Session, connection: str, exception_id: str, signed: Signature, version: int) -> None:
    on = find_day(session, connection, signed)
    decisions.resolve(session, connection, exception_id, signed, on=on, version=version)


def find_day(session: Session, connection: str, signed: Signature) -> date:
    """Return the day of the newest run, as the commands do: an age must not depend on where a person decided."""
    today = local_date(signed.at, desk.zone_of(connection))
    return max((run.as_of for run in desk.runs_now(session, [connection], today)), default=today)


def _reopen(session: Session, connection: str, exception_id: str, signed: Signature, version: int) -> None:
    decisions.reopen(session, connection, exception_id, signed, version=version)


Decide = Callable[..., object]


def _about_a_pair(take: Decide) -> Decide:
    """Make an action of a decision about a payment and a document, which the form names."""

    def act(session: Session, connection: str, _exception_id: str, signed: Signature, _version: int) -> None:
        take(session, _pair(connection), signed, seen=form_number("seen"))

    return act


def _match_several(session: Session, connection: str, _exception_id: str, signed: Signature, _version: int) -> None:
    matching.match_documents(session, connection, signed, form_number("seen"))


def _match_named(session: Session, connection: str, _exception_id: str, signed: Signature, _version: int) -> None:
    seen, doc_key = form_number("seen"), matching.find_document(session, connection, desk.form_text("doc_key"))
    decisions.match(session, Pair(connection, desk.form_text("resource_id"), doc_key), signed, seen=seen)


def _adjust(session: Session, connection: str, _exception_id: str, signed: Signature, _version: int) -> None:
    _adjust_pair(session, _pair(connection), signed)


def _pair(connection: str) -> Pair:
    return Pair(connection, desk.form_text("resource_id"), desk.form_text("doc_key"))


EDITS: dict[str, Decide] = {
    "assign": _assign,
    "due": _set_follow_up,
    "note": _note,
    "resolve": _resolve,
    "reopen": _reopen,
}
_SELF_EXPLAINING = ("assign", "comment", "due", "note")
ACTIONS: dict[str, Decide] = {
    **EDITS,
    "match": _match_named,
    "match-several": _match_several,
    "unmatch": _about_a_pair(decisions.unmatch),
    "decline": _about_a_pair(decisions.decline),
    "withdraw": _about_a_pair(decisions.withdraw),
    "adjust": _adjust,
    "comment": _comment,
}


@documents.get("/<connection>/<path:doc_key>", endpoint="show")
def show_document(connection: str, doc_key: str) -> ResponseReturnValue:
    with desk.installation().store.reading() as session:
        runs = desk.runs(session, [desk.find_connection(connection).name])
        dossier = find_dossier(session, runs, connection, doc_key)
        late = bookkeeping.find_late_facts(session, connection, "document", doc_key)
        result = pending.on_document(dossier.result, connection) if dossier else None
        balance = result["balance"] if result else 0
        payments = cases.find_payments(session, dossier.document, balance) if dossier and balance > 0 else []
        family = find_family(session, connection, doc_key) if dossier else None
    if dossier is None:
        abort(404)
    return render_template(
        "document.html",
        dossier=dossier,
        family=family,
        late=late,
        document=dossier.document,
        result=result,
        payments=payments,
        lines=pending.on_lines(dossier.lines, connection, doc_key=doc_key),
        exceptions=pending.on_exceptions(
            [*pending.list_opening(connection=connection, doc_key=doc_key), *dossier.exceptions]
        ),
        kinds=list(Adjustment),
        may_decide=desk.reader().role.may(Role.FINANCE) and desk.pinned_run() is None,
    )


@documents.post("/<connection>/match", endpoint="match")
def match_payments(connection: str) -> ResponseReturnValue:
    """Match the payments that were picked with one document."""
    need(Role.FINANCE)
    pair = Pair(desk.find_connection(connection).name, doc_key=desk.form_text("doc_key"))
    refused = take_decision(lambda session, signed: matching.match_payments(session, connection, signed))
    return desk.answer(
        refused, "done.match-several", "documents.show", connection=pair.connection, doc_key=pair.doc_key
    )


@documents.post("/<connection>", endpoint="withdraw")
def withdraw_from_document(connection: str) -> ResponseReturnValue:
    """Take back what was decided about a document, alone or with a payment."""
    need(Role.FINANCE)
    pair = Pair(desk.find_connection(connection).name, desk.form_text("resource_id"), desk.form_text("doc_key"))
    refused = take_decision(lambda session, signed: decisions.withdraw(session, pair, signed, seen=form_number("seen")))
    return _back_to_document(refused, "done.withdraw", pair)


@documents.post("/<connection>/<path:doc_key>", endpoint="adjust")
def adjust_document(connection: str, doc_key: str) -> ResponseReturnValue:
    """Accept what is left of a document, or part of it, as what the reader says it is."""
    need(Role.FINANCE)
    desk.find_connection(connection)
    pair = Pair(connection, doc_key=doc_key)
    refused = take_decision(lambda session, signed: _adjust_pair(session, pair, signed))
    return _back_to_document(refused, "done.adjust", pair)


def _back_to_document(refused: str | None, done: str, pair: Pair) -> ResponseReturnValue:
    return desk.answer(refused, done, "documents.show", connection=pair.connection, doc_key=pair.doc_key)


def take_decision(act: Callable[[Session, Signature], object], *, reason: str | None = None) -> str | None:
    """Take one decision, and return why it was refused; without a reason given the form must hold one."""
    signed = Signature(author=desk.reader().name, reason=desk.form_text("reason") or reason or "", at=desk.now())
    try:
        with desk.installation().store.transaction() as session:
            act(session, signed)
    except DecisionError as error:
        connection = (request.view_args or {}).get("connection", desk.home_connection().name)
        return refusal(name_values(error.message, connection), desk.language())
    return None


def _adjust_pair(session: Session, pair: Pair, signed: Signature) -> None:
    """Accept a difference of a kind; an empty amount accepts all that is left."""
    kind = matching.read_kind("kind")
    written = request.form.get("amount", "").strip()
    amount = _to_amount(written, decisions.currency_of(session, pair)) if written else None
    seen = form_number("seen")
    decision = decisions.adjust(session, pair, signed, amount=amount, kind=kind, seen=seen)
    decisions.use_approval(session, decision, desk.installation().settings.approvals)


def to_follow_up(text: str) -> date | None:
    """Read the day on which a person wants an exception done; empty for none."""
    found = read_day(text)
    if text and found is None:
        raise DecisionError("desk.bad_day", text=text)
    return found


def form_number(name: str) -> int:
    found = desk.whole_number(given := request.form.get(name, ""))
    if found is None:
        raise desk.BadQueryError("pages.bad_number", name=name, value=given[:20])
    return found


def _to_amount(written: str, currency: str) -> int:
    """Read an amount as the reader's country writes it."""
    try:
        return to_minor(notation.to_plain(written, desk.language()), currency)
    except (MoneyError, ValueError):
        raise DecisionError("{text} is not an amount in {currency}.", text=written, currency=currency) from None
