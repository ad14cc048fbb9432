"""Two published runs side by side: reads both, and their kept inputs where this machine has them."""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from pandas import DataFrame
from sqlalchemy.orm import aliased
from sqlmodel import Session, col

from reconcile.kept import snapshots
from reconcile.runs import changed_rows as differing
from reconcile.runs.changed_rows import Rows
from reconcile.runs.diffs import Causes, Change, Published, compare, explain, find_causes
from reconcile.tables import Run, RunFinding

# A finding's code and subject.
Finding = tuple[str, str]
# An exception's id follows from its code and subject.
_SAID = ("exception_id", "severity", "amount_at_risk")

NOT_KEPT = Causes({}, ("the inputs of one of the runs are not kept on this machine",))


class PrunedRun(Exception):  # noqa: N818 - says what was found
    """A run of which only the summary is kept."""


def diff(session: Session, data_dir: Path, before: Run, after: Run) -> Iterator[Change]:
    """Every change between two runs of one connection with its cause; runs whose rows were dropped are refused."""
    for run in (before, after):
        if run.pruned_at is not None:
            raise PrunedRun(f"the rows of run {run.number} ({run.id}) were dropped on {run.pruned_at:%Y-%m-%d}")
    related: dict[str, set[str]] = {}
    of_old, of_new = differing.find(session, before, after)
    old = _published(of_old, _findings(session, before, after), related)
    new = _published(of_new, _findings(session, after, before), related)
    changes = list(compare(old, new))
    causes = _causes(data_dir, before, after) if changes else NOT_KEPT
    return explain(changes, causes, {subject: sorted(ids) for subject, ids in _whole(related, old, new).items()})


def _whole(related: dict[str, set[str]], old: Published, new: Published) -> dict[str, set[str]]:
    """What is said of a payment or a document may come and go by whatever it was matched with."""
    about = {subject: related[subject] for subject in old.exceptions.keys() | new.exceptions.keys()}
    return related | {
        subject: ids.union(*(related.get(identity, ()) for identity in ids)) for subject, ids in about.items()
    }


def _published(rows: Rows, findings: Iterable[tuple[Finding, str]], related: dict[str, set[str]]) -> Published:
    payouts = {row["payout_id"]: _payout_words(row) for row in rows.payouts}
    documents = {row["doc_key"]: f"{row['outcome']}, balance {row['balance']}" for row in rows.documents}
    lines: dict[str, str] = {}
    for row in rows.lines:
        resource, key = row["resource_id"], row["doc_key"]
        subject = f"{resource}@{row['payout_id']}" if row["payout_id"] else resource
        words = [row["outcome"], *(filter(None, [key])), *_applied(row)]
        lines[subject] = "; ".join(filter(None, [lines.get(subject, ""), " ".join(words)]))
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
    """What a run found and the other did not find just so."""
    row, twin = RunFinding, aliased(RunFinding)
    mine = (col(row.connection) == run.connection, col(row.run_id) == run.id)
    theirs = (col(twin.connection) == other.connection, col(twin.run_id) == other.id)
    same = (col(getattr(row, name)) == col(getattr(twin, name)) for name in _SAID)
    again = sa.select(col(twin.exception_id)).where(*theirs, *same).exists()
    asked = sa.select(col(row.code), col(row.subject), col(row.severity), col(row.amount_at_risk))
    found = session.execute(asked.where(*mine, ~again))
    return [((code, subject), f"{severity} {amount}") for code, subject, severity, amount in found]


def _payout_words(columns: dict[str, Any]) -> str:
    return f"{columns['status_recon']}, difference {columns['difference']}, fees {columns['fee_total']}"


def _applied(columns: dict[str, Any]) -> list[str]:
    return [] if columns["applied_amount"] is None else [str(columns["applied_amount"])]


def _causes(data_dir: Path, before: Run, after: Run) -> Causes:
    try:
        old = snapshots.read_manifest(data_dir, before.connection, before.id)
        new = snapshots.read_manifest(data_dir, after.connection, after.id)
        return find_causes(old, new, _differing(data_dir, before, after, old, new))
    except snapshots.SnapshotError:
        return NOT_KEPT


def _differing(
    data_dir: Path, before: Run, after: Run, old: dict[str, Any], new: dict[str, Any]
) -> Iterator[tuple[str, DataFrame, DataFrame]]:
    runs = before, after
    # Unpacking and digesting leave the interpreter free for the other run's file.
    with ThreadPoolExecutor(len(runs)) as pool:
        for name in snapshots.SCHEMAS:
            if old["frames"].get(name) != new["frames"].get(name):
                read = partial(snapshots.read_frame, data_dir, before.connection, name=name)
                gone, come = pool.map(read, [run.id for run in runs])
                yield name, gone, come
