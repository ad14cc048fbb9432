"""A run made again from its kept inputs, and compared with what it published: every row the same, or which differ."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import NamedTuple, TypeAlias

import pyarrow as pa
from sqlmodel import Session, col, select

from consumer.facts.columns import Kind, kind_of
from consumer.facts.erasures import is_touched
from consumer.facts.messages import Message
from consumer.facts.store import Turn, take_turn
from consumer.facts.tables.erasures import RUN
from reconcile.exceptions.life import by_identity
from reconcile.kept import chunks, snapshots
from reconcile.kept.snapshots import Snapshot
from reconcile.rules.inputs import Finding, Result
from reconcile.runs.narrowing import narrow
from reconcile.runs.publication import insert_results, payout_rows
from reconcile.runs.run import RunOutcome, Watch, ignore_step, is_published, judge, matching_step, to_outcome
from reconcile.tables.runs import PayoutResult, ResultChunk, Run, RunFinding

Row: TypeAlias = Mapping[str, object]
Rows: TypeAlias = Mapping[str, Row]
# What a run is made with, before and now.
ChangedSince: TypeAlias = dict[str, list[object]]
SUMMARY, PAYOUT, ITEM, DOCUMENT, EXCEPTION = "summary", "payout", "item", "document", "exception"
_LINE, _DOCUMENT = ("payout_id", "resource_type", "resource_id", "line"), ("doc_key",)
# The order in which documents are published.
_BY_ISSUE = [("issue_date", "ascending"), ("doc_key", "ascending")]
_WHOLE_ROW, _THERE, _ABSENT = "row", "there", "absent"
_FIGURE = "figure"
# What is compared besides amounts where a person was erased.
_COMPARED = {_WHOLE_ROW, _FIGURE, "outcome", "status_recon", "severity", "match_stage", "currency"}


class Piece(NamedTuple):
    """A stretch of both sides by subject, and how many rows it has on each, alike ones too."""

    published: Rows
    rerun: Rows
    counts: tuple[int, int]


class Difference(NamedTuple):
    """One value that differs; amounts are minor units, as they are stored."""

    kind: str
    subject: str
    column: str
    published: object
    rerun: object


@dataclass(slots=True)
class Held:
    """Rows of one kind compared: how many there are, how many differ and in which columns, the first differences."""

    kind: str
    published: int = 0
    rerun: int = 0
    differing: int = 0
    columns: Counter[str] = field(default_factory=Counter)
    first: list[Difference] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Rerun:
    """What the inputs give today, and what of the program changed since they were kept."""

    outcome: RunOutcome
    result: Result
    changed_since: ChangedSince


def rerun(data_dir: Path, run: Run, watch: Watch = ignore_step) -> Rerun:
    """Read a run's inputs back and reconcile them with today's rules, without writing."""
    watch(Message("run.reading_kept"))
    snapshot = snapshots.read(data_dir, run.connection, run.id)
    watch(matching_step(snapshot))
    result = narrow(judge(snapshot), snapshot.scope)
    return Rerun(to_outcome(snapshot, result), result, _find_changed_since(snapshot))


def _find_changed_since(snapshot: Snapshot) -> ChangedSince:
    """Return what changed of what no file keeps: the rules themselves, their defaults, the bank calendar."""
    was, rules = snapshot.manifest, json.loads(json.dumps(asdict(snapshot.inputs.rules)))
    pairs = {
        "rules_code": [was["rules_code"], snapshots.rules_code()],
        "calendar": [was["calendar"], snapshot.inputs.calendar.edition],
    } | {f"rule {name}": [was["rules"].get(name), value] for name, value in rules.items()}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def compare(session: Session, run: Run, made: Rerun, *, most: int) -> Iterator[Held]:
    """Compare everything a run published with what it gives today; of dropped rows only the summary is left.

    Where a person was erased from the run, only amounts and outcomes are compared.
    """
    is_erased = is_touched(session.connection(), RUN, run.connection, run.id)
    for held in _compare_all(session, run, made, most):
        yield _keep_figures(held) if is_erased else held


def _keep_figures(held: Held) -> Held:
    """Leave out the words that differ; a row that is not there at all stays."""
    words = [name for name in held.columns if name not in _COMPARED and kind_of(name) is not Kind.MONEY]
    first = [one for one in held.first if one.column not in words]
    is_same = len(words) == len(held.columns)
    columns = Counter({name: count for name, count in held.columns.items() if name not in words})
    return replace(held, first=first, columns=columns, differing=0 if is_same else held.differing)


def _compare_all(session: Session, run: Run, made: Rerun, most: int) -> Iterator[Held]:
    yield _compare_rows(SUMMARY, [_summaries(run, made.outcome)], most)
    if not is_published(run):
        return
    yield _compare_rows(PAYOUT, [_payouts(session, run, made.result)], most)
    lines = pa.Table.from_pandas(made.result.lines, preserve_index=False)
    yield _compare_rows(ITEM, _pieces(chunks.tables(session, run, chunks.LINE, is_own=True), lines, _LINE), most)
    documents = pa.Table.from_pandas(made.result.documents, preserve_index=False).sort_by(_BY_ISSUE)
    published = chunks.tables(session, run, chunks.DOCUMENT, is_own=True)
    yield _compare_rows(DOCUMENT, _pieces(published, documents, _DOCUMENT), most)
    yield _compare_rows(EXCEPTION, [_findings(session, run, made.result)], most)


def has_layers(session: Session, run: Run) -> bool:
    """Return whether what a run left out of closed days is still kept: without that its own rows are not all of it."""
    mine, layers = col(ResultChunk.connection) == run.connection, set(run.layers.split())
    kept = session.scalars(select(ResultChunk.run_id).where(mine, col(ResultChunk.run_id).in_(layers)).distinct())
    return layers <= set(kept)


def restore(session: Session, run: Run, made: Rerun) -> None:
    """Bring the dropped rows of a run back under its id; the work list and closed periods stay as they are."""
    take_turn(session, Turn.RUNS)
    kept = session.get(Run, (run.connection, run.id))
    if kept is None or is_published(kept):
        return
    found = by_identity(run.connection, made.result.findings)
    insert_results(session, made.result, found, connection=run.connection, run_id=run.id)
    kept.pruned_at = None
    session.add(kept)


def _compare_rows(kind: str, pieces: Iterable[Piece], most: int) -> Held:
    """Compare rows of one subject as they come; what is left at the end is on one side only."""
    held = Held(kind)
    old: dict[str, Row] = {}
    new: dict[str, Row] = {}
    for piece in pieces:
        held.published += piece.counts[0]
        held.rerun += piece.counts[1]
        old |= piece.published
        new |= piece.rerun
        for subject in sorted(old.keys() & new.keys()):
            _note(held, list(_differences(kind, subject, old.pop(subject), new.pop(subject))), most)
    for rows, words in ((old, (_THERE, _ABSENT)), (new, (_ABSENT, _THERE))):
        for subject in sorted(rows):
            _note(held, [Difference(kind, subject, _WHOLE_ROW, *words)], most)
    return held


def _differences(kind: str, subject: str, was: Row, is_now: Row) -> Iterator[Difference]:
    for name in dict.fromkeys((*was, *is_now)):
        if was.get(name) != is_now.get(name):
            yield Difference(kind, subject, name, was.get(name), is_now.get(name))


def _note(held: Held, differences: list[Difference], most: int) -> None:
    held.differing += bool(differences)
    held.columns.update(difference.column for difference in differences)
    held.first += differences[: most - len(held.first)]


def _summaries(run: Run, made: RunOutcome) -> Piece:
    """Compare the figures both have: a version may count more than an earlier one did."""
    old, new = json.loads(run.summary), json.loads(json.dumps(made.summary))
    both = old.keys() & new.keys()
    published, again = ({name: {_FIGURE: side[name]} for name in both} for side in (old, new))
    return Piece(published, again, (len(both), len(both)))


def _payouts(session: Session, run: Run, result: Result) -> Piece:
    mine = (col(PayoutResult.connection) == run.connection, col(PayoutResult.run_id) == run.id)
    stored = session.exec(select(PayoutResult.payout_id, PayoutResult.columns).where(*mine))
    old: dict[str, str] = dict(stored.all())
    new: dict[str, str] = {row[0]: row[-1] for row in payout_rows(result)}
    same = {payout_id for payout_id, columns in old.items() if new.get(payout_id) == columns}
    published, made = ({name: json.loads(side[name]) for name in side.keys() - same} for side in (old, new))
    return Piece(published, made, (len(old), len(new)))


def _findings(session: Session, run: Run, result: Result) -> Piece:
    mine = (col(RunFinding.connection) == run.connection, col(RunFinding.run_id) == run.id)
    old = _by_subject(session.exec(select(RunFinding).where(*mine)).all())
    new = _by_subject(result.findings)
    return Piece(old, new, (len(old), len(new)))


def _by_subject(findings: Iterable[RunFinding | Finding]) -> Rows:
    names = ("severity", "amount_at_risk", "currency")
    return {f"{one.code} {one.subject}": {name: getattr(one, name) for name in names} for one in findings}


def _pieces(published: Iterable[pa.Table], made: pa.Table, subject: Sequence[str]) -> Iterator[Piece]:
    """Go through both in the order of publication; stretches that are alike are only counted."""
    start = 0
    for chunk in published:
        old, new = chunk.select(_name_shown(chunk)), made.slice(start, chunk.num_rows)
        start += chunk.num_rows
        counts = (old.num_rows, new.num_rows)
        yield Piece({}, {}, counts) if old.equals(new) else Piece(_rows(old, subject), _rows(new, subject), counts)
    rest = made.slice(start)
    yield Piece({}, _rows(rest, subject), (0, rest.num_rows))


def _name_shown(chunk: pa.Table) -> list[str]:
    return [name for name in chunk.column_names if name != chunks.DAY_OF[chunks.LINE]]


def _rows(table: pa.Table, subject: Sequence[str]) -> Rows:
    return {" ".join(str(row[name]) for name in subject if row[name] is not None): row for row in chunks.to_rows(table)}
