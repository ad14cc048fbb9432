"""What stands, what changed, and which changes are to be sent: one row for each cause, written under one lock."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import partial

import structlog
from sqlmodel import Session, col, select

from consumer.facts.alarms import Severity, Signal
from consumer.facts.store import Turn, take_turn
from consumer.facts.tables.alarms import Alarm
from consumer.facts.work import WorkError

log = structlog.get_logger("cuadre.alarms")

# What comes back sooner is the same alarm.
SETTLED = timedelta(minutes=5)


class Kind(StrEnum):
    """How an alarm changed."""

    RAISED = "raised"
    MORE = "more"
    RESOLVED = "resolved"


@dataclass(frozen=True, slots=True)
class Change:
    """One change to be sent."""

    kind: Kind
    alarm: Alarm


def update(session: Session, found: Iterable[Signal], *, now: datetime, is_quiet: bool) -> list[Change]:
    """Write what stands now and return the changes to be sent, which the caller sends or stores in this transaction.

    1. Of several workers one at a time is here; the second finds no change left.
    2. A cause found anew, or graver than before, is due; one that was over for less than five minutes goes on.
    3. A cause that is not found any more is over, and its end is due five minutes later.
    4. In quiet hours what is not high stays due.
    """
    take_turn(session, Turn.ALARMS)
    known = {(alarm.connection, alarm.cause): alarm for alarm in session.exec(select(Alarm))}
    for signal in found:
        alarm = known.get((signal.connection, signal.cause))
        if alarm is None:
            alarm = known[signal.connection, signal.cause] = _begin(signal, now)
            session.add(alarm)
        _raise(alarm, signal, now)
    for alarm in known.values():
        if alarm.ended_at is None and alarm.seen_at < now:
            alarm.ended_at = now
            log.info("alarm over", connection=alarm.connection, cause=alarm.cause)
    return [change for alarm in known.values() if (change := _change_of(alarm, now=now, is_quiet=is_quiet)) is not None]


def _begin(signal: Signal, now: datetime) -> Alarm:
    return Alarm(
        connection=signal.connection, cause=signal.cause, severity="", since=now, seen_at=now, ended_at=now,
        count=0, amounts="{}", found="",
    )  # fmt: skip


def _raise(alarm: Alarm, signal: Signal, now: datetime) -> None:
    if alarm.ended_at is not None and alarm.notified_at is None:
        alarm.since, alarm.acknowledged_by, alarm.acknowledged_at = now, "", None
        log.warning("alarm", connection=signal.connection, cause=signal.cause, found=signal.found)
    elif signal.severity.rank > Severity(alarm.severity).rank:
        alarm.notified_at = None
        log.warning("alarm graver", connection=signal.connection, cause=signal.cause, found=signal.found)
    alarm.ended_at, alarm.seen_at, alarm.severity = None, now, signal.severity
    alarm.count, alarm.amounts, alarm.found = signal.count, json.dumps(dict(signal.amounts)), signal.found
    alarm.mark = signal.mark


def _change_of(alarm: Alarm, *, now: datetime, is_quiet: bool) -> Change | None:
    make = partial(Change, alarm=alarm)
    if is_quiet and alarm.severity != Severity.HIGH:
        return None
    if alarm.ended_at is None and alarm.notified_at is None:
        alarm.notified_at, alarm.notified_mark = now, alarm.mark
        return make(Kind.RAISED)
    if alarm.ended_at is None:
        if alarm.acknowledged_by or alarm.mark <= alarm.notified_mark:
            return None
        alarm.notified_at, alarm.notified_mark = now, alarm.mark
        return make(Kind.MORE)
    if alarm.notified_at is None or now - alarm.ended_at < SETTLED:
        return None
    alarm.notified_at = None
    return make(Kind.RESOLVED)


def list_standing(session: Session) -> Sequence[Alarm]:
    """Return what stands, gravest first, then oldest."""
    found = session.exec(select(Alarm).where(col(Alarm.ended_at).is_(None)))
    return sorted(found, key=lambda alarm: (-Severity(alarm.severity).rank, alarm.since, alarm.cause))


def acknowledge(session: Session, connection: str, cause: str, *, by: str, now: datetime) -> None:
    """Keep an alarm that stands from sending that there is more of it, until it is over; raise WorkError if none is."""
    take_turn(session, Turn.ALARMS)
    alarm = session.get(Alarm, (connection, cause))
    if alarm is None or alarm.ended_at is not None:
        raise WorkError(f"no alarm {cause!r} stands; cuadre alerts list shows those that do")
    alarm.acknowledged_by, alarm.acknowledged_at = alarm.acknowledged_by or by, alarm.acknowledged_at or now
    session.add(alarm)
