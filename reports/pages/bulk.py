"""Many exceptions at once: what will happen is said first, then each is decided on its own, with names and sums."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from flask import Blueprint, abort, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlmodel import Session

from consumer.facts.messages import Message, translate
from consumer.facts.store import batches
from reconcile.desk import decisions
from reconcile.desk.decisions import DecisionError, Pair, Signature
from reconcile.rules.at_risk import Stake, add_up_risks
from reconcile.tables.desk import ExceptionRow
from reports.access.owners import check_owner
from reports.access.people import Role
from reports.pages import desk, exceptions, staging
from reports.pages.decisions import find_day, to_follow_up
from reports.pages.desk import BadQueryError
from reports.pages.exceptions import show_outcome
from reports.pages.protection import need
from reports.pages.words import refusal
from reports.queries import standing
from reports.queries.asking import AskedError
from reports.queries.cases import to_evidence
from reports.shapes.spans import Row

blueprint = Blueprint("bulk", __name__, url_prefix="/exceptions")

ACTIONS = ("assign", "due", "note", "resolve", "suggestion")
# What each action takes from the form, and whether it may be left empty.
_FIELDS = {"assign": "owner", "due": "follow_up_on", "note": "note", "resolve": "reason", "suggestion": "reason"}
MOST = 2_000
_A_TRANSACTION = 100


@dataclass(frozen=True, slots=True)
class Pick:
    """One chosen exception as the person saw it."""

    connection: str
    id: str
    version: int


@blueprint.post("/bulk")
def plan() -> ResponseReturnValue:
    """Say what would happen with each chosen exception, and which are left out and why; nothing is decided yet."""
    need(Role.FINANCE)
    action = request.form.get("action", "")
    if action not in ACTIONS:
        raise BadQueryError("pages.not_one_of", name="action", value=action, known=", ".join(ACTIONS))
    value = desk.form_text(_FIELDS[action])
    try:
        with desk.installation().store.reading() as session:
            picks = _find_matching(session) if request.form.get("every") else _read_picks() + _read_again(session)
            _check_form(session, action, value, picks)
            rows = [_look(session, action, value, pick) for pick in picks]
    except DecisionError as error:
        return desk.refuse(refusal(error.message, desk.language()), "exceptions.index")
    content = {"template": "plan.html", "action": action, "value": value, "rows": rows, "back": request.referrer or ""}
    return show_outcome(content)


def _read_picks() -> list[Pick]:
    picks = []
    visible = {own.name for own in desk.visible_connections()}
    for text in dict.fromkeys(request.form.getlist("pick")):
        connection, _, rest = text.partition("/")
        identity, _, version = rest.partition("/")
        seen = desk.whole_number(version)
        if connection not in visible or seen is None:
            raise BadQueryError("pages.no_exception_of_list", value=text[:100])
        picks.append(Pick(connection, identity, seen))
    return picks[:MOST]


def _read_again(session: Session) -> list[Pick]:
    """Return what failed and is chosen once more, as it is now: the page said why it failed."""
    picks, visible = [], {own.name for own in desk.visible_connections()}
    for text in request.form.getlist("again")[:MOST]:
        connection, _, identity = text.partition("/")
        row = session.get(ExceptionRow, (connection, identity)) if connection in visible else None
        if row is not None:
            picks.append(Pick(connection, identity, row.version))
    return picks


def _find_matching(session: Session) -> list[Pick]:
    """Find everything that the list's filter, which is in the form's address, shows on all its pages."""
    asked, wanted = exceptions.read()
    try:
        found = standing.find_versions(session, standing.work_list(asked), wanted, most=MOST + 1)
    except AskedError as error:
        raise BadQueryError(error.message) from None
    if len(found) > MOST:
        raise DecisionError("bulk.too_many", most=MOST)
    return [Pick(*row) for row in found]


def _check_form(session: Session, action: str, value: str, picks: Sequence[Pick]) -> None:
    """Refuse a form without a choice, or with a value that no chosen exception could take."""
    if not picks:
        raise DecisionError("bulk.none_chosen")
    if action in {"resolve", "suggestion", "note"} and not value:
        raise DecisionError("desk.needs_reason" if action != "note" else "bulk.no_note")
    if action == "due":
        to_follow_up(value)
    if action == "assign":
        for connection in {pick.connection for pick in picks}:
            check_owner(session, connection, value)


def _look(session: Session, action: str, value: str, pick: Pick) -> Row:
    """Describe one exception, and why it is left out; None where it is not."""
    row = session.get(ExceptionRow, (pick.connection, pick.id))
    if row is None:
        gone = Message("desk.no_exception", {"exception": pick.id, "connection": pick.connection})
        return {"connection": pick.connection, "id": pick.id, "version": pick.version, "why": _say(gone), "code": ""}
    why = _find_obstacle(action, value, row, pick.version)
    shown = ("code", "subject", "amount_at_risk", "currency", "payout_id", "resource_id", "doc_key", "customer_name")
    suggestion = find_suggestion(row) if action == "suggestion" else None
    return {name: getattr(row, name) for name in shown} | {
        "connection": pick.connection, "id": pick.id, "version": pick.version, "why": why and _say(why),
        "suggestion": suggestion,
    }  # fmt: skip


def _find_obstacle(action: str, value: str, row: ExceptionRow, version: int) -> Message | None:
    if row.version != version:
        return Message("desk.changed_since_seen", {"exception": row.id, "version": row.version, "seen": version})
    if action == "resolve" and row.resolved_on is not None:
        return Message("desk.resolved_already", {"exception": row.id, "resolution": row.resolution})
    if action == "suggestion" and find_suggestion(row) is None:
        return Message("bulk.no_suggestion")
    now = {"assign": row.owner, "due": str(row.follow_up_on or ""), "note": row.note}.get(action)
    return Message("bulk.same_already") if now == value else None


def find_suggestion(row: ExceptionRow) -> str | None:
    """Return the one document that the run suggested for the payment of an open exception."""
    found = to_evidence(row.evidence).get("suggestion")
    return found if isinstance(found, str) and row.resource_id and row.resolved_on is None else None


def _say(message: Message) -> str:
    return refusal(message, desk.language())


@blueprint.post("/bulk/<key>")
def act(key: str) -> ResponseReturnValue:
    """Do what was said, each exception on its own; what cannot be done stays chosen on the page of outcomes."""
    need(Role.FINANCE)
    found = staging.find(desk.installation(), staging.OUTCOMES, key, who=desk.reader().name)
    if found is None or found.content["template"] != "plan.html":
        flash(translate("bulk.gone", desk.language()), "alert")
        return redirect(url_for("exceptions.index"))
    # A second click finds no plan.
    staging.drop(desk.installation(), found)
    plan = found.content
    chosen = [row for row in plan["rows"] if row["why"] is None]
    refused: dict[tuple[str, str], str] = {}
    reason = plan["value"] if _FIELDS[plan["action"]] == "reason" else "in bulk"
    signed = Signature(desk.reader().name, reason, desk.now())
    for some in batches(chosen, _A_TRANSACTION):
        refused |= _act_on(some, plan, signed)
    rows = [{**row, "why": refused.get((row["connection"], row["id"]))} for row in chosen]
    desk.note("bulk", f"{plan['action']} {len(rows) - len(refused)} of {len(rows)} exceptions")
    return show_outcome({**plan, "template": "bulk.html", "rows": rows})


def _act_on(rows: Sequence[Row], plan: Row, signed: Signature) -> Mapping[tuple[str, str], str]:
    """Decide about some exceptions in one transaction, each undone alone where it is refused."""
    refused = {}
    with desk.installation().store.transaction() as session:
        days = {row["connection"]: find_day(session, row["connection"], signed) for row in rows}
        for row in rows:
            try:
                with session.begin_nested():
                    _act(session, row, plan, signed, on=days[row["connection"]])
            except DecisionError as error:
                refused[row["connection"], row["id"]] = _say(error.message)
    return refused


def _act(session: Session, row: Row, plan: Row, signed: Signature, *, on: date) -> None:
    key, version, value = (session, row["connection"], row["id"], signed), row["version"], plan["value"]
    match plan["action"]:
        case "assign":
            decisions.assign(*key, owner=value, version=version)
        case "due":
            decisions.set_follow_up(*key, on=to_follow_up(value), version=version)
        case "note":
            decisions.note(*key, text=value, version=version)
        case "resolve":
            decisions.resolve(*key, on=on, version=version)
        case _:
            decisions.check_version(*key[:3], version=version)
            decisions.match(session, Pair(row["connection"], row["resource_id"], row["suggestion"]), signed)


def add_up(rows: Sequence[Row]) -> dict[str, int]:
    """Add up what is at risk in rows of a plan by currency, each peso once."""
    known = [row for row in rows if row["code"]]
    sums: dict[str, int] = {}
    for own in {row["connection"] for row in known}:
        stakes = [Stake(*(row[name] for name in Stake._fields)) for row in known if row["connection"] == own]
        for currency, total in add_up_risks(stakes).items():
            sums[currency] = sums.get(currency, 0) + total.amount
    return dict(sorted(sums.items()))


@blueprint.get("/outcome/<key>")
def outcome(key: str) -> ResponseReturnValue:
    """Show a plan, or what became of each exception that one form was about."""
    found = staging.find(desk.installation(), staging.OUTCOMES, key, who=desk.reader().name)
    if found is None:
        abort(404)
    content = found.content
    if content["template"] == "sheet.html":
        return render_template("sheet.html", **content)
    done, left = ([row for row in content["rows"] if bool(row["why"]) is is_left] for is_left in (False, True))
    return render_template(content["template"], key=key, **content, done=done, left=left, sums=add_up(done))
