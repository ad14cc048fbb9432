"""What a run does to the list of exceptions: opens them, sees them again, changes, reopens or resolves them; pure.

Their identity is connection, code and subject. A run resolves an exception it does not find only if it could have: it
must be complete (else only its own DATA_GAPs), and the exception inside its scope. A run whose as-of day is before that
of the last complete run leaves the list alone, one whose day no data reaches yet notes only its DATA_GAPs, and no run
touches a row that was last seen or resolved on a later day.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias

import msgspec

from reconcile.rules.at_risk import AtRisk
from reconcile.rules.inputs import Finding
from reconcile.rules.outcomes import Code

# Values of an exception by column.
Columns: TypeAlias = dict[str, Any]
Values: TypeAlias = tuple[object, ...]

ID_LENGTH = 16
RUN = "run"
_MOVES = ("severity", "title", "amount_at_risk", "currency", "payout_id", "resource_id", "doc_key", "evidence",
          "suggested_action", "fact_on", "due_on", "customer_name")  # fmt: skip
_kept = attrgetter(*_MOVES)
OPENED = ("id", "code", "subject", *_MOVES)
REMEMBERED = ("exception_id", "change", "before", "after")


class State(StrEnum):
    OPEN = "open"
    RESOLVED = "resolved"


GONE = "gone"


class ExceptionState(NamedTuple):
    """The columns a run reads of a known exception; there are tens of thousands."""

    id: str
    code: str
    severity: str
    subject: str
    title: str
    amount_at_risk: int
    currency: str
    payout_id: str | None
    resource_id: str | None
    doc_key: str | None
    evidence: str
    suggested_action: str
    fact_on: date | None
    due_on: date | None
    customer_name: str | None
    state: str
    resolution: str
    resolved_on: date | None
    last_seen_on: date
    version: int


_FIELDS = frozenset(ExceptionState._fields)


class Remembered(NamedTuple):
    """One step of an exception's history."""

    exception_id: str
    change: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Seen:
    """What one run says about exceptions as a whole; its findings by exception id."""

    connection: str
    run_id: str
    as_of: date
    at: datetime
    complete: bool
    found: Mapping[str, Finding]
    is_ahead: bool = False


@dataclass(slots=True)
class Merge:
    """Findings that are new and columns to change by exception id, ids that were only seen again, and the history."""

    opened: dict[str, Finding] = field(default_factory=dict)
    seen_again: list[str] = field(default_factory=list)
    changed: dict[str, Columns] = field(default_factory=dict)
    history: list[Remembered] = field(default_factory=list)


def exception_id(connection: str, code: str, subject: str) -> str:
    return hashlib.sha256(f"{connection}|{code}|{subject}".encode()).hexdigest()[:ID_LENGTH]


def by_identity(connection: str, findings: Sequence[Finding]) -> dict[str, Finding]:
    """Return findings by exception id, sorted; raise ValueError if two have the same.

    Rows are written in this order, so the next run finds those it sees again close together.
    """
    named = {exception_id(connection, found.code, found.subject): found for found in findings}
    if len(named) != len(findings):
        raise ValueError("two findings of a run have the same code and subject")
    return {identity: named[identity] for identity in sorted(named)}


def merge(known: Iterable[ExceptionState], seen: Seen, *, could_find: Callable[[ExceptionState], bool]) -> Merge:
    """Return what to write; `could_find` answers for an absent row whether this run would have found it."""
    result = Merge()
    rows = {row.id: row for row in known}
    found = seen.found
    if seen.is_ahead:
        found = {identity: finding for identity, finding in found.items() if finding.code == Code.DATA_GAP}
    for identity, finding in found.items():
        if identity not in rows:
            result.opened[identity] = finding
        elif not _is_newer(rows[identity], seen.as_of):
            _see_again(result, rows[identity], finding, seen)
    for row in rows.values():
        if row.id in found or row.state != State.OPEN:
            continue
        may_resolve = seen.complete or row.code == Code.DATA_GAP
        if may_resolve and not _is_newer(row, seen.as_of) and could_find(row):
            on = max(seen.as_of, row.last_seen_on)
            values = {"state": str(State.RESOLVED), "resolved_on": on, "resolution": GONE}
            _change(result, row, "gone", values)
    return result


def list_open(known: Iterable[ExceptionState], merged: Merge) -> Iterator[AtRisk]:
    """Yield what is open once a run is merged."""
    yield from merged.opened.values()
    for row in known:
        moved = merged.changed.get(row.id, {})
        now = row._replace(**{name: moved[name] for name in moved.keys() & _FIELDS}) if moved else row
        if now.state == State.OPEN:
            yield now


def _is_newer(row: ExceptionState, as_of: date) -> bool:
    # A gap is about the data, not about a day: the next run that looks says whether it is still there.
    return row.code != Code.DATA_GAP and max(row.last_seen_on, row.resolved_on or row.last_seen_on) > as_of


def build_opening_values(seen: Seen) -> Columns:
    """Return what all rows that one run opens have in common."""
    return {
        "connection": seen.connection, "opened_on": seen.as_of, "last_seen_on": seen.as_of, "owner": "", "note": "",
        "state": str(State.OPEN), "resolved_on": None, "resolution": "", "run_first": seen.run_id,
        "run_last": seen.run_id, "version": 1,
    }  # fmt: skip


def build_opened_rows(merged: Merge) -> Iterator[Values]:
    """Yield new rows in the order of `OPENED`; a first run opens tens of thousands."""
    for identity, finding in merged.opened.items():
        yield identity, finding.code, finding.subject, *_cells(finding)


def build_history_values(seen: Seen) -> Columns:
    """Return what all steps of history that one run takes have in common."""
    return {"connection": seen.connection, "at": seen.at, "author": f"{RUN} {seen.run_id}"}


def build_history_rows(merged: Merge) -> Iterator[Values]:
    """Yield steps of history in the order of `REMEMBERED`."""
    for identity, finding in merged.opened.items():
        yield identity, "opened", "", str(finding.amount_at_risk)
    yield from merged.history


def _cells(finding: Finding) -> Values:
    """Return what a run may change of an exception, in the order of `_MOVES`."""
    return (
        finding.severity, finding.title, finding.amount_at_risk, finding.currency, finding.payout_id,
        finding.resource_id, finding.doc_key, _to_text(finding.evidence), finding.suggested_action,
        finding.fact_on, finding.due_on, finding.customer_name,
    )  # fmt: skip


def _to_text(evidence: Mapping[str, object]) -> str:
    return msgspec.json.format(msgspec.json.encode(evidence, order="sorted"), indent=0).decode()


def _see_again(result: Merge, row: ExceptionState, finding: Finding, seen: Seen) -> None:
    """Open a row again that a run resolved; one a person resolved opens only if the amount at risk changed."""
    cells, kept = _cells(finding), _kept(row)
    is_resolved = row.state == State.RESOLVED
    is_gone = is_resolved and row.resolution == GONE
    # Nearly all of tens of thousands go this way.
    if cells == kept and not is_gone and row.last_seen_on <= seen.as_of:
        result.seen_again.append(row.id)
        return
    moved = {name: cell for name, cell, before in zip(_MOVES, cells, kept, strict=True) if cell != before}
    # A run of an earlier day sees a gap later than the run that was ahead of it: the day does not go back.
    values = {"last_seen_on": max(seen.as_of, row.last_seen_on), "run_last": seen.run_id} | moved
    if is_gone or (is_resolved and "amount_at_risk" in moved):
        values |= {"state": str(State.OPEN), "resolved_on": None, "resolution": ""}
        _change(result, row, "reopened", values)
    elif "amount_at_risk" in moved:
        _change(result, row, "amount", values)
    else:
        result.changed[row.id] = values


def _change(result: Merge, row: ExceptionState, change: str, values: Columns) -> None:
    result.changed[row.id] = values | {"version": row.version + 1}
    result.history.append(Remembered(row.id, change, *_words(row, change, values)))


def _words(row: ExceptionState, change: str, values: Columns) -> tuple[str, str]:
    if change == "amount":
        return str(row.amount_at_risk), str(values["amount_at_risk"])
    return row.resolution or row.state, str(values["resolution"] or values["state"])
