"""Retention: bodies go after the stated days, identity, digests and times stay for ever."""

from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from consumer.facts.settings import Settings
from consumer.facts.store import Store
from consumer.facts.tables.columns import core_of
from consumer.facts.tables.inbox import Event, EventConflict, EventState

_EVENT = core_of(Event)
_CONFLICT = core_of(EventConflict)
_DONE = (EventState.APPLIED.value, EventState.IGNORED.value)
_ROWS_AT_ONCE = 1_000


def prune(store: Store, settings: Settings, *, now: datetime) -> int:
    """Drop the bodies of settled events and of conflicts older than the retention; returns how many.

    What still waits, failed or is in quarantine keeps its body, however old. A thousand rows a transaction, so that
    receiving never waits long.
    """
    before = now - timedelta(days=settings.retention_days)
    settled = sa.and_(_EVENT.c.received_at < before, _EVENT.c.state.in_(_DONE))
    return _drop(store, _EVENT, settled) + _drop(store, _CONFLICT, _CONFLICT.c.seen_at < before)


def _drop(store: Store, table: sa.Table, condition: sa.ColumnElement[bool]) -> int:
    keys: list[sa.ColumnElement[Any]] = list(table.primary_key)
    some = sa.select(*keys).where(condition, table.c.body.is_not(None)).limit(_ROWS_AT_ONCE)
    statement = sa.update(table).where(sa.tuple_(*keys).in_(some)).values(body=None)
    dropped = 0
    while True:
        with store.connection() as connection:
            count = connection.execute(statement).rowcount
        dropped += count
        if count < _ROWS_AT_ONCE:
            return dropped
