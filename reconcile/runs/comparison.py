"""Two published runs compared: every change with its cause, read from their rows and their kept inputs."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa
from pandas import DataFrame
from sqlalchemy.orm import aliased
from sqlmodel import Session, col

from consumer.facts.columns import Kind, kind_of
from consumer.facts.installation import Installation
from consumer.facts.messages import Message
from consumer.facts.work import WorkError
from reconcile.closing.figures import DOCUMENT_OF_RUN, FIGURES, LINE, LINE_APPLIED, LINE_OF_DOCUMENT, PAYOUT_OF_RUN
from reconcile.kept import chunks, extracts, snapshots, whole
from reconcile.kept.pieces import Rows
from reconcile.kept.snapshots import SCHEMAS, Manifest
from reconcile.rules import inputs as rules
from reconcile.rules.columns import BETWEEN, to_one_array
from reconcile.rules.inputs import Result
from reconcile.tables.runs import ResultChunk, Run, RunFinding

KEYS = ("kind", "subject", "before", "after", "cause")
_NO_WORDS = ""
_NONE = "\x1e"
# What a cell of a table shows of a long value.
_LONGEST = 40


@dataclass(frozen=True, slots=True)
class Change:
    kind: str
    subject: str
    before: str
    after: str
    cause: str = _NO_WORDS


@dataclass(frozen=True, slots=True)
class Published:
    """What one run published, as stored messages by subject: payouts, lines, documents, exceptions."""

    payouts: Mapping[str, str]
    lines: Mapping[str, str]
    documents: Mapping[str, str]
    exceptions: Mapping[str, str]


def to_risk(severity: str, amount: int) -> str:
    """Return what an exception weighs, as a stored message."""
    return Message("figure.exception", {"severity": severity, "amount_at_risk": amount}).to_text()


def compare(before: Published, after: Published) -> Iterator[Change]:
    for kind, old, new in (
        ("payout", before.payouts, after.payouts),
        ("item", before.lines, after.lines),
        ("document", before.documents, after.documents),
        ("exception", before.exceptions, after.exceptions),
    ):
        for subject in sorted(old.keys() | new.keys()):
            was, is_now = old.get(subject, _NO_WORDS), new.get(subject, _NO_WORDS)
            if was != is_now:
                yield Change(kind, subject, was, is_now)


@dataclass(frozen=True, slots=True)
class Causes:
    """What differs between the inputs of two runs: codes by the ids that results are known by, and what is for all."""

    by_id: Mapping[str, tuple[str, ...]]
    everywhere: tuple[Message, ...]


# Which columns of an input row name things that results are about.
_IDS = {
    "payouts": ("payout_id",),
    "items": ("resource_id", "payout_id", "parent_id"),
    "documents": ("doc_key",),
    "changed_documents": ("doc_key",),
    "disputes": ("resource_id", "dispute_id"),
    "fees": ("payout_id", "resource_id"),
    "conflicts": ("resource_id", "event_id"),
    "decisions": ("resource_id", "doc_key"),
    "unknown_customers": ("resource_id",),
}
# Codes of causes: a row of these frames that changed, and whole frames that did.
OF_ROWS = tuple(f"cause.{name}_{how}" for name in _IDS for how in ("changed", "gone", "new"))
OF_FRAMES = tuple(f"cause.{name}" for name in SCHEMAS if name not in _IDS)
_EVERYWHERE = ("as_of", "calendar", "tariff", "rules", "rules_code", "scope")
OF_SETTINGS = tuple(f"cause.{name}" for name in _EVERYWHERE)


def find_causes(
    old: Mapping[str, object], new: Mapping[str, object], frames: Iterable[tuple[str, DataFrame, DataFrame]]
) -> Causes:
    """Compare two manifests and those input frames whose digests differ."""
    everywhere = [
        Message(f"cause.{name}", {"before": _short(old[name]), "after": _short(new[name])})
        for name in _EVERYWHERE
        if old[name] != new[name]
    ]
    by_id: dict[str, list[str]] = {}
    for name, before, after in frames:
        if name not in _IDS:
            # Two versions may give different digests of the same cells.
            everywhere += [] if before.equals(after) else [Message(f"cause.{name}")]
            continue
        for how, row in _find_changed_rows(name, before, after):
            for column in _IDS[name]:
                if isinstance(identity := row[column], str):
                    by_id.setdefault(identity, []).append(f"cause.{name}_{how}")
    return Causes({key: tuple(dict.fromkeys(words)) for key, words in by_id.items()}, tuple(everywhere))


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}…"


def _find_changed_rows(name: str, before: DataFrame, after: DataFrame) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield rows that one frame has alone; if both have its identity it was changed, else it is new or gone."""
    identity = list(_IDS[name])
    both = _narrow(before, after, identity)
    differing = both[0].merge(both[1], how="outer", indicator=True).query("_merge != 'both'")
    repeated = differing.duplicated(identity, keep=False)
    rows = differing[identity].to_dict("records")
    for row, side, is_repeated in zip(rows, differing["_merge"], repeated, strict=True):
        is_old = side == "left_only"
        if is_repeated and is_old:
            continue
        how = "changed" if is_repeated else ("gone" if is_old else "new")
        yield how, {column: row[column] for column in identity}


def _narrow(before: DataFrame, after: DataFrame, identity: list[str]) -> tuple[DataFrame, DataFrame]:
    """Keep rows whose identity has another first row on the other side; all others are the same in both frames."""
    old, new = (pa.Table.from_pandas(frame, preserve_index=False) for frame in (before, after))
    old_ids, new_ids = (_join(table, identity) for table in (old, new))
    gone = _unlike(old, old_ids, new, new_ids)
    # If no identity repeats, a row that has a first row on the other side was compared with it already.
    is_plain = pc.count_distinct(new_ids).as_py() == len(new_ids)
    come = pc.index_in(new_ids, value_set=old_ids).is_null() if is_plain else _unlike(new, new_ids, old, old_ids)
    ids = pa.concat_arrays([old_ids.filter(gone), new_ids.filter(come)])
    masks = (pc.is_in(own, value_set=ids).to_numpy(zero_copy_only=False) for own in (old_ids, new_ids))
    kept = (frame[mask] for frame, mask in zip((before, after), masks, strict=True))
    return next(kept), next(kept)


def _unlike(table: pa.Table, ids: pa.Array, other: pa.Table, others: pa.Array) -> pa.Array:
    """Return which rows differ from the first row of their identity on the other side, or have none there."""
    places = pc.index_in(ids, value_set=others)
    unlike = places.is_null()
    for name in table.column_names:
        mine, theirs = to_one_array(table[name]), to_one_array(other[name]).take(places)
        same = pc.or_kleene(pc.equal(mine, theirs), pc.and_(mine.is_null(), theirs.is_null()))
        unlike = pc.or_(unlike, pc.invert(same.fill_null(False)))
    return unlike


def explain(changes: Iterable[Change], causes: Causes, related: Mapping[str, Iterable[str]]) -> Iterator[Change]:
    """Yield each change with its cause: its own input row, one it was matched with, else what changed for all."""
    for change in changes:
        ids = [change.subject, *related.get(change.subject, ())]
        own = [Message(code, {"id": identity}) for identity in ids for code in causes.by_id.get(identity, ())]
        found = own or causes.everywhere or [Message("cause.another_row")]
        cause = "\n".join(dict.fromkeys(one.to_text() for one in found))
        yield Change(change.kind, change.subject, change.before, change.after, cause)


# A finding's code and subject.
Finding: TypeAlias = tuple[str, str]
# A published row, every cell as text.
_Row: TypeAlias = dict[str, str | None]

# An exception's id follows from its code and subject.
_FINDING = ("exception_id", "severity", "amount_at_risk")
_LINE = ("resource_id", "payout_id", "resource_type", "line", "outcome", "doc_key", "applied_amount")
_DOCUMENT = ("doc_key", "outcome", "balance")
_PAYOUT = ("payout_id", "status_recon", "difference", "fee_total")
_TEXT = pa.large_string()

NOT_KEPT = Causes({}, (Message("cause.inputs_not_kept"),))


class PrunedRunError(WorkError):
    """A run of which only the summary is kept."""


@dataclass(frozen=True, slots=True)
class _Rows:
    """What one of the two runs says of everything that may have changed."""

    payouts: Sequence[_Row]
    lines: Sequence[_Row]
    documents: Sequence[_Row]


def bring_inputs(installation: Installation, *runs: Run) -> None:
    """Bring the inputs of these runs here, which say why they differ."""
    for run in runs:
        whole.bring(installation, run)


def diff(session: Session, data_dir: Path, before: Run, after: Run) -> Iterator[Change]:
    """Yield every change between two runs of one connection with its cause; PrunedRunError if rows were dropped."""
    for run in (before, after):
        if run.pruned_at is not None:
            raise PrunedRunError(f"the rows of run {run.number} ({run.id}) were dropped on {run.pruned_at:%Y-%m-%d}")
    related: dict[str, set[str]] = {}
    of_old, of_new = _find_changed(session, before, after)
    old = _to_published(of_old, _findings(session, before, after), related)
    new = _to_published(of_new, _findings(session, after, before), related)
    changes = list(compare(old, new))
    causes = _causes(session, data_dir, before, after) if changes else NOT_KEPT
    return explain(changes, causes, {subject: sorted(ids) for subject, ids in _whole(related, old, new).items()})


def _whole(related: dict[str, set[str]], old: Published, new: Published) -> dict[str, set[str]]:
    """Relate an exception to all that its payment or document was matched with."""
    about = {subject: related[subject] for subject in old.exceptions.keys() | new.exceptions.keys()}
    return related | {
        subject: ids.union(*(related.get(identity, ()) for identity in ids)) for subject, ids in about.items()
    }


def _to_published(rows: _Rows, findings: Iterable[tuple[Finding, str]], related: dict[str, set[str]]) -> Published:
    payouts = {str(row["payout_id"]): _to_figure(PAYOUT_OF_RUN, row) for row in rows.payouts}
    documents = {str(row["doc_key"]): _to_figure(DOCUMENT_OF_RUN, row) for row in rows.documents}
    lines: dict[str, str] = {}
    for row in rows.lines:
        resource, key = str(row["resource_id"]), row["doc_key"]
        subject = f"{resource}@{row['payout_id']}" if row["payout_id"] else resource
        lines[subject] = "\n".join(filter(None, [lines.get(subject, ""), _to_line(row)]))
        for one, other in ((subject, resource), (subject, key), (key, resource), (resource, key)):
            if one and other:
                related.setdefault(one, set()).add(other)
    exceptions = {}
    for (code, about), words_of_it in findings:
        subject = f"{code} {about}"
        exceptions[subject] = words_of_it
        related.setdefault(subject, set()).add(about.split(":", 1)[1].split("@", maxsplit=1)[0])
    return Published(payouts, lines, documents, exceptions)


def _findings(session: Session, run: Run, other: Run) -> list[tuple[Finding, str]]:
    """Return what a run found and the other did not, or with another severity or amount."""
    row, twin = RunFinding, aliased(RunFinding)
    mine = (col(row.connection) == run.connection, col(row.run_id) == run.id)
    theirs = (col(twin.connection) == other.connection, col(twin.run_id) == other.id)
    same = (col(getattr(row, name)) == col(getattr(twin, name)) for name in _FINDING)
    again = sa.select(col(twin.exception_id)).where(*theirs, *same).exists()
    asked = sa.select(col(row.code), col(row.subject), col(row.severity), col(row.amount_at_risk))
    found = session.execute(asked.where(*mine, ~again))
    return [((code, subject), to_risk(severity, amount)) for code, subject, severity, amount in found]


def _to_figure(code: str, row: _Row) -> str:
    """Return a row as the stored message that a preview of rules writes of it."""
    return Message(code, {name: _to_value(name, row[name]) for name in FIGURES[code]}).to_text()


def _to_value(name: str, text: str | None) -> str | int | None:
    return int(text) if text is not None and kind_of(name) is Kind.MONEY else text


def _to_line(row: _Row) -> str:
    """Return a line as a stored message; a document it was not applied to has no amount."""
    if row["doc_key"] is None:
        return _to_figure(LINE, row)
    return _to_figure(LINE_OF_DOCUMENT if row["applied_amount"] is None else LINE_APPLIED, row)


def _causes(session: Session, data_dir: Path, before: Run, after: Run) -> Causes:
    try:
        old = snapshots.read_manifest(data_dir, before.connection, before.id)
        new = snapshots.read_manifest(data_dir, after.connection, after.id)
        if before.layers or after.layers:
            return find_causes(old, new, _read_whole(session, data_dir, before, after, old, new))
        return find_causes(old, new, _read_differing(data_dir, before, after, old, new))
    except snapshots.SnapshotError:
        return NOT_KEPT


def _read_differing(
    data_dir: Path, before: Run, after: Run, old: Manifest, new: Manifest
) -> Iterator[tuple[str, DataFrame, DataFrame]]:
    runs = before, after
    # Unpacking and digesting leave the interpreter free for the other run's file.
    with ThreadPoolExecutor(len(runs)) as pool:
        for name in snapshots.SCHEMAS:
            if old["frames"].get(name) != new["frames"].get(name):
                read = partial(snapshots.read_frame, data_dir, before.connection, name=name)
                gone, come = pool.map(read, [run.id for run in runs])
                yield name, gone, come


def _read_whole(
    session: Session, data_dir: Path, before: Run, after: Run, old: Manifest, new: Manifest
) -> Iterator[tuple[str, DataFrame, DataFrame]]:
    """Read the frames that may differ with what was left out of them as settled."""
    gone, come = (whole.read(session, data_dir, run) for run in (before, after))
    for name in snapshots.SCHEMAS:
        if name in whole.LEFT_OUT or old["frames"].get(name) != new["frames"].get(name):
            yield name, gone.frame(name), come.frame(name)


def _find_changed(session: Session, before: Run, after: Run) -> tuple[_Rows, _Rows]:
    """Read the rows that may differ, whole subjects: payouts, documents, items with the lines of those documents."""
    payouts = _payouts(session, before, after)
    documents = _read_both(session, (before, after), chunks.DOCUMENT, _DOCUMENT)
    lines = _read_both(session, (before, after), chunks.LINE, _LINE)
    return _sift(payouts, documents, lines)


def compare_with(session: Session, run: Run, result: Result, found: Mapping[str, rules.Finding]) -> list[Change]:
    """Compare a published run with what its rules make of other inputs; `found` are their findings by exception id."""
    published = [_as_texts(extracts.read(session, run, chunks.PAYOUT, _PAYOUT), _PAYOUT)]
    for kind, names in ((chunks.DOCUMENT, _DOCUMENT), (chunks.LINE, _LINE)):
        parts = (_as_texts(table, names) for table in chunks.tables(session, run, kind, names))
        published.append(pa.concat_tables([pa.schema(dict.fromkeys(names, _TEXT)).empty_table(), *parts]))
    made = (
        _as_texts(pa.Table.from_pandas(frame[list(names)], preserve_index=False), names)
        for frame, names in ((result.payouts, _PAYOUT), (result.documents, _DOCUMENT), (result.lines, _LINE))
    )
    of_old, of_new = _sift(*([old, new] for old, new in zip(published, made, strict=True)))
    was = sa.select(*(col(getattr(RunFinding, name)) for name in (*_FINDING, "code", "subject"))).where(
        col(RunFinding.connection) == run.connection, col(RunFinding.run_id) == run.id
    )
    old_findings = {row[0]: ((row[3], row[4]), to_risk(row[1], row[2])) for row in session.execute(was)}
    new_findings = {
        key: ((str(one.code), one.subject), to_risk(one.severity, one.amount_at_risk)) for key, one in found.items()
    }
    before = _to_published(of_old, [one for key, one in old_findings.items() if new_findings.get(key) != one], {})
    after = _to_published(of_new, [one for key, one in new_findings.items() if old_findings.get(key) != one], {})
    return list(compare(before, after))


def _sift(payouts: Sequence[pa.Table], documents: Sequence[pa.Table], lines: Sequence[pa.Table]) -> tuple[_Rows, _Rows]:
    """Keep of both sides the rows of what differs."""
    changed_payouts = _name_changed_subjects(payouts, _PAYOUT[:1])
    changed_documents = _name_changed_subjects(documents, _DOCUMENT[:1])
    changed_items = _name_changed_subjects(lines, _LINE[:2])
    found = []
    for some_payouts, some_documents, some_lines in zip(payouts, documents, lines, strict=True):
        of_items = pc.is_in(_join(some_lines, _LINE[:2]), value_set=changed_items)
        of_documents = pc.is_in(some_lines["doc_key"].cast(_TEXT), value_set=changed_documents, skip_nulls=True)
        found.append(
            _Rows(
                _select(some_payouts, _PAYOUT[:1], changed_payouts),
                some_lines.filter(pc.or_(of_items, of_documents)).to_pylist(),
                _select(some_documents, _DOCUMENT[:1], changed_documents),
            )
        )
    return found[0], found[1]


def _payouts(session: Session, before: Run, after: Run) -> list[pa.Table]:
    """Read payouts by chunks too; runs published without them are read whole."""
    runs = before, after
    if all(chunks.is_kept(session, run, chunks.PAYOUT) for run in runs):
        return _read_both(session, runs, chunks.PAYOUT, _PAYOUT)
    return [_as_texts(extracts.read(session, run, chunks.PAYOUT, _PAYOUT), _PAYOUT) for run in runs]


def _read_both(session: Session, runs: tuple[Run, Run], kind: str, names: Sequence[str]) -> list[pa.Table]:
    """Read the rows that the other run may not have too."""
    same = _same_chunks(session, runs, kind)
    found = []
    for run, other in (runs, runs[::-1]):
        rows = Rows(session, run, kind).read_unlike(other, same, names)
        parts = (_as_texts(table, names) for table in rows)
        found.append(pa.concat_tables([pa.schema(dict.fromkeys(names, _TEXT)).empty_table(), *parts]))
    return found


def _same_chunks(session: Session, runs: tuple[Run, Run], kind: str) -> Sequence[int]:
    """Return the numbers of the chunks that both runs have; the database compares them."""
    one, other = ResultChunk, aliased(ResultChunk)
    mine = (col(one.connection) == runs[0].connection, col(one.run_id) == runs[0].id, col(one.kind) == kind)
    theirs = (col(other.connection) == runs[1].connection, col(other.run_id) == runs[1].id, col(other.kind) == kind)
    same = (col(getattr(one, name)) == col(getattr(other, name)) for name in ("number", "rows", "content"))
    return session.scalars(sa.select(col(one.number)).where(*mine, *theirs, *same)).all()


def _as_texts(table: pa.Table, names: Sequence[str]) -> pa.Table:
    return pa.table({name: table[name].cast(_TEXT) for name in names})


def _name_changed_subjects(tables: Sequence[pa.Table], subject: Sequence[str]) -> pa.Array:
    """Name the subjects of rows that only one of the runs has."""
    old, new = ((table, _join(table, table.column_names)) for table in tables)
    gone = old[0].filter(pc.invert(pc.is_in(old[1], value_set=new[1])))
    come = new[0].filter(pc.invert(pc.is_in(new[1], value_set=old[1])))
    return pa.concat_arrays([_join(gone, subject), _join(come, subject)])


def _select(table: pa.Table, subject: Sequence[str], changed: pa.Array) -> list[_Row]:
    rows: list[_Row] = table.filter(pc.is_in(_join(table, subject), value_set=changed)).to_pylist()
    return rows


def _join(table: pa.Table, names: Sequence[str]) -> pa.Array:
    parts = [table[name].cast(_TEXT) for name in names]
    joined = pc.binary_join_element_wise(*parts, BETWEEN, null_handling="replace", null_replacement=_NONE)
    return to_one_array(joined)
