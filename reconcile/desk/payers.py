"""Payers' rules: proposed from decisions each night, accepted, rejected and revoked by people, and never by themselves.

The sole writer of these rules. What a person does carries a signature and, where given, the version that was looked at.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

import sqlalchemy as sa
from sqlmodel import Session, col, select

from consumer.facts.approvals import Deed, Terms, Wish, use
from consumer.facts.installation import Approvals, Installation
from consumer.facts.messages import Message
from consumer.facts.store import Turn, take_turn
from reconcile.desk.decisions import DecisionError, Signature, check_signature
from reconcile.desk.learning import Claim, Known, Verdict, add_up, is_contradicted, propose, weigh
from reconcile.kept import chunks, whole
from reconcile.kept.records import last_closed
from reconcile.kept.snapshots import SnapshotError
from reconcile.reading.payers import ACCEPTED
from reconcile.rules.inputs import PAYERS, empty_frame
from reconcile.rules.outcomes import Stage
from reconcile.rules.payers import BY_PATTERN
from reconcile.rules.terms import BPS, to_rules
from reconcile.tables.desk import Decision, PayerRule, PayerRuleChange
from reconcile.tables.runs import Run

PROGRAM = "cuadre"
_YEAR, _UNDONE_WITHIN = timedelta(days=366), timedelta(days=90)
_OWN_STAGES = {Stage.KEY, Stage.REFERENCE, Stage.CUSTOMER, Stage.SET, Stage.MANUAL}


class RuleState(StrEnum):
    PROPOSED = "proposed"
    ACCEPTED = ACCEPTED
    REJECTED = "rejected"
    REVOKED = "revoked"
    SENT_BACK = "sent_back"


# Which states a person may end by what.
_FROM = {
    RuleState.ACCEPTED: {RuleState.PROPOSED, RuleState.SENT_BACK, RuleState.REJECTED, RuleState.REVOKED},
    RuleState.REJECTED: {RuleState.PROPOSED, RuleState.SENT_BACK},
    RuleState.REVOKED: {RuleState.ACCEPTED},
}
_WEIGHED = (RuleState.PROPOSED, RuleState.ACCEPTED, RuleState.SENT_BACK)


@dataclass(frozen=True, slots=True)
class Learned:
    """What one look at the decisions came to."""

    proposed: Sequence[PayerRule] = ()
    sent_back: Sequence[PayerRule] = ()
    weighed: int = 0


def allowed_bps(chosen_rules: Mapping[str, object]) -> int:
    """Return how often a rule may be wrong, in hundredths of a percent."""
    return to_rules(chosen_rules).payer_error_bps


def find(session: Session, connection: str, number: int) -> PayerRule:
    row = session.get(PayerRule, number)
    if row is None or row.connection != connection:
        raise DecisionError("payers.unknown", number=number, connection=connection)
    return row


def name_rule(row: PayerRule) -> Message:
    return Message(f"payers.{row.kind}", {"subject": row.subject, "object": row.object})


def may_become(row: PayerRule, state: RuleState) -> bool:
    return row.state in _FROM[state]


def list_to_decide(session: Session, connections: Sequence[str]) -> Sequence[PayerRule]:
    """Return the rules that wait for a person: those sent back, then proposals, the best proved first."""
    mine = (col(PayerRule.connection).in_(connections),
            col(PayerRule.state).in_([RuleState.SENT_BACK, RuleState.PROPOSED]))  # fmt: skip
    order = (col(PayerRule.state).desc(), col(PayerRule.bound_bps), col(PayerRule.id))
    return session.scalars(sa.select(PayerRule).where(*mine).order_by(*order)).all()


def history(session: Session, number: int) -> list[PayerRuleChange]:
    """Return what happened to a rule, oldest first."""
    mine = select(PayerRuleChange).where(PayerRuleChange.rule_id == number)
    return list(session.exec(mine.order_by(col(PayerRuleChange.id))))


def decide(  # noqa: PLR0913 - what a decision is: which rule, what, by whom, on what was seen, and who else has to agree
    session: Session, connection: str, number: int, to: RuleState, signed: Signature, *,
    approvals: Approvals, version: int | None = None,
) -> PayerRule:  # fmt: skip
    """Accept, reject or revoke a rule as the person saw it; accepting asks for a second person where that is set."""
    check_signature(signed)
    row = find(session, connection, number)
    if version is not None and row.version != version:
        raise DecisionError("payers.changed_since_seen", number=number)
    if row.state not in _FROM[to]:
        raise DecisionError("payers.not_now", number=number, state=Message(f"payer_state.{row.state}"))
    _move(session, row, to, signed)
    if to == RuleState.ACCEPTED and approvals.payers:
        terms: Terms = {"number": number, "kind": row.kind, "subject": row.subject, "object": row.object}
        words = Message("approvals.payers", {"number": number, "subject": row.subject, "object": row.object})
        wish = Wish(Deed.PAYERS, connection, str(number), terms, words, str(row.version - 1))
        use(session, wish, now=signed.at)
    return row


def _move(session: Session, row: PayerRule, to: RuleState, signed: Signature) -> None:
    """Change the state once, and remember it with where the closed days end now."""
    take_turn(session, Turn.PERIODS)
    before = row.state
    mine = (col(PayerRule.id) == row.id, col(PayerRule.version) == row.version, col(PayerRule.state) == before)
    changes = {"state": str(to), "version": row.version + 1, "right_since": 0, "wrong_since": 0}
    moved = session.execute(sa.update(PayerRule).where(*mine).values(**changes).returning(col(PayerRule.id))).first()
    if moved is None:
        raise DecisionError("payers.changed_since_seen", number=row.id or 0)
    session.add(_to_change(session, row, before, to, signed))
    session.flush()
    session.refresh(row)


def _to_change(session: Session, row: PayerRule, before: str, to: RuleState, signed: Signature) -> PayerRuleChange:
    period = last_closed(session, row.connection)
    return PayerRuleChange(
        connection=row.connection, rule_id=row.id or 0, at=signed.at, author=signed.author.strip(),
        reason=signed.reason.strip(), before=before, after=str(to), closed_until=period.ends_at if period else None,
    )  # fmt: skip


def learn(installation: Installation, connection: str, run: Run | None, *, error_bps: int, now: datetime) -> Learned:
    """Look at what people decided and what the newest run says.

    1. Propose what several of their matches have in common and no rule says yet.
    2. Weigh every rule but rejected and revoked ones against the payments of a year.
    3. Send an accepted one back to the proposals where what came since proves more errors than the setting allows.
    """
    with installation.store.reading() as session:
        if run is None or not _has_work(session, connection):
            return Learned()
        known = _read_known(session, run)
    try:
        whole.bring(installation, run)
        with installation.store.reading() as session:
            inputs = whole.read(session, installation.settings.files_dir, run).inputs
    except SnapshotError:
        return Learned()
    found = list(propose(inputs))
    with installation.store.transaction() as session:
        take_turn(session, Turn.PERIODS)
        proposed = [_add(session, connection, claim, now) for claim in _list_new(session, connection, found)]
        rules = _list_weighed(session, connection)
        claims = {number: Claim(row.kind, row.subject, row.object) for number, row in rules.items()}
    # Weighing may take as long as a run does, and no one else waits for it.
    verdicts = weigh(replace(inputs, payers=empty_frame(PAYERS)), claims, known, since=now - _YEAR)
    with installation.store.transaction() as session:
        take_turn(session, Turn.PERIODS)
        rules = {number: row for number, row in _list_weighed(session, connection).items() if number in claims}
        proposed = [rules[row.id or 0] for row in proposed if row.id in rules]
        back = [row for row in rules.values() if _note(session, row, verdicts, error_bps, now)]
        for row in (*proposed, *back):
            session.refresh(row)
            session.expunge(row)
        return Learned(proposed, back, len(rules))


def _has_work(session: Session, connection: str) -> bool:
    matches = (col(Decision.connection) == connection, col(Decision.kind) == "match", col(Decision.doc_key) != "")
    asked = (sa.select(col(Decision.id)).where(*matches), sa.select(col(PayerRule.id)).where(
        col(PayerRule.connection) == connection))  # fmt: skip
    return any(session.scalar(one.limit(1)) is not None for one in asked)


def list_rules(session: Session, connection: str) -> list[PayerRule]:
    """Return the rules of a connection, the best proved first."""
    mine = select(PayerRule).where(PayerRule.connection == connection)
    return list(session.exec(mine.order_by(col(PayerRule.bound_bps), col(PayerRule.id))))


def _list_weighed(session: Session, connection: str) -> dict[int, PayerRule]:
    return {row.id or 0: row for row in list_rules(session, connection) if row.state in _WEIGHED}


def _list_new(session: Session, connection: str, found: Iterable[Claim]) -> list[Claim]:
    known = {Claim(row.kind, row.subject, row.object) for row in list_rules(session, connection)}
    return [claim for claim in found if claim not in known]


def _add(session: Session, connection: str, claim: Claim, now: datetime) -> PayerRule:
    row = PayerRule(
        connection=connection, kind=claim.kind, subject=claim.subject, object=claim.object, state=RuleState.PROPOSED,
        weighed_at=now,
    )  # fmt: skip
    session.add(row)
    session.flush()
    signed = Signature(PROGRAM, Message("payers.from_decisions").to_text(), now)
    session.add(_to_change(session, row, "", RuleState.PROPOSED, signed))
    return row


def _note(session: Session, row: PayerRule, verdicts: Sequence[Verdict], error_bps: int, now: datetime) -> bool:
    """Keep what was found; return True if an accepted rule went back to the proposals."""
    year = add_up(verdicts, row.id or 0)
    row.right_count, row.wrong_count, row.open_count, row.weighed_at = year.right, year.wrong, year.open, now
    row.bound_bps = year.bound_bps(error_bps)
    if row.state != RuleState.ACCEPTED:
        session.flush()
        return False
    accepted = max(change.at for change in history(session, row.id or 0) if change.after == RuleState.ACCEPTED)
    since = add_up(verdicts, row.id or 0, accepted)
    row.right_since, row.wrong_since = since.right, since.wrong
    session.flush()
    if not is_contradicted(since.wrong, since.right, error_bps / BPS):
        return False
    said = Message("payers.contradicted", {"wrong": since.wrong, "count": since.wrong + since.right})
    _move(session, row, RuleState.SENT_BACK, Signature(PROGRAM, said.to_text(), now))
    return True


def _read_known(session: Session, run: Run) -> Known:
    names = ["resource_id", "doc_key", "match_stage", "match_rule"]
    lines = (row for table in chunks.tables(session, run, chunks.LINE, names=names) for row in table.to_pylist())
    paid: dict[str, set[str]] = defaultdict(set)
    for line in lines:
        # A rule is no witness of itself.
        if line["doc_key"] and line["match_stage"] in _OWN_STAGES and BY_PATTERN not in line["match_rule"]:
            paid[line["resource_id"]].add(line["doc_key"])
    decisions = session.exec(select(Decision).where(Decision.connection == run.connection)).all()
    refused, spoke_at = _list_refused(decisions)
    return Known({payment: frozenset(docs) for payment, docs in paid.items()}, refused, spoke_at)


def _list_refused(decisions: Iterable[Decision]) -> tuple[frozenset[tuple[str, str]], Mapping[str, datetime]]:
    """Return pairs that people refused, or took back within 90 days, and when they last spoke of each payment."""
    rows = {row.id: row for row in decisions}
    refused, spoke_at = set[tuple[str, str]](), dict[str, datetime]()
    for row in rows.values():
        spoke_at[row.resource_id] = max(row.at, spoke_at.get(row.resource_id, row.at))
        if row.undone_by is None and row.kind != "match":
            refused.add((row.resource_id, row.doc_key))
        ended = rows.get(row.undone_by) if row.undone_by != row.id else None
        if row.kind == "match" and ended is not None and ended.at - row.at <= _UNDONE_WITHIN and ended.kind != "match":
            refused.add((row.resource_id, row.doc_key))
    return frozenset(refused), spoke_at
