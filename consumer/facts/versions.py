"""Merging observations of provider objects into their tables, so that any order of arrival ends in the same rows."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import groupby
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlmodel import Session

from consumer.facts.observed import Key, Known, from_row, from_values, join, replaced_columns, to_values
from consumer.facts.store import insert_new, insert_unfolded, one_of, to_ids
from consumer.facts.tables.columns import core_of
from consumer.facts.tables.provider import ProviderObject

Observed = ProviderObject | Known
_LOG = logging.getLogger(__name__)


class Change(msgspec.Struct, frozen=True):
    """What a merge did, or would do, to one object."""

    known: Known
    after: dict[str, Any]

    @property
    def before(self) -> dict[str, Any] | None:
        return self.known.stored

    @property
    def columns(self) -> list[str]:
        """Name the columns that differ; all that have a value where the object is new."""
        before = self.before or dict.fromkeys(self.after)
        return sorted(name for name, value in self.after.items() if before[name] != value)


def merge(session: Session, row: Observed) -> bool:
    """Merge one observation into its table, in the caller's transaction; tells whether anything changed."""
    return bool(merge_all(session, [row]))


def merge_all(session: Session, rows: Sequence[Observed]) -> list[Change]:
    """Merge observations of any kinds and return what changed; locks are taken in sorted order, so none deadlock."""
    wanted = _combine(rows)
    done: list[Change] = []
    while wanted:
        found = _changes(session, wanted, lock=True)
        lost = _write(session, found)
        written = [change for change in found if change.known.key not in lost]
        _tell_replaced(written)
        done += written
        # Another transaction inserted these first; now they can be read and joined.
        wanted = {key: known for key, known in wanted.items() if key in lost}
    return done


def _tell_replaced(written: Iterable[Change]) -> None:
    """Log each column that now holds a text with a replaced character: once, as a later reading changes nothing."""
    for change in written:
        before = change.before or {}
        told = [name for name in replaced_columns(change.after) if change.after[name] != before.get(name)]
        if told:
            kind, connection, identity = change.known.key
            columns = ", ".join(told)
            _LOG.warning(
                "%s %s of %s: U+FFFD in %s for a character that no text holds", kind, identity, connection, columns
            )


def preview(session: Session, rows: Sequence[Observed]) -> list[Change]:
    """Tell what merging the observations would change, and change nothing."""
    return _changes(session, _combine(rows), lock=False)


def _combine(rows: Iterable[Observed]) -> dict[Key, Known]:
    combined: dict[Key, Known] = {}
    for row in rows:
        known = row if isinstance(row, Known) else from_row(row)
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
        statement = _reading(core_of(some[0].table), database.dialect.name, lock=lock)
        given = {"of_connection": connection, "ids": to_ids(known.id for known in some)}
        for row in database.execute(statement, given).mappings():
            stored = dict(row)
            known = from_values(some[0].table, stored)
            known.stored = stored
            found[known.key] = known
    return found


@cache
def _reading(core: sa.Table, dialect: str, *, lock: bool) -> sa.Select[Any]:
    named = (core.c.connection == sa.bindparam("of_connection")) & one_of(core.c.id, dialect)
    statement = sa.select(core).where(named).order_by(core.c.id)
    return statement.with_for_update(of=core) if lock else statement


def _write(session: Session, found: Sequence[Change]) -> set[Key]:
    """Write the changed rows and name those another transaction inserted meanwhile."""
    lost: set[Key] = set()
    for table, group in groupby(found, key=lambda change: change.known.table):
        some = list(group)
        new = [change for change in some if change.before is None]
        if new:
            inserted = _insert(session, core_of(table), [change.after for change in new])
            lost |= {change.known.key for change in new if change.known.key[1:] not in inserted}
        old = [change.after for change in some if change.before is not None]
        if old:
            _update(session, core_of(table), old)
    return lost


def _insert(session: Session, core: sa.Table, rows: list[dict[str, Any]]) -> set[tuple[Any, ...]]:
    connection = session.connection()
    if connection.dialect.name == "sqlite":
        # The one writer has just read that these are not there.
        insert_new(connection, core, rows)
        return {(row["connection"], row["id"]) for row in rows}
    return insert_unfolded(connection, core, rows, keys=("connection", "id"))


def _update(session: Session, core: sa.Table, rows: list[dict[str, Any]]) -> None:
    keys = {"connection": "of_connection", "id": "of_id"}
    statement = (
        sa.update(core)
        .where(core.c.connection == sa.bindparam("of_connection"), core.c.id == sa.bindparam("of_id"))
        .values({column.name: sa.bindparam(column.name) for column in core.columns if column.name not in keys})
    )
    renamed = [{keys.get(name, name): value for name, value in row.items()} for row in rows]
    session.connection().execute(statement, renamed)
