"""The events a list, a page or a replay means, and applying them again or saying what that would change."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime

import sqlalchemy as sa
from msgspec.structs import replace
from sqlmodel import Session

from consumer.facts.clock import to_utc
from consumer.facts.meaning import NotJsonError, read_object
from consumer.facts.settings import Connection, Settings
from consumer.facts.store import Row, RowKey, Store, batches
from consumer.facts.tables.inbox import CONFLICT_KEYS, EVENT_KEYS, Event, EventConflict, EventReplay, EventState
from consumer.facts.tables.types import core_of
from consumer.facts.versions import Change, MixedModesError, preview
from consumer.inbox.apply import (
    EVENT,
    Claimed,
    EventOutcome,
    LeaseLostError,
    Now,
    Prepared,
    Work,
    claim_these,
    record_outcomes,
)
from consumer.inbox.handlers import HANDLERS
from consumer.inbox.record import judge

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
            tests.append(EVENT.c.type == self.type)
        if self.state is not None:
            tests.append(EVENT.c.state == self.state)
        return sa.and_(sa.or_(*(self._within(connection) for connection in connections)), *tests)

    def _within(self, connection: Connection) -> sa.ColumnElement[bool]:
        tests = [EVENT.c.connection == connection.name]
        since, until = to_utc(self.since, connection.country.zone), to_utc(self.until, connection.country.zone)
        if since is not None:
            tests.append(EVENT.c.created_at >= since)
        if until is not None:
            tests.append(EVENT.c.created_at < until)
        return sa.and_(*tests)


def list_events(
    session: Session, connections: tuple[Connection, ...], wanted: Filter, limit: int | None = None
) -> Iterator[Row]:
    """Yield events newest first by `created_at`, those without one last."""
    statement = (
        sa.select(*(EVENT.c[key] for key in EVENT_KEYS))
        .where(wanted.condition(connections))
        .order_by(EVENT.c.created_at.desc().nulls_last(), EVENT.c.connection, EVENT.c.id.desc())
        .limit(limit)
    )
    yield from _rows(session, statement)


def list_conflicts(session: Session, connections: tuple[Connection, ...], limit: int | None = None) -> Iterator[Row]:
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


def _rows(session: Session, statement: sa.Select[RowKey]) -> Iterator[Row]:
    streamed = session.connection().execution_options(yield_per=_ROWS_AT_ONCE).execute(statement)
    yield from map(dict, streamed.mappings())


KEYS = ("connection", "id", "type", "state_before", "state_after", "changes", "error")
_BATCH = 200
_PRUNED = "the body was pruned by retention"

Name = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Replayed:
    """One event and what applying it again did, or would do."""

    event: Claimed
    settled: EventOutcome
    changes: Sequence[Change] = ()

    @property
    def error(self) -> str | None:
        return self.settled.error

    def to_line(self) -> dict[str, object]:
        return {
            "connection": self.event.connection,
            "id": self.event.id,
            "type": self.event.type,
            "state_before": self.event.state,
            "state_after": self.settled.state.value,
            "changes": "; ".join(_describe(change) for change in self.changes) or None,
            "error": self.error,
        }


@dataclass(frozen=True, slots=True)
class Replay:
    """Replays events of one store; `by` is who asked, for the audit."""

    store: Store
    settings: Settings
    now: Now
    by: str

    def preview(self, names: Sequence[Name]) -> Iterator[Replayed]:
        """Yield what each event would change now, without writing."""
        for some in batches(names, _BATCH):
            with self.store.reading() as session:
                for event in _read(session, some):
                    yield self._preview(session, event)

    def run(self, names: Sequence[Name]) -> Iterator[Replayed]:
        """Apply the events again, a batch a transaction; one that a living worker holds is left to it."""
        for some in batches(names, _BATCH):
            with self.store.reading() as session:
                pruned = [event for event in _read(session, some) if event.body is None]
            yield from (Replayed(event, _leave(event)) for event in pruned)
            gone = {(event.connection, event.id) for event in pruned}
            yield from self._run([name for name in some if name not in gone])

    def _run(self, names: Sequence[Name]) -> list[Replayed]:
        worker = f"replay by {self.by}"
        with self.store.connection() as connection:
            claimed = claim_these(connection, names, worker=worker, now=self.now())
        try:
            with self.store.transaction() as session:
                done = [self._apply(session, event) for event in claimed]
                record_outcomes(session.connection(), [one.settled for one in done], worker=worker, now=self.now())
                session.add_all(self._audit(one) for one in done)
        except LeaseLostError:
            return []
        return done

    def _preview(self, session: Session, event: Claimed) -> Replayed:
        prepared = self._prepare(event)
        if prepared.stopped is not None:
            return Replayed(event, prepared.stopped)
        try:
            return Replayed(event, EventOutcome(event, EventState.APPLIED), preview(session, prepared.rows))
        except MixedModesError as problem:
            return Replayed(event, EventOutcome(event, EventState.QUARANTINED, str(problem)))

    def _apply(self, session: Session, event: Claimed) -> Replayed:
        prepared = self._prepare(event)
        if prepared.stopped is not None:
            return Replayed(event, prepared.stopped)
        return Replayed(event, *self._work().carry_out_alone(session, prepared))

    def _work(self) -> Work:
        return Work(self.settings, self.now(), HANDLERS)

    def _prepare(self, event: Claimed) -> Prepared:
        """Judge the event as if it arrived today, with today's handlers and connections, and its tries begin anew."""
        if event.body is None:
            return Prepared(event, stopped=_leave(event))
        try:
            state, error = judge(read_object(event.body), self.settings.connection(event.connection))
        except NotJsonError as problem:
            state, error = EventState.QUARANTINED, str(problem)
        if state is not EventState.WAITING:
            return Prepared(event, stopped=EventOutcome(event, state, error))
        return self._work().prepare(replace(event, attempts=0))

    def _audit(self, one: Replayed) -> EventReplay:
        return EventReplay(
            connection=one.event.connection,
            event_id=one.event.id,
            replayed_at=self.now(),
            replayed_by=self.by,
            state_before=one.event.state,
            state_after=one.settled.state.value,
            changed=len(one.changes),
        )


def _leave(event: Claimed) -> EventOutcome:
    return EventOutcome(event, EventState(event.state), _PRUNED)


def _read(session: Session, names: Sequence[Name]) -> list[Claimed]:
    columns = [EVENT.c[name] for name in Claimed.__struct_fields__]
    named = sa.tuple_(EVENT.c.connection, EVENT.c.id).in_(names)
    rows = session.connection().execute(sa.select(*columns).where(named).order_by(EVENT.c.connection, EVENT.c.id))
    return [Claimed(*row) for row in rows]


def _describe(change: Change) -> str:
    name = f"{change.known.key[0]} {change.known.id}"
    if change.before is None:
        return f"{name}: new"
    shown = (column for column in change.columns if column != "body" and not column.startswith("version_"))
    words = [f"{column} {change.before[column]} → {change.after[column]}" for column in shown]
    return f"{name}: {', '.join(words) or 'version only'}"


def names_of(session: Session, condition: sa.ColumnElement[bool]) -> list[Name]:
    statement = sa.select(EVENT.c.connection, EVENT.c.id).where(condition).order_by(EVENT.c.created_at, EVENT.c.id)
    return [(row[0], row[1]) for row in session.connection().execute(statement)]
