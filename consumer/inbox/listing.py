"""Which events a list, a page or a replay means: filters, newest first, rows with the contract's keys."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session

from consumer.facts.clock import to_utc
from consumer.facts.settings import Connection
from consumer.facts.tables.columns import core_of
from consumer.facts.tables.inbox import CONFLICT_KEYS, EVENT_KEYS, Event, EventConflict

_EVENT = core_of(Event)
_CONFLICT = core_of(EventConflict)
_ROWS_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class Filter:
    """What to look for; a bare date is local midnight of each connection."""

    type: str | None = None
    state: str | None = None
    since: date | datetime | None = None
    until: date | datetime | None = None

    @property
    def is_empty(self) -> bool:
        return self == Filter()

    def condition(self, connections: tuple[Connection, ...]) -> sa.ColumnElement[bool]:
        tests: list[sa.ColumnElement[bool]] = [sa.true()]
        if self.type is not None:
            tests.append(_EVENT.c.type == self.type)
        if self.state is not None:
            tests.append(_EVENT.c.state == self.state)
        return sa.and_(sa.or_(*(self._within(connection) for connection in connections)), *tests)

    def _within(self, connection: Connection) -> sa.ColumnElement[bool]:
        tests = [_EVENT.c.connection == connection.name]
        since, until = to_utc(self.since, connection.country.zone), to_utc(self.until, connection.country.zone)
        if since is not None:
            tests.append(_EVENT.c.created_at >= since)
        if until is not None:
            tests.append(_EVENT.c.created_at < until)
        return sa.and_(*tests)


def list_events(
    session: Session, connections: tuple[Connection, ...], wanted: Filter, limit: int | None = None
) -> Iterator[dict[str, Any]]:
    """Yield events newest first by `created_at`, those without one last."""
    statement = (
        sa.select(*(_EVENT.c[key] for key in EVENT_KEYS))
        .where(wanted.condition(connections))
        .order_by(_EVENT.c.created_at.desc().nulls_last(), _EVENT.c.connection, _EVENT.c.id.desc())
        .limit(limit)
    )
    yield from _rows(session, statement)


def list_conflicts(
    session: Session, connections: tuple[Connection, ...], limit: int | None = None
) -> Iterator[dict[str, Any]]:
    """Yield what arrived under a known id with another meaning, newest first."""
    names = [connection.name for connection in connections]
    statement = (
        sa.select(*(_CONFLICT.c[key] for key in CONFLICT_KEYS))
        .where(_CONFLICT.c.connection.in_(names))
        .order_by(_CONFLICT.c.seen_at.desc(), _CONFLICT.c.connection, _CONFLICT.c.id, _CONFLICT.c.other_sha256)
        .limit(limit)
    )
    yield from _rows(session, statement)


def find_event(session: Session, connection: str, event_id: str) -> Event | None:
    return session.get(Event, (connection, event_id))


def _rows(session: Session, statement: sa.Select[Any]) -> Iterator[dict[str, Any]]:
    streamed = session.connection().execution_options(yield_per=_ROWS_AT_ONCE).execute(statement)
    yield from map(dict, streamed.mappings())
