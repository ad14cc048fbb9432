"""Applying events: effect and `applied` in one transaction, a failing event backs off alone, poison is set aside."""

import json
import logging
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Self

import sqlalchemy as sa
from sqlmodel import Session

from consumer.facts.clock import utc_now
from consumer.facts.meaning import read_json
from consumer.facts.settings import Settings
from consumer.facts.store import Store
from consumer.facts.tables.inbox import EventState
from consumer.facts.versions import Change, Known, MixedModesError, merge_all
from consumer.inbox.claims import Claimed, EventOutcome, LeaseLostError, claim, record_outcomes
from consumer.inbox.handlers import HANDLERS, Handler
from consumer.provider.rows import Observation, UnusableObjectError

BATCH = 500
_LONGEST_WAIT = timedelta(hours=1)
_JITTER = random.SystemRandom()
_LOG = logging.getLogger(__name__)

Now = Callable[[], datetime]


@dataclass(slots=True)
class Applied:
    """How many events a round took and what became of them."""

    claimed: int = 0
    applied: int = 0
    ignored: int = 0
    failed: int = 0
    quarantined: int = 0
    types_ignored: set[str] = field(default_factory=set)

    def __iadd__(self, other: "Applied") -> Self:
        self.claimed += other.claimed
        self.applied += other.applied
        self.ignored += other.ignored
        self.failed += other.failed
        self.quarantined += other.quarantined
        self.types_ignored |= other.types_ignored
        return self

    def count(self, settled: Sequence[EventOutcome]) -> None:
        for one in settled:
            setattr(self, one.state.value, getattr(self, one.state.value) + 1)
            if one.state is EventState.IGNORED:
                self.types_ignored.add(one.event.type)


def drain(store: Store, settings: Settings, *, worker: str, now: Now = utc_now, batch: int = BATCH) -> Applied:
    """Apply events until none is due."""
    total = Applied()
    while (some := apply_pending(store, settings, worker=worker, now=now, batch=batch)).claimed:
        total += some
    return total


def apply_pending(
    store: Store,
    settings: Settings,
    *,
    worker: str,
    now: Now = utc_now,
    batch: int = BATCH,
    handlers: Mapping[str, Handler] = HANDLERS,
) -> Applied:
    """Apply one batch.

    1. Claim due events with a lease, in a transaction of its own, so that a dead worker's events return.
    2. Turn each event into rows, outside any transaction: what cannot be read is quarantined, what fails backs off.
    3. Merge all rows and write `applied`, in one transaction. Where the database refuses, each event gets a savepoint.
    """
    with store.connection() as connection:
        claimed = claim(connection, worker=worker, now=now(), limit=batch)
    outcome = Applied(claimed=len(claimed))
    if not claimed:
        return outcome
    work = Work(settings, now(), handlers)
    prepared = [work.prepare(event) for event in claimed]
    try:
        with store.transaction() as session:
            settled = work.carry_out(session, prepared)
            record_outcomes(session.connection(), settled, worker=worker, now=now())
    except LeaseLostError:
        _LOG.warning("a lease ended before its %d events were applied; another worker has them", len(claimed))
        return outcome
    outcome.count(settled)
    for name in sorted(outcome.types_ignored):
        _LOG.warning("events of type %r are kept and ignored: no handler", name)
    return outcome


@dataclass(frozen=True, slots=True)
class Prepared:
    """An event with the rows it observed, or with what already stopped it."""

    event: Claimed
    rows: Sequence[Known] = ()
    stopped: EventOutcome | None = None


@dataclass(frozen=True, slots=True)
class Work:
    """What one batch is applied with."""

    settings: Settings
    now: datetime
    handlers: Mapping[str, Handler]

    def prepare(self, event: Claimed) -> Prepared:
        handler = self.handlers.get(event.type)
        if handler is None:
            return Prepared(event, stopped=EventOutcome(event, EventState.IGNORED))
        try:
            data, seen = self._read(event)
            return Prepared(event, handler(data, seen))
        except UnusableObjectError as problem:
            return Prepared(event, stopped=EventOutcome(event, EventState.QUARANTINED, str(problem)))
        except Exception as problem:  # noqa: BLE001 - one bad event must not stop the others
            return Prepared(event, stopped=self.failure(event, problem))

    def _read(self, event: Claimed) -> tuple[Any, Observation]:
        if event.body is None:
            raise UnusableObjectError("the body was pruned by retention")
        connection = self.settings.connection(event.connection)
        if event.mode != connection.mode:
            raise UnusableObjectError(f"mode is {event.mode!r} but connection {connection.name} is {connection.mode}")
        if event.created_at is None:
            raise UnusableObjectError("created_at is not an ISO 8601 time with a zone")
        try:
            data = read_json(event.body)["data"]
        except (json.JSONDecodeError, UnicodeDecodeError, KeyError):
            raise UnusableObjectError("the body holds no readable data") from None
        except ValueError:
            raise UnusableObjectError("a number is too large to be read") from None
        seen = Observation(connection.name, connection.mode, event.created_at, event.id)
        return data, seen

    def carry_out(self, session: Session, prepared: Sequence[Prepared]) -> list[EventOutcome]:
        """Merge the rows of all events at once; where that fails, one event at a time, so that only one is blamed."""
        good = [one for one in prepared if one.stopped is None]
        stopped = [one.stopped for one in prepared if one.stopped is not None]
        try:
            with session.begin_nested():
                merge_all(session, [row for one in good for row in one.rows])
            return [*stopped, *(EventOutcome(one.event, EventState.APPLIED) for one in good)]
        except (sa.exc.DBAPIError, sa.exc.StatementError, MixedModesError, ValueError, TypeError):
            return [*stopped, *(self.carry_out_alone(session, one)[0] for one in good)]

    def carry_out_alone(self, session: Session, one: Prepared) -> tuple[EventOutcome, Sequence[Change]]:
        """Merge the rows of one event in a savepoint, and say what became of it and what it changed."""
        try:
            with session.begin_nested():
                changes = merge_all(session, one.rows)
            return EventOutcome(one.event, EventState.APPLIED), changes
        except (MixedModesError, UnusableObjectError) as problem:
            return EventOutcome(one.event, EventState.QUARANTINED, str(problem)), ()
        except sa.exc.OperationalError:
            raise
        except Exception as problem:  # noqa: BLE001 - one bad event must not stop the others
            return self.failure(one.event, problem), ()

    def failure(self, event: Claimed, problem: Exception) -> EventOutcome:
        """Back off, twice as long each time and never in step with others; give up after the last attempt."""
        # The message of an unforeseen error may quote data, so only its name is kept.
        reason = f"{type(problem).__name__} while applying {event.type}"
        if event.attempts + 1 >= self.settings.max_attempts:
            return EventOutcome(
                event, EventState.QUARANTINED, f"{reason}; given up after {event.attempts + 1} attempts"
            )
        wait = min(timedelta(seconds=2**event.attempts), _LONGEST_WAIT) * _JITTER.uniform(0.5, 1.5)
        return EventOutcome(event, EventState.FAILED, reason, self.now + wait)
