"""What becomes of exceptions when a run has spoken: opened, seen again, moved, reopened, gone; pure.

Their identity is connection, code and subject. A run resolves by absence only what it could have seen: it must be
complete (else only its own DATA_GAPs), and the exception inside its scope. A run whose as-of day is before that of the
last complete run leaves the list alone, one whose day no data reaches yet notes only its DATA_GAPs, and no run touches
a row that was last seen or resolved on a later day.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec

from reconcile.rules.at_risk import AtRisk
from reconcile.rules.inputs import Finding

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
DATA_GAP = "DATA_GAP"


class ExceptionState(NamedTuple):
    """What a run looks at of an exception that is known: it reads tens of thousands."""

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
    """Findings that are new, ids that were only seen again, columns to change; by exception id. And what they tell."""

    opened: dict[str, Finding] = field(default_factory=dict)
    seen_again: list[str] = field(default_factory=list)
    changed: dict[str, dict[str, Any]] = field(default_factory=dict)
    history: list[Remembered] = field(default_factory=list)


def exception_id(connection: str, code: str, subject: str) -> str:
    return hashlib.sha256(f"{connection}|{code}|{subject}".encode()).hexdigest()[:ID_LENGTH]


def by_identity(connection: str, findings: Sequence[Finding]) -> dict[str, Finding]:
    """Name findings as exceptions, in the order of their ids; two of one name would hide one another.

    Rows that are written in this order lie in it, and the next run that sees them again finds them beside each other.
    """
    named = {exception_id(connection, found.code, found.subject): found for found in findings}
    if len(named) != len(findings):
        raise ValueError("two findings of a run have the same code and subject")
    return {identity: named[identity] for identity in sorted(named)}


def merge(known: Iterable[ExceptionState], seen: Seen, *, could_find: Callable[[ExceptionState], bool]) -> Merge:
    """Build what to write; `could_find` says of an absent row whether this run would have found it."""
    result = Merge()
    rows = {row.id: row for row in known}
    found = seen.found
    if seen.is_ahead:
        found = {identity: finding for identity, finding in found.items() if finding.code == DATA_GAP}
    for identity, finding in found.items():
        if identity not in rows:
            result.opened[identity] = finding
        elif not _is_newer(rows[identity], seen.as_of):
            _see_again(result, rows[identity], finding, seen)
    for row in rows.values():
        if row.id in found or row.state != State.OPEN:
            continue
        may_resolve = seen.complete or row.code == DATA_GAP
        if may_resolve and not _is_newer(row, seen.as_of) and could_find(row):
            on = max(seen.as_of, row.last_seen_on)
            values = {"state": str(State.RESOLVED), "resolved_on": on, "resolution": GONE}
            _change(result, row, "gone", values)
    return result


def left_open(known: Iterable[ExceptionState], merged: Merge) -> Iterator[AtRisk]:
    """Give what is open once a run is merged."""
    yield from merged.opened.values()
    for row in known:
        moved = merged.changed.get(row.id, {})
        now = row._replace(**{name: moved[name] for name in moved.keys() & _FIELDS}) if moved else row
        if now.state == State.OPEN:
            yield now


def _is_newer(row: ExceptionState, as_of: date) -> bool:
    # A gap is about the data, not about a day: the next run that looks says whether it is still there.
    return row.code != DATA_GAP and max(row.last_seen_on, row.resolved_on or row.last_seen_on) > as_of


def opened_alike(seen: Seen) -> dict[str, Any]:
    """What all rows have in common that one run opens."""
    return {
        "connection": seen.connection, "opened_on": seen.as_of, "last_seen_on": seen.as_of, "owner": "", "note": "",
        "state": str(State.OPEN), "resolved_on": None, "resolution": "", "run_first": seen.run_id,
        "run_last": seen.run_id, "version": 1,
    }  # fmt: skip


def opened_rows(merged: Merge) -> Iterator[tuple[Any, ...]]:
    """Write down what is new in the order of `OPENED`, one after another: a first run opens tens of thousands."""
    for identity, finding in merged.opened.items():
        yield identity, finding.code, finding.subject, *_cells(finding)


def remembered_alike(seen: Seen) -> dict[str, Any]:
    """What all steps of history have in common that one run takes."""
    return {"connection": seen.connection, "at": seen.at, "author": f"{RUN} {seen.run_id}"}


def history_rows(merged: Merge) -> Iterator[tuple[Any, ...]]:
    """Write down what became of exceptions in the order of `REMEMBERED`."""
    for identity, finding in merged.opened.items():
        yield identity, "opened", "", str(finding.amount_at_risk)
    yield from merged.history


def _cells(finding: Finding) -> tuple[Any, ...]:
    """What a run may move of an exception, in the order of `_MOVES`."""
    return (
        finding.severity, finding.title, finding.amount_at_risk, finding.currency, finding.payout_id,
        finding.resource_id, finding.doc_key, _to_text(finding.evidence), finding.suggested_action,
        finding.fact_on, finding.due_on, finding.customer_name,
    )  # fmt: skip


def _to_text(evidence: Mapping[str, Any]) -> str:
    return msgspec.json.format(msgspec.json.encode(evidence, order="sorted"), indent=0).decode()


def _see_again(result: Merge, row: ExceptionState, finding: Finding, seen: Seen) -> None:
    """A row resolved by absence opens again; one a person resolved does so only when what is at risk changed."""
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


def _change(result: Merge, row: ExceptionState, change: str, values: dict[str, Any]) -> None:
    result.changed[row.id] = values | {"version": row.version + 1}
    result.history.append(Remembered(row.id, change, *_words(row, change, values)))


def _words(row: ExceptionState, change: str, values: Mapping[str, Any]) -> tuple[str, str]:
    if change == "amount":
        return str(row.amount_at_risk), str(values["amount_at_risk"])
    return row.resolution or row.state, str(values["resolution"] or values["state"])
