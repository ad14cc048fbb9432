"""What becomes of exceptions when a run has spoken: opened, seen again, moved, reopened, gone; pure.

Their identity is connection, code and subject. A run resolves by absence only what it could have seen: it must be
complete (else only its own DATA_GAPs), and the exception inside its scope. A run whose as-of day is before that of the
last complete run leaves the list alone, one whose day no data reaches yet notes only its DATA_GAPs, and no run touches
a row that was last seen or resolved on a later day.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import Any

from consumer.facts.bankdays import BankCalendar
from reconcile.rules.inputs import Finding
from reconcile.tables import ExceptionRow

ID_LENGTH = 16
BUCKETS = ((1, "0-1"), (3, "2-3"), (7, "4-7"), (30, "8-30"))
OLDEST_BUCKET = "over 30"
RUN = "run"
_MOVES = ("severity", "title", "amount_at_risk", "currency", "payout_id", "resource_id", "doc_key", "evidence",
          "suggested_action")  # fmt: skip


class State(StrEnum):
    OPEN = "open"
    RESOLVED = "resolved"


GONE = "gone"
DATA_GAP = "DATA_GAP"


@dataclass(frozen=True, slots=True)
class Seen:
    """What one run says about exceptions as a whole."""

    connection: str
    run_id: str
    as_of: date
    at: datetime
    complete: bool
    findings: tuple[Finding, ...]
    is_ahead: bool = False


@dataclass(slots=True)
class Merge:
    """Rows to insert, columns to change by exception id, and the history of both."""

    opened: list[dict[str, Any]] = field(default_factory=list)
    changed: dict[str, dict[str, Any]] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)


def exception_id(connection: str, code: str, subject: str) -> str:
    return hashlib.sha256(f"{connection}|{code}|{subject}".encode()).hexdigest()[:ID_LENGTH]


def merge(known: Iterable[ExceptionRow], seen: Seen, *, in_scope: Mapping[str, bool]) -> Merge:
    """Build what to write; `in_scope` says of each known row whether this run could have found it."""
    result = Merge()
    rows = {row.id: row for row in known}
    noted = [finding for finding in seen.findings if finding.code == DATA_GAP or not seen.is_ahead]
    found = {exception_id(seen.connection, finding.code, finding.subject): finding for finding in noted}
    for identity, finding in found.items():
        if identity not in rows:
            _open(result, identity, finding, seen)
        elif not _is_newer(rows[identity], seen.as_of):
            _see_again(result, rows[identity], finding, seen)
    for identity, row in rows.items():
        may_resolve = seen.complete or row.code == DATA_GAP
        is_absent = identity not in found and row.state == State.OPEN and in_scope.get(identity, False)
        if is_absent and may_resolve and not _is_newer(row, seen.as_of):
            values = {"state": State.RESOLVED, "resolved_on": seen.as_of, "resolution": GONE}
            _change(result, row, "gone", values, seen)
    return result


def _is_newer(row: ExceptionRow, as_of: date) -> bool:
    # A gap is about the data, not about a day: the next run that looks says whether it is still there.
    return row.code != DATA_GAP and max(row.last_seen_on, row.resolved_on or row.last_seen_on) > as_of


def _columns(finding: Finding) -> dict[str, Any]:
    values = {name: getattr(finding, name) for name in _MOVES}
    return values | {"evidence": json.dumps(finding.evidence, ensure_ascii=False, sort_keys=True)}


def _open(result: Merge, identity: str, finding: Finding, seen: Seen) -> None:
    result.opened.append(
        _columns(finding)
        | {
            "connection": seen.connection, "id": identity, "code": finding.code, "subject": finding.subject,
            "opened_on": seen.as_of, "last_seen_on": seen.as_of, "state": State.OPEN, "owner": "", "note": "",
            "resolution": "", "resolved_on": None, "run_first": seen.run_id, "run_last": seen.run_id, "version": 1,
        }
    )  # fmt: skip
    _remember(result, identity, "opened", "", str(finding.amount_at_risk), seen)


def _see_again(result: Merge, row: ExceptionRow, finding: Finding, seen: Seen) -> None:
    """A row resolved by absence opens again; one a person resolved does so only when what is at risk changed."""
    moved = {name: value for name, value in _columns(finding).items() if getattr(row, name) != value}
    values = {"last_seen_on": seen.as_of, "run_last": seen.run_id} | moved
    reopens = row.state == State.RESOLVED and (row.resolution == GONE or "amount_at_risk" in moved)
    if reopens:
        values |= {"state": State.OPEN, "resolved_on": None, "resolution": ""}
        _change(result, row, "reopened", values, seen)
    elif "amount_at_risk" in moved:
        _change(result, row, "amount", values, seen)
    else:
        result.changed[row.id] = values


def _change(result: Merge, row: ExceptionRow, change: str, values: dict[str, Any], seen: Seen) -> None:
    before, after = _words(row, change, values)
    result.changed[row.id] = values | {"version": row.version + 1}
    _remember(result, row.id, change, before, after, seen)


def _words(row: ExceptionRow, change: str, values: Mapping[str, Any]) -> tuple[str, str]:
    if change == "amount":
        return str(row.amount_at_risk), str(values["amount_at_risk"])
    return row.resolution or row.state, str(values["resolution"] or values["state"])


def _remember(result: Merge, identity: str, change: str, before: str, after: str, seen: Seen) -> None:
    result.history.append(
        {
            "connection": seen.connection, "exception_id": identity, "at": seen.at, "author": f"{RUN} {seen.run_id}",
            "change": change, "before": before, "after": after,
        }
    )  # fmt: skip


def age_in_bank_days(opened_on: date, on: date, calendar: BankCalendar) -> int:
    """Bank days an exception has been open; never below zero."""
    return max(0, calendar.days_between(opened_on, on))


def age_bucket(age: int) -> str:
    return next((name for limit, name in BUCKETS if age <= limit), OLDEST_BUCKET)
