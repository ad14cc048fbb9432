"""What decisions taken since the last run will change: its own inputs with them, by its own rules, in memory.

Accepting or ending a rule about payers is such a decision.

A payment's rivals may be anywhere in the books of its connection, by name, amount, customer or numbering, so the whole
connection is the scope. Nothing is stored: what is remembered of an answer is found anew by any other process.
"""

import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from threading import Lock

import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa
from pandas import DataFrame
from sqlmodel import Session, col

from consumer.facts.installation import Connection, Installation
from consumer.facts.store import Row
from reconcile.exceptions.life import (
    OPENED,
    Columns,
    Merge,
    Seen,
    build_opened_rows,
    build_opening_values,
    by_identity,
)
from reconcile.kept import chunks, extracts, snapshots, whole
from reconcile.kept.records import read_summary
from reconcile.kept.snapshots import Scope, SnapshotError
from reconcile.reading.frames import read_decisions
from reconcile.reading.payers import ACCEPTED, read_payers
from reconcile.rules.inputs import Finding, Result
from reconcile.rules.pipeline import UnbalancedError
from reconcile.runs import comparison
from reconcile.runs.comparison import Change
from reconcile.runs.publication import to_json
from reconcile.runs.run import RunOutcome, is_published, judge, merge_exceptions, to_outcome
from reconcile.tables.desk import Decision, PayerRuleChange
from reconcile.tables.runs import Run

# Items and documents that are reconciled within about two seconds; beyond, only the decisions themselves are named.
MOST_ROWS = 120_000
_REMEMBERED = 8
# A decision is signed a little before it is there for a run to read.
_UNCERTAIN = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Pending:
    """The decisions and what became of payers' rules since a run, and if that is known what the next one will say.

    `lines` are all rows of an item, `changed` and `opened` are exceptions by id, `at_risk` is the total by currency,
    `bank` the payouts of lines of the bank that bring another one, or none.
    """

    run: Run
    decisions: Sequence[Decision]
    is_known: bool = False
    changes: Sequence[Change] = ()
    documents: Mapping[str, Row] = field(default_factory=dict)
    lines: Mapping[str, Sequence[Row]] = field(default_factory=dict)
    payouts: Mapping[str, Row] = field(default_factory=dict)
    opened: Mapping[str, Finding] = field(default_factory=dict)
    changed: Mapping[str, Columns] = field(default_factory=dict)
    at_risk: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    bank: Mapping[str, str | None] = field(default_factory=dict)
    rules: Sequence[PayerRuleChange] = ()

    def list_opening(self) -> list[Row]:
        """Return what will open as rows of the work list, as a run of the same day writes them."""
        seen = Seen(self.run.connection, self.run.id, self.run.as_of, self.run.started_at, complete=True, found={})
        values = build_opening_values(seen)
        return [values | dict(zip(OPENED, row, strict=True)) for row in build_opened_rows(Merge(dict(self.opened)))]

    @property
    def signed(self) -> list[Decision | PayerRuleChange]:
        """Return all that people did since the run, oldest first."""
        return sorted([*self.decisions, *self.rules], key=lambda one: one.at)


@dataclass(frozen=True, slots=True)
class _Judged:
    """What the rules say, without the rows that stay as they were published, and without what becomes of exceptions."""

    outcome: RunOutcome
    found: Mapping[str, Finding]
    pending: Pending


_judged: "OrderedDict[tuple[str, str, tuple[int, ...], str], _Judged | None]" = OrderedDict()
_one_at_a_time = Lock()


def find_pending(
    session: Session, installation: Installation, connection: Connection, run: Run, *, now: datetime
) -> Pending | None:
    """Return what waits for the next run; None if every decision that holds is in this one."""
    since = run.started_at - _UNCERTAIN
    rules = _list_rules(session, connection.name, since)
    newest = sa.select(sa.func.max(col(Decision.at))).where(col(Decision.connection) == connection.name)
    last: datetime | None = session.scalar(newest)
    if (not rules and (last is None or last < since)) or not is_published(run):
        return None
    try:
        snapshots.bring(installation, run.connection, run.id)
        kept, of_payers = (
            snapshots.read_frame(installation.settings.files_dir, run.connection, run.id, name)
            for name in ("decisions", "payers")
        )
    except SnapshotError:
        mine = (col(Decision.connection) == run.connection, col(Decision.at) > run.finished_at)
        later = session.scalars(sa.select(Decision).where(*mine).order_by(col(Decision.id))).all()
        return Pending(run, later) if later else None
    decisions = read_decisions(session, connection)
    waiting = _list_waiting(session, connection.name, kept, decisions)
    payers = read_payers(session.connection(), connection.name)
    if payers.equals(of_payers):
        rules = []
    if not waiting and not rules:
        return None
    with _one_at_a_time:
        key = (run.connection, run.id, tuple(decisions["decision_id"].tolist()), snapshots.digest_of(payers))
        if key not in _judged:
            _judged[key] = _judge(session, installation, run, decisions, payers)
            while len(_judged) > _REMEMBERED:
                _judged.popitem(last=False)
        judged = _judged[key]
    if judged is None:
        return Pending(run, waiting, rules=rules)
    listed = merge_exceptions(session, Scope(), judged.outcome, judged.found, at=now)
    pending = replace(judged.pending, run=run, decisions=waiting, rules=rules, at_risk=listed.at_risk)
    if listed.merged is None:
        return pending
    return replace(pending, opened=listed.merged.opened, changed=listed.merged.changed)


def count_waiting(
    session: Session, installation: Installation, connection: Connection, run: Run | None, *, now: datetime
) -> int:
    """Count what people did that the next run will apply; what was undone before any run knew it is nothing."""
    if run is None:
        return len(read_decisions(session, connection))
    waiting = find_pending(session, installation, connection, run, now=now)
    return len(waiting.signed) if waiting is not None else 0


def _list_rules(session: Session, connection: str, since: datetime) -> list[PayerRuleChange]:
    """Return where rules about payers were accepted or ended since."""
    change = PayerRuleChange
    is_deed = sa.or_(col(change.before) == ACCEPTED, col(change.after) == ACCEPTED)
    mine = (col(change.connection) == connection, col(change.at) >= since, is_deed)
    return list(session.scalars(sa.select(change).where(*mine).order_by(col(change.id))))


def _list_waiting(session: Session, connection: str, kept: DataFrame, holding: DataFrame) -> list[Decision]:
    """Return the decisions that came since, and those that undid one which the run knew."""
    known, held = (set(map(int, frame["decision_id"])) for frame in (kept, holding))
    undone = sa.select(col(Decision.undone_by)).where(
        col(Decision.connection) == connection, col(Decision.id).in_(known - held)
    )
    ids = (held - known) | {one for one in session.scalars(undone) if one is not None}
    asked = sa.select(Decision).where(col(Decision.id).in_(ids)).order_by(col(Decision.id))
    return list(session.scalars(asked)) if ids else []


def _judge(
    session: Session, installation: Installation, run: Run, decisions: DataFrame, payers: DataFrame
) -> _Judged | None:
    """Apply the rules to the run's inputs with other decisions; None if that takes too long or cannot be."""
    summary = read_summary(run)
    if summary["items"] + summary["documents"] > MOST_ROWS:
        return None
    try:
        whole.bring(installation, run)
        snapshot = whole.read(session, installation.settings.files_dir, run)
        if not snapshot.scope.is_everything:
            return None
        snapshot = replace(snapshot, inputs=replace(snapshot.inputs, decisions=decisions, payers=payers))
        result = judge(snapshot)
    except (SnapshotError, UnbalancedError):
        return None
    found = by_identity(run.connection, result.findings)
    changes = comparison.compare_with(session, run, result, found)
    subjects = {(change.kind, change.subject.partition("@")[0]) for change in changes}
    documents, lines = (pa.Table.from_pandas(frame, preserve_index=False) for frame in (result.documents, result.lines))
    lines = _filter(lines, "resource_id", {name for kind, name in subjects if kind == "item"})
    by_item: dict[str, list[Row]] = {}
    for row in chunks.to_rows(lines):
        by_item.setdefault(row["resource_id"], []).append(row)
    of_documents = _filter(documents, "doc_key", {name for kind, name in subjects if kind == "document"})
    bank, untied = _compare_bank(session, run, result)
    touched = {name for kind, name in subjects if kind == "payout"} | set(lines["payout_id"].drop_null().to_pylist())
    touched |= untied.union(name for name in bank.values() if name)
    payouts = result.payouts[result.payouts["payout_id"].isin(touched)]
    pending = Pending(
        run, (), True, changes, {row["doc_key"]: row for row in chunks.to_rows(of_documents)}, by_item,
        dict(zip(payouts["payout_id"].tolist(), map(json.loads, to_json(payouts)), strict=True)), bank=bank,
    )  # fmt: skip
    return _Judged(replace(to_outcome(snapshot, result), result=_without_rows(result)), found, pending)


def _compare_bank(session: Session, run: Run, result: Result) -> tuple[dict[str, str | None], set[str]]:
    """Return the lines that will bring another payout than in the run, and the payouts they brought there."""
    before, after = (
        dict(zip(table["movement_id"].to_pylist(), table["payout_id"].to_pylist(), strict=True))
        for table in (
            extracts.read(session, run, chunks.BANK), pa.Table.from_pandas(result.bank, preserve_index=False)
        )
    )  # fmt: skip
    moved = {name: after[name] for name, payout in before.items() if name in after and after[name] != payout}
    return moved, {before[name] for name in moved if before[name]}


def _filter(table: pa.Table, name: str, wanted: set[str]) -> pa.Table:
    return table.filter(pc.is_in(table[name], value_set=pa.array(sorted(wanted), type=table.schema.field(name).type)))


def _without_rows(result: Result) -> Result:
    empty = {name: getattr(result, name).iloc[:0] for name in ("payouts", "lines", "documents")}
    return replace(result, **empty)
