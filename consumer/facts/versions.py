"""Provider objects joined from all that was observed of them, so that any order of arrival ends in the same rows.

An observation's version is (version_at, version_rank, version_event). Every top-level field of the body is decided
on its own: the newest observation that carries it wins, and equal versions are decided by the larger text. Fields
that the newest observation lacks stay, and the body's `cuadre:kept` says from which version each of those is.
Columns are read again from the joined body; columns that say when a state was first reached take the earliest.
"""

import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from itertools import groupby
from typing import Any, cast

import msgspec
import sqlalchemy as sa
from sqlmodel import Session

from consumer.facts.bulk import insert_new_rows, insert_rows
from consumer.facts.clock import format_instant, to_instant, utc_now
from consumer.facts.erasures import read_subjects
from consumer.facts.meaning import REPLACED, JsonObject, read_json, to_json
from consumer.facts.store import Row, RowKey, one_of, to_ids
from consumer.facts.tables.provider import ProviderObject
from consumer.facts.tables.types import core_of

KEPT = "cuadre:kept"
WRITTEN = "written_at"
_LOG = logging.getLogger(__name__)

Version = tuple[datetime, int, str]
Reread = Callable[[Mapping[str, object]], Row]
Table = type[ProviderObject]
Key = tuple[str, str, str]


class MixedModesError(Exception):
    """The same id was seen in live and in test mode of one connection, which must never happen."""


@dataclass(frozen=True, slots=True)
class _Reading:
    reread: Reread
    earliest: tuple[str, ...]
    empty: dict[str, None]


_READINGS: dict[Table, _Reading] = {}


def register(table: Table, reread: Reread, earliest: tuple[str, ...]) -> None:
    """Set how a table's columns are read from a body, and which of its columns keep the earliest time seen."""
    empty = dict.fromkeys(column.name for column in _said(core_of(table)))
    _READINGS[table] = _Reading(reread, earliest, empty)


class Known(msgspec.Struct):
    """An object's body, whose fields come from `version` but for those that `kept` names with another.

    `ready` spares reading the columns and writing the body of one lone observation twice; `stored` is the row this
    was read from, if any.
    """

    table: Table
    connection: str
    id: str
    mode: str
    version: Version
    body: JsonObject
    kept: dict[str, Version]
    reached: dict[str, datetime | None]
    gone_at: datetime | None
    ready: tuple[Row, str] | None = None
    stored: Row | None = None

    @property
    def key(self) -> Key:
        return (str(self.table.__tablename__), self.connection, self.id)

    def candidate(self, name: str) -> tuple[Version, object]:
        return (self.kept.get(name, self.version), self.body[name])


class Change(msgspec.Struct, frozen=True):
    """What a merge did, or would do, to one object."""

    known: Known
    after: Row

    @property
    def before(self) -> Row | None:
        return self.known.stored

    @property
    def columns(self) -> list[str]:
        """Return the columns that differ; of a new object, all that have a value."""
        before = self.before or dict.fromkeys(self.after)
        return sorted(name for name, value in self.after.items() if before[name] != value)


def merge_all(session: Session, rows: Sequence[Known]) -> list[Change]:
    """Merge observations of any kinds and return what changed; locks are taken in sorted order, so none deadlock."""
    wanted = _combine(redact(session, rows))
    if not wanted:
        return []
    while True:
        with session.begin_nested() as attempt:
            found = _changes(session, wanted, lock=True)
            if _write(session, found):
                _tell_replaced(found)
                return found
            # Another transaction inserted one of these first. What this one inserted it gives back before it locks
            # that row: its holder may be waiting for exactly this.
            attempt.rollback()


def _tell_replaced(written: Iterable[Change]) -> None:
    """Log each column that now holds a text with a replaced character: once, as a later reading changes nothing."""
    for change in written:
        before = change.before or {}
        names = [name for name in replaced_columns(change.after) if change.after[name] != before.get(name)]
        if names:
            kind, connection, identity = change.known.key
            columns = ", ".join(names)
            _LOG.warning(
                "%s %s of %s: U+FFFD in %s for a character that no text holds", kind, identity, connection, columns
            )


def preview(session: Session, rows: Sequence[Known]) -> list[Change]:
    """Return what merging the observations would change, without writing."""
    return _changes(session, _combine(redact(session, rows)), lock=False)


def redact(session: Session, rows: Sequence[Known]) -> Sequence[Known]:
    """Return observations as they may be kept: without what they say of people who were erased."""
    subjects = read_subjects(session.connection()) if rows else None
    if subjects is None:
        return rows
    return [
        msgspec.structs.replace(one, body=subjects.redact(one.body), ready=None) if subjects.is_in(one.body) else one
        for one in rows
    ]


def _combine(rows: Iterable[Known]) -> dict[Key, Known]:
    combined: dict[Key, Known] = {}
    for known in rows:
        key = known.key
        combined[key] = join(combined[key], known) if key in combined else known
    return dict(sorted(combined.items()))


def _changes(session: Session, wanted: Mapping[Key, Known], *, lock: bool) -> list[Change]:
    stored = _read(session, wanted.values(), lock=lock)
    joined = [join(stored[key], known) if key in stored else known for key, known in wanted.items()]
    found = [Change(known, to_values(known)) for known in joined]
    return [change for change in found if change.before != change.after]


def _read(session: Session, wanted: Iterable[Known], *, lock: bool) -> dict[Key, Known]:
    found: dict[Key, Known] = {}
    database = session.connection()
    for (_, connection), group in groupby(wanted, key=lambda known: known.key[:2]):
        some = list(group)
        statement = _select_rows(core_of(some[0].table), database.dialect.name, lock=lock)
        given = {"of_connection": connection, "ids": to_ids(known.id for known in some)}
        for row in database.execute(statement, given).mappings():
            stored = dict(row)
            known = from_values(some[0].table, stored)
            known.stored = stored
            found[known.key] = known
    return found


@cache
def _select_rows(core: sa.Table, dialect: str, *, lock: bool) -> sa.Select[*tuple[Any, ...]]:
    named = (core.c.connection == sa.bindparam("of_connection")) & one_of(core.c.id, dialect)
    statement: sa.Select[*tuple[Any, ...]] = sa.select(*_said(core)).where(named).order_by(core.c.id)
    return statement.with_for_update(of=core) if lock else statement


def stamp(core: sa.Table) -> Row:
    """Return when a row is written now, for tables that keep it."""
    return {WRITTEN: utc_now()} if WRITTEN in core.c else {}


def _said(core: sa.Table) -> list[sa.ColumnElement[Any]]:
    """Return the columns that observations decide: when a row was written is no part of what it says."""
    return [column for column in core.columns if column.name != WRITTEN]


def _write(session: Session, found: Sequence[Change]) -> bool:
    """Write the changed rows; False, with a part written, if another transaction inserted one of them meanwhile."""
    for table, group in groupby(found, key=lambda change: change.known.table):
        some = list(group)
        new = [change for change in some if change.before is None]
        if new:
            inserted = _insert(session, core_of(table), [change.after for change in new])
            if len(inserted) < len(new):
                return False
        old = [change.after for change in some if change.before is not None]
        if old:
            _update(session, core_of(table), old)
    return True


def _insert(session: Session, core: sa.Table, rows: list[Row]) -> set[RowKey]:
    written = stamp(core)
    connection, names = session.connection(), (*rows[0], *written)
    values = [[*row.values(), *written.values()] for row in rows]
    if connection.dialect.name == "sqlite":
        # The one writer has just read that these are not there.
        insert_rows(connection, core, names, values)
        return {(row["connection"], row["id"]) for row in rows}
    return insert_new_rows(connection, core, names, values, key=("connection", "id"))


def _update(session: Session, core: sa.Table, rows: list[Row]) -> None:
    keys = {"connection": "of_connection", "id": "of_id"}
    statement = (
        sa.update(core)
        .where(core.c.connection == sa.bindparam("of_connection"), core.c.id == sa.bindparam("of_id"))
        .values({column.name: sa.bindparam(column.name) for column in core.columns if column.name not in keys})
    )
    written = stamp(core)
    renamed = [{keys.get(name, name): value for name, value in row.items()} | written for row in rows]
    session.connection().execute(statement, renamed)


def from_values(table: Table, values: Row) -> Known:
    version = (values["version_at"], values["version_rank"], values["version_event"])
    body = read_json(values["body"])
    marks = cast("dict[str, tuple[str, int, str]]", body.pop(KEPT, {}))
    kept = {name: _to_version(mark) for name, mark in marks.items()}
    return Known(
        table=table,
        connection=values["connection"],
        id=values["id"],
        mode=values["mode"],
        version=version,
        body=body,
        kept=kept,
        reached={name: values[name] for name in _READINGS[table].earliest},
        gone_at=values["gone_at"],
    )


def to_values(known: Known) -> Row:
    """Return every column of the row that holds what is known."""
    reading = _READINGS[known.table]
    columns, text = known.ready or _reread(known, reading)
    at, rank, event = known.version
    own = {
        "connection": known.connection,
        "id": known.id,
        "mode": known.mode,
        "version_at": at,
        "version_rank": rank,
        "version_event": event,
        "gone_at": known.gone_at,
        "body": text,
    }
    return reading.empty | columns | known.reached | own


def _reread(known: Known, reading: _Reading) -> tuple[Row, str]:
    kept = {name: _to_mark(version) for name, version in known.kept.items()}
    return reading.reread(known.body), to_json(known.body | {KEPT: kept} if kept else known.body)


def join(ours: Known, theirs: Known) -> Known:
    if ours.mode != theirs.mode:
        raise MixedModesError(f"{ours.table.__tablename__} {ours.id} is {ours.mode} here and {theirs.mode} there")
    version = max(ours.version, theirs.version)
    body: Row = {}
    kept: dict[str, Version] = {}
    for name in ours.body | theirs.body:
        candidates = [one.candidate(name) for one in (ours, theirs) if name in one.body]
        decided, body[name] = _newer(*candidates) if len(candidates) > 1 else candidates[0]
        if decided != version:
            kept[name] = decided
    reached = {name: _earliest(at, theirs.reached[name]) for name, at in ours.reached.items()}
    gone_at = ours.gone_at if ours.gone_at is not None and version[0] <= ours.gone_at else None
    return Known(
        table=ours.table,
        connection=ours.connection,
        id=ours.id,
        mode=ours.mode,
        version=version,
        body=body,
        kept=kept,
        reached=reached,
        gone_at=gone_at,
        stored=ours.stored,
    )


def _newer(ours: tuple[Version, object], theirs: tuple[Version, object]) -> tuple[Version, object]:
    if ours[0] != theirs[0]:
        return ours if ours[0] > theirs[0] else theirs
    return max(ours, theirs, key=lambda candidate: json.dumps(candidate[1], sort_keys=True))


def _earliest(ours: datetime | None, theirs: datetime | None) -> datetime | None:
    return min((at for at in (ours, theirs) if at is not None), default=None)


def _to_mark(version: Version) -> list[object]:
    return [format_instant(version[0]), version[1], version[2]]


def _to_version(mark: tuple[str, int, str]) -> Version:
    return (to_instant(mark[0]), mark[1], mark[2])


def replaced_columns(row: Row) -> list[str]:
    """Return the columns of a row in which a character was replaced; the body still has a NUL as it was sent."""
    if "\\u0000" not in row["body"] and REPLACED not in row["body"]:
        return []
    return [name for name, value in row.items() if isinstance(value, str) and name != "body" and REPLACED in value]
