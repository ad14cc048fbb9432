"""Recording events once: the first arrival is kept, the rest are duplicates or conflicts; bodies go in time."""

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import groupby
from operator import attrgetter
from typing import Any

import msgspec
import sqlalchemy as sa
from msgspec.structs import replace

from consumer.facts.bulk import ROWS_A_STATEMENT, insert_new_rows, insert_rows
from consumer.facts.clock import to_instant
from consumer.facts.erasures import IS_NO_ONE_ERASED, Subjects, read_subjects
from consumer.facts.meaning import JsonObject, NotJsonError, meaning_sha256, read_json, read_object, to_json
from consumer.facts.settings import Connection, Settings
from consumer.facts.store import Store, batches, insert_into, one_of, to_ids
from consumer.facts.tables.inbox import Event, EventConflict, EventState, Source
from consumer.facts.tables.types import core_of
from consumer.facts.texts import is_identifier
from consumer.inbox.handlers import HANDLERS, NEEDS_NO_OBJECT

# What a trial delivery of the provider speaks of: an object that exists nowhere.
_MADE_UP = re.compile(r"[a-z]+_0{8,}")


class UnusableEventError(Exception):
    """Authentic bytes that carry no event id, and so cannot be kept once: an HTTP 422."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Arrival(msgspec.Struct, frozen=True, gc=False):
    """One delivery of one event."""

    connection: str
    id: str
    type: str
    mode: str
    created_at: datetime | None
    received_at: datetime
    source: Source
    state: EventState
    error: str | None
    resource_id: str | None
    body: bytes
    raw_sha256: str
    meaning_sha256: str

    @property
    def key(self) -> tuple[str, str]:
        return (self.connection, self.id)


def read_arrival(body: bytes, *, connection: Connection, source: Source | str, received_at: datetime) -> Arrival:
    """Read one event's raw bytes; raises UnusableEventError where there is no object with a usable id."""
    try:
        value = read_object(body)
    except NotJsonError as problem:
        raise UnusableEventError("not_json", str(problem)) from None
    event_id = value.get("id")
    if not is_identifier(event_id):
        raise UnusableEventError("no_id", "the event's id must be text of 1 to 255 printable characters")
    state, error = judge(value, connection)
    data = value.get("data")
    resource = data.get("id") if isinstance(data, dict) else None
    return Arrival(
        connection=connection.name,
        id=event_id,
        type=_text(value.get("type")),
        mode=_text(value.get("mode")),
        created_at=_created_at(value),
        received_at=received_at,
        source=Source(source),
        state=state,
        error=error,
        resource_id=resource if is_identifier(resource) else None,
        body=body,
        raw_sha256=hashlib.sha256(body).hexdigest(),
        meaning_sha256=meaning_sha256(value),
    )


def judge(value: JsonObject, connection: Connection) -> tuple[EventState, str | None]:
    """Decide what becomes of an authentic event: made up, of another mode or unknown type, or to be applied."""
    mode, kind, data = value.get("mode"), value.get("type"), value.get("data")
    if mode is not None and mode != connection.mode:
        shown = repr(mode)[:20]
        return EventState.QUARANTINED, f"mode is {shown} but connection {connection.name} is {connection.mode}"
    if not isinstance(kind, str) or kind not in HANDLERS:
        return EventState.IGNORED, None
    if mode is None:
        return EventState.QUARANTINED, "the event has no mode"
    if not isinstance(data, dict):
        return EventState.QUARANTINED, "data is not an object"
    if kind not in NEEDS_NO_OBJECT and not is_identifier(data.get("id")):
        return EventState.QUARANTINED, "data.id must be text of 1 to 255 printable characters"
    if _created_at(value) is None:
        return EventState.QUARANTINED, "created_at is not an ISO 8601 time with a zone"
    if connection.mode == "test" and _MADE_UP.fullmatch(str(data.get("id"))):
        return EventState.IGNORED, None
    return EventState.WAITING, None


def _text(value: object) -> str:
    """Return text fit for a column, empty where the value is not text or not printable."""
    return value if is_identifier(value) else ""


def _created_at(value: JsonObject) -> datetime | None:
    text = value.get("created_at")
    if not isinstance(text, str):
        return None
    try:
        return to_instant(text)
    except (ValueError, OverflowError):
        return None


__all__ = ["Arrival", "UnusableEventError", "Verdict", "read_arrival", "record_all"]

_EVENT = core_of(Event)
_CONFLICT = core_of(EventConflict)
_COLUMNS = (
    "connection", "id", "type", "mode", "created_at", "received_at", "source", "state", "resource_id", "body",
    "raw_sha256", "meaning_sha256", "arrivals", "last_arrival_at", "listed_at", "attempts", "error",
)  # fmt: skip

Key = tuple[str, str]
Digests = tuple[str, str]


class Verdict(StrEnum):
    STORED = "stored"
    DUPLICATE = "duplicate"
    CONFLICT = "conflict"


def record_all(connection: sa.Connection, arrivals: Sequence[Arrival]) -> list[Verdict]:
    """Record a batch in the caller's transaction and say of each arrival what it was, in the order given.

    The first arrival of an id wins, in the batch as in the table. Keys are taken in sorted order, so two batches
    that share ids wait for each other and never deadlock. Bytes that a backfill reads again are no new arrival.
    """
    by_key = _by_key(arrivals)
    firsts = [same[0] for _, same in sorted(by_key.items())]
    new, known = _INSERTS[connection.dialect.name](connection, firsts)
    if len(new) == len(arrivals):
        return [Verdict.STORED] * len(arrivals)
    known |= {key: (by_key[key][0].meaning_sha256, by_key[key][0].raw_sha256) for key in new}
    verdicts: list[Verdict] = []
    unseen = set(new)
    for arrival in arrivals:
        if arrival.key in unseen:
            unseen.discard(arrival.key)
            verdicts.append(Verdict.STORED)
        elif arrival.meaning_sha256 == known[arrival.key][0]:
            verdicts.append(Verdict.DUPLICATE)
        else:
            verdicts.append(Verdict.CONFLICT)
    judged = list(zip(arrivals, verdicts, strict=True))
    again = [arrival for arrival, verdict in judged if verdict is not Verdict.STORED]
    _count(connection, [one for one in again if one.source is Source.WEBHOOK or one.raw_sha256 != known[one.key][1]])
    others = _redact(connection, [arrival for arrival, verdict in judged if verdict is Verdict.CONFLICT])
    _record_conflicts(connection, others, {key: raw for key, (_, raw) in known.items()})
    return verdicts


def _redact(connection: sa.Connection, arrivals: Sequence[Arrival]) -> Sequence[Arrival]:
    """Return events as they may be kept: digests are those of what came, also where the body is no more."""
    subjects = read_subjects(connection) if arrivals else None
    if subjects is None:
        return arrivals
    return [replace(one, body=redact_body(one.body, subjects) or one.body) for one in arrivals]


def redact_body(body: bytes, subjects: Subjects) -> bytes | None:
    """Return a body without what it says of erased people; None if it says nothing of them."""
    try:
        said = read_json(body)
    except ValueError:
        return None
    return to_json(subjects.redact(said)).encode() if subjects.is_in(said) else None


def mark_listed(connection: sa.Connection, arrivals: Sequence[Arrival]) -> set[Key]:
    """Record when the list first showed events that a webhook had brought; return which these are."""
    marked: set[Key] = set()
    for name, group in groupby(arrivals, key=attrgetter("connection")):
        some = list(group)
        listed = {**_among(name, some), "listed": some[0].received_at}
        marked |= {(name, row[0]) for row in connection.execute(_LISTING[connection.dialect.name], listed)}
    return marked


def is_listing_marked(connection: sa.Connection, name: str) -> bool:
    """Return True if any event of this connection bears `listed_at`."""
    mine = (_EVENT.c.connection == name) & _EVENT.c.listed_at.is_not(None)
    newest = sa.select(_EVENT.c.id).where(mine).order_by(_EVENT.c.created_at.desc()).limit(1)
    return connection.execute(newest).first() is not None


def _by_key(arrivals: Iterable[Arrival]) -> dict[Key, list[Arrival]]:
    grouped: dict[Key, list[Arrival]] = {}
    for arrival in arrivals:
        grouped.setdefault(arrival.key, []).append(arrival)
    return grouped


def _insert_alone(connection: sa.Connection, arrivals: Sequence[Arrival]) -> tuple[set[Key], dict[Key, Digests]]:
    """Look up what is known, then insert the rest: SQLite has one writer, so the look-up stays true."""
    arrivals = _redact(connection, arrivals)
    if 0 < len(arrivals) <= ROWS_A_STATEMENT and arrivals[0].source is Source.WEBHOOK:
        # Nearly all of them are new, and a refused statement leaves no row behind.
        with suppress(sa.exc.IntegrityError):
            insert_rows(connection, _EVENT, _COLUMNS, map(_to_values, arrivals))
            return {arrival.key for arrival in arrivals}, {}
    known = _read_known(connection, arrivals)
    new = [arrival for arrival in arrivals if arrival.key not in known] if known else arrivals
    insert_rows(connection, _EVENT, _COLUMNS, map(_to_values, new))
    return {arrival.key for arrival in new}, known


def _insert_among_others(connection: sa.Connection, arrivals: Sequence[Arrival]) -> tuple[set[Key], dict[Key, Digests]]:
    """Insert what no other transaction has, then read the rest, in an order that never deadlocks."""
    # Nearly always no one was erased, and to ask before costs a third of the writer's time.
    new = _insert_new(connection, arrivals, only_if=IS_NO_ONE_ERASED)
    if not new and (redacted := _redact(connection, arrivals)) is not arrivals:
        new = _insert_new(connection, redacted)
    return new, _read_known(connection, [arrival for arrival in arrivals if arrival.key not in new])


def _insert_new(connection: sa.Connection, arrivals: Sequence[Arrival], *, only_if: str = "true") -> set[Key]:
    rows = list(map(_to_values, arrivals))
    inserted = insert_new_rows(connection, _EVENT, _COLUMNS, rows, key=("connection", "id"), only_if=only_if)
    return {(str(name), str(identity)) for name, identity in inserted}


_INSERTS: dict[str, Callable[[sa.Connection, Sequence[Arrival]], tuple[set[Key], dict[Key, Digests]]]] = {
    "sqlite": _insert_alone,
    "postgresql": _insert_among_others,
}


def _to_values(arrival: Arrival) -> tuple[object, ...]:
    """Write an event's first row in the order of `_COLUMNS`."""
    return (
        arrival.connection,
        arrival.id,
        arrival.type,
        arrival.mode,
        arrival.created_at,
        arrival.received_at,
        arrival.source.value,
        arrival.state.value,
        arrival.resource_id,
        arrival.body,
        arrival.raw_sha256,
        arrival.meaning_sha256,
        1,
        arrival.received_at,
        arrival.received_at if arrival.source is Source.BACKFILL else None,
        0,
        arrival.error,
    )


def _read_known(connection: sa.Connection, arrivals: Sequence[Arrival]) -> dict[Key, Digests]:
    """Read and lock what is stored under these ids: meaning and raw digest."""
    found: dict[Key, Digests] = {}
    for name, group in groupby(arrivals, key=attrgetter("connection")):
        for row in connection.execute(_KNOWN[connection.dialect.name], _among(name, group)):
            found[row[0], row[1]] = (row[2], row[3])
    return found


def _among(name: str, arrivals: Iterable[Arrival]) -> dict[str, str]:
    return {"of_connection": name, "ids": to_ids(arrival.id for arrival in arrivals)}


_NAMED = {
    dialect: (_EVENT.c.connection == sa.bindparam("of_connection")) & one_of(_EVENT.c.id, dialect)
    for dialect in ("sqlite", "postgresql")
}
_DIGESTS = sa.select(_EVENT.c.connection, _EVENT.c.id, _EVENT.c.meaning_sha256, _EVENT.c.raw_sha256)
_KNOWN = {
    dialect: _DIGESTS.where(named).order_by(_EVENT.c.id).with_for_update(of=_EVENT) for dialect, named in _NAMED.items()
}
_LISTING = {
    dialect: sa.update(_EVENT)
    .where(named, _EVENT.c.listed_at.is_(None))
    .values(listed_at=sa.bindparam("listed"))
    .returning(_EVENT.c.id)
    for dialect, named in _NAMED.items()
}


def _count(connection: sa.Connection, arrivals: Sequence[Arrival]) -> None:
    if not arrivals:
        return
    statement = (
        sa.update(_EVENT)
        .where(_EVENT.c.connection == sa.bindparam("of_connection"), _EVENT.c.id == sa.bindparam("of_id"))
        .values(
            arrivals=_EVENT.c.arrivals + sa.bindparam("more"),
            last_arrival_at=sa.case(
                (
                    _EVENT.c.last_arrival_at < sa.bindparam("at", type_=_EVENT.c.last_arrival_at.type),
                    sa.bindparam("at"),
                ),
                else_=_EVENT.c.last_arrival_at,
            ),
        )
    )
    rows = [
        {
            "of_connection": key[0],
            "of_id": key[1],
            "more": len(same),
            "at": max(arrival.received_at for arrival in same),
        }
        for key, same in sorted(_by_key(arrivals).items())
    ]
    connection.execute(statement, rows)


def _record_conflicts(connection: sa.Connection, arrivals: Sequence[Arrival], first_raw: dict[Key, str]) -> None:
    for arrival in sorted(arrivals, key=lambda other: (other.key, other.meaning_sha256)):
        row = {
            "connection": arrival.connection,
            "id": arrival.id,
            "meaning_sha256": arrival.meaning_sha256,
            "first_sha256": first_raw[arrival.key],
            "other_sha256": arrival.raw_sha256,
            "source": arrival.source.value,
            "seen_at": arrival.received_at,
            "times": 1,
            "body": arrival.body,
        }
        connection.execute(
            insert_into(connection, _CONFLICT)
            .values(row)
            .on_conflict_do_update(
                index_elements=[_CONFLICT.c.connection, _CONFLICT.c.id, _CONFLICT.c.meaning_sha256],
                set_={"times": _CONFLICT.c.times + 1},
            )
        )


_DONE = (EventState.APPLIED.value, EventState.IGNORED.value)
# Rows found by one look through the table, and those written in one transaction.
_FOUND_AT_ONCE, _ROWS_AT_ONCE = 100_000, 1_000


def prune(store: Store, settings: Settings, *, now: datetime) -> int:
    """Drop the bodies of settled events and of conflicts older than the retention; return how many.

    What still waits, failed or is in quarantine keeps its body, however old. A thousand rows a transaction, so that
    receiving never waits long.
    """
    before = now - timedelta(days=settings.retention_days)
    # Nearly every event is settled: without statistics PostgreSQL would go through all of them by the index of states.
    unindexed = _EVENT.c.state + ""
    settled = sa.and_(_EVENT.c.received_at < before, sa.or_(*(unindexed == state for state in _DONE)))
    return _drop(store, _EVENT, settled) + _drop(store, _CONFLICT, _CONFLICT.c.seen_at < before)


def _drop(store: Store, table: sa.Table, condition: sa.ColumnElement[bool]) -> int:
    keys: list[sa.ColumnElement[Any]] = list(table.primary_key)
    has_body = sa.and_(condition, table.c.body.is_not(None))
    due = sa.select(*(key.label(f"of_{key.name}") for key in keys)).where(has_body).limit(_FOUND_AT_ONCE)
    mine = (key == sa.bindparam(f"of_{key.name}") for key in keys)
    statement = sa.update(table).where(*mine, has_body).values(body=None)
    dropped = 0
    while True:
        with store.reading() as session:
            found = [dict(row) for row in session.execute(due).mappings()]
        for some in batches(found, _ROWS_AT_ONCE):
            with store.connection() as connection:
                dropped += connection.execute(statement, some).rowcount
        if len(found) < _FOUND_AT_ONCE:
            return dropped
