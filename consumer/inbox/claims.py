"""Who may apply an event now: claims are leases taken by compare-and-set, and an expired one is taken over."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from consumer.facts.store import one_of, to_ids
from consumer.facts.tables.columns import core_of
from consumer.facts.tables.inbox import Event, EventState

EVENT = core_of(Event)
LEASE = timedelta(seconds=60)

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
    """Take events by name whatever their state, unless a living lease holds them."""
    named = (
        sa.select(EVENT.c.connection, EVENT.c.id)
        .where(
            sa.tuple_(EVENT.c.connection, EVENT.c.id).in_(keys),
            sa.or_(EVENT.c.claimed_until.is_(None), EVENT.c.claimed_until <= now),
        )
        .with_for_update(skip_locked=True)
    )
    return _take(connection, named, worker=worker, now=now)


def _take(connection: Connection, wanted: sa.Select[Any], *, worker: str, now: datetime) -> list[Claimed]:
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
    by_connection = sorted(_grouped(settled, lambda one: one.event.connection).items())
    if dialect != "sqlite":
        # Rows are locked in sorted order before any is written, so that no two transactions wait for each other.
        for name, some in by_connection:
            connection.execute(_locking(dialect), {"of_connection": name, "ids": to_ids(one.event.id for one in some)})
    written = 0
    for name, some in by_connection:
        for (state, error, next_try_at), same in _grouped(some, _outcome).items():
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
            written += connection.execute(_settling(dialect), given).rowcount
    if written != len(settled):
        raise LeaseLostError("the lease on these events ended before they were applied")


def _outcome(one: EventOutcome) -> tuple[EventState, str | None, datetime | None]:
    return (one.state, one.error, one.next_try_at)


def _grouped(settled: Iterable[EventOutcome], key: Callable[[EventOutcome], Any]) -> dict[Any, list[EventOutcome]]:
    groups: dict[Any, list[EventOutcome]] = {}
    for one in settled:
        groups.setdefault(key(one), []).append(one)
    return groups


@cache
def _locking(dialect: str) -> sa.Select[Any]:
    return sa.select(EVENT.c.id).where(_named(dialect)).order_by(EVENT.c.id).with_for_update(of=EVENT)


@cache
def _settling(dialect: str) -> sa.Update:
    return (
        sa.update(EVENT)
        .where(_named(dialect), EVENT.c.claimed_by == sa.bindparam("worker"))
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


def _named(dialect: str) -> sa.ColumnElement[bool]:
    return (EVENT.c.connection == sa.bindparam("of_connection")) & one_of(EVENT.c.id, dialect)
