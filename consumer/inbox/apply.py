"""Applying events: claims are leases, effect and `applied` are one transaction, a failing event backs off alone."""

import json
import logging
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from typing import Self, TypeVar, cast

import msgspec
import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlmodel import Session

from consumer.facts.clock import utc_now
from consumer.facts.meaning import JsonObject, read_json
from consumer.facts.settings import Settings
from consumer.facts.store import Store, one_of, to_ids
from consumer.facts.tables.inbox import Event, EventState
from consumer.facts.tables.types import core_of
from consumer.facts.versions import Change, Known, MixedModesError, merge_all
from consumer.inbox.handlers import HANDLERS, Handler
from consumer.provider.fields import UnusableObjectError
from consumer.provider.rows import Observation

EVENT = core_of(Event)
Now = Callable[[], datetime]
Group = TypeVar("Group")
BATCH = 500
LEASE = timedelta(seconds=60)
_LONGEST_WAIT = timedelta(hours=1)
_JITTER = random.SystemRandom()
_LOG = logging.getLogger(__name__)
# Each line of an event, from its receipt to the run that read it, bears its id.
_EVENTS = logging.getLogger("cuadre.events")

_DUE = (EventState.WAITING.value, EventState.FAILED.value)
_COLUMNS = (
    EVENT.c.connection,
    EVENT.c.id,
    EVENT.c.type,
    EVENT.c.mode,
    EVENT.c.created_at,
    EVENT.c.received_at,
    EVENT.c.state,
    EVENT.c.body,
    EVENT.c.attempts,
)


class LeaseLostError(Exception):
    """Another worker took these events over, because this one was slower than its lease."""


class Claimed(msgspec.Struct, frozen=True):
    """One event in this worker's hands."""

    connection: str
    id: str
    type: str
    mode: str
    created_at: datetime | None
    received_at: datetime
    state: str
    body: bytes | None
    attempts: int


class EventOutcome(msgspec.Struct, frozen=True):
    """What became of a claimed event."""

    event: Claimed
    state: EventState
    error: str | None = None
    next_try_at: datetime | None = None


def claim(connection: Connection, *, worker: str, now: datetime, limit: int) -> list[Claimed]:
    """Take up to `limit` due events, oldest need first, that no living lease holds."""
    due = (
        sa.select(EVENT.c.connection, EVENT.c.id)
        .where(
            EVENT.c.state.in_(_DUE),
            sa.or_(EVENT.c.next_try_at.is_(None), EVENT.c.next_try_at <= now),
            sa.or_(EVENT.c.claimed_until.is_(None), EVENT.c.claimed_until <= now),
        )
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    return _take(connection, due, worker=worker, now=now)


def claim_these(
    connection: Connection, keys: Sequence[tuple[str, str]], *, worker: str, now: datetime
) -> list[Claimed]:
    """Take events by name in any state, unless a living lease holds them."""
    named = (
        sa.select(EVENT.c.connection, EVENT.c.id)
        .where(
            sa.tuple_(EVENT.c.connection, EVENT.c.id).in_(keys),
            sa.or_(EVENT.c.claimed_until.is_(None), EVENT.c.claimed_until <= now),
        )
        .with_for_update(skip_locked=True)
    )
    return _take(connection, named, worker=worker, now=now)


def _take(connection: Connection, wanted: sa.Select[tuple[str, str]], *, worker: str, now: datetime) -> list[Claimed]:
    # A CTE that locks is run once; a plain subquery with a limit may be run again and take more.
    due = wanted.cte("due")
    statement = (
        sa.update(EVENT)
        .where(sa.tuple_(EVENT.c.connection, EVENT.c.id).in_(sa.select(due.c.connection, due.c.id)))
        .values(claimed_by=worker, claimed_until=now + LEASE)
        .returning(*_COLUMNS)
    )
    claimed = [Claimed(*row) for row in connection.execute(statement)]
    return sorted(claimed, key=_key)


def _key(event: Claimed) -> tuple[str, str]:
    return (event.connection, event.id)


def record_outcomes(connection: Connection, settled: Sequence[EventOutcome], *, worker: str, now: datetime) -> None:
    """Write what became of the events, in the transaction of their effects; raise LeaseLostError if one is not ours."""
    dialect = connection.dialect.name
    by_connection = sorted(_group_by(settled, lambda one: one.event.connection).items())
    if dialect != "sqlite":
        # Rows are locked in sorted order before any is written, so that no two transactions wait for each other.
        for name, some in by_connection:
            connection.execute(
                _lock_rows(dialect), {"of_connection": name, "ids": to_ids(one.event.id for one in some)}
            )
    written = 0
    for name, some in by_connection:
        for (state, error, next_try_at), same in _group_by(some, _outcome).items():
            given = {
                "of_connection": name,
                "ids": to_ids(one.event.id for one in same),
                "worker": worker,
                "new_state": state,
                "more": int(state is not EventState.IGNORED),
                "new_error": error,
                "new_try_at": next_try_at,
                "now": now,
            }
            written += connection.execute(_settle_statement(dialect), given).rowcount
    if written != len(settled):
        raise LeaseLostError("the lease on these events ended before they were applied")


def _outcome(one: EventOutcome) -> tuple[EventState, str | None, datetime | None]:
    return (one.state, one.error, one.next_try_at)


def _group_by(settled: Iterable[EventOutcome], key: Callable[[EventOutcome], Group]) -> dict[Group, list[EventOutcome]]:
    groups: dict[Group, list[EventOutcome]] = {}
    for one in settled:
        groups.setdefault(key(one), []).append(one)
    return groups


@cache
def _lock_rows(dialect: str) -> sa.Select[tuple[str, str]]:
    return sa.select(EVENT.c.id).where(_is_named(dialect)).order_by(EVENT.c.id).with_for_update(of=EVENT)


@cache
def _settle_statement(dialect: str) -> sa.Update:
    return (
        sa.update(EVENT)
        .where(_is_named(dialect), EVENT.c.claimed_by == sa.bindparam("worker"))
        .values(
            state=sa.bindparam("new_state"),
            attempts=EVENT.c.attempts + sa.bindparam("more"),
            error=sa.bindparam("new_error"),
            next_try_at=sa.bindparam("new_try_at"),
            settled_at=sa.bindparam("now"),
            claimed_by=None,
            claimed_until=None,
        )
    )


def _is_named(dialect: str) -> sa.ColumnElement[bool]:
    return (EVENT.c.connection == sa.bindparam("of_connection")) & one_of(EVENT.c.id, dialect)


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
    if _EVENTS.isEnabledFor(logging.DEBUG):
        for one in settled:
            fields = {"connection": one.event.connection, "event_id": one.event.id, "state": one.state.value}
            _EVENTS.debug("event applied", extra=fields)
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

    def _read(self, event: Claimed) -> tuple[JsonObject, Observation]:
        if event.body is None:
            raise UnusableObjectError("the body was pruned by retention")
        connection = self.settings.connection(event.connection)
        if event.mode != connection.mode:
            raise UnusableObjectError(f"mode is {event.mode!r} but connection {connection.name} is {connection.mode}")
        if event.created_at is None:
            raise UnusableObjectError("created_at is not an ISO 8601 time with a zone")
        try:
            data = cast("JsonObject", read_json(event.body)["data"])
        except (json.JSONDecodeError, UnicodeDecodeError, KeyError):
            raise UnusableObjectError("the body holds no readable data") from None
        except ValueError:
            raise UnusableObjectError("a number is too large to be read") from None
        seen = Observation(connection.name, connection.mode, event.created_at, event.id)
        return data, seen

    def carry_out(self, session: Session, prepared: Sequence[Prepared]) -> list[EventOutcome]:
        """Merge the rows of all events at once; where that fails, one event at a time, so that only that one fails."""
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
        """Return the outcome of a failure: a longer wait with jitter, or quarantine after the last attempt."""
        # The message of an unforeseen error may quote data, so only its name is kept.
        reason = f"{type(problem).__name__} while applying {event.type}"
        if event.attempts + 1 >= self.settings.max_attempts:
            return EventOutcome(
                event, EventState.QUARANTINED, f"{reason}; given up after {event.attempts + 1} attempts"
            )
        wait = min(timedelta(seconds=2**event.attempts), _LONGEST_WAIT) * _JITTER.uniform(0.5, 1.5)
        return EventOutcome(event, EventState.FAILED, reason, self.now + wait)
