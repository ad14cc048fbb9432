"""Merging observations of provider objects into their tables, so that any order of arrival ends in the same rows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import Session

from consumer.facts.observed import Key, Known, core_of, from_row, from_values, join, to_values
from consumer.facts.tables.provider import ProviderObject

Observed = ProviderObject | Known
_KEYS_A_STATEMENT = 5_000


@dataclass(frozen=True, slots=True)
class Change:
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
        done += [change for change in found if change.known.key not in lost]
        # Another transaction inserted these first; now they can be read and joined.
        wanted = {key: known for key, known in wanted.items() if key in lost}
    return done


def preview(session: Session, rows: Sequence[Observed]) -> list[Change]:
    """Tell what merging the observations would change, and change nothing."""
    return _changes(session, _combine(rows), lock=False)


def _combine(rows: Iterable[Observed]) -> dict[Key, Known]:
    combined: dict[Key, Known] = {}
    for row in rows:
        known = row if isinstance(row, Known) else from_row(row)
        combined[known.key] = join(combined[known.key], known) if known.key in combined else known
    return dict(sorted(combined.items()))


def _changes(session: Session, wanted: Mapping[Key, Known], *, lock: bool) -> list[Change]:
    stored = _read(session, wanted.values(), lock=lock)
    joined = [join(stored[key], known) if key in stored else known for key, known in wanted.items()]
    found = [Change(known, to_values(known)) for known in joined]
    return [change for change in found if change.before != change.after]


def _read(session: Session, wanted: Iterable[Known], *, lock: bool) -> dict[Key, Known]:
    found: dict[Key, Known] = {}
    for (_, connection), group in groupby(wanted, key=lambda known: known.key[:2]):
        some = list(group)
        core = core_of(some[0].table)
        for start in range(0, len(some), _KEYS_A_STATEMENT):
            ids = [known.id for known in some[start : start + _KEYS_A_STATEMENT]]
            statement = sa.select(core).where(core.c.connection == connection, core.c.id.in_(ids)).order_by(core.c.id)
            for row in session.connection().execute(statement.with_for_update() if lock else statement).mappings():
                known = from_values(some[0].table, dict(row))
                known.stored = dict(row)
                found[known.key] = known
    return found


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


def _insert(session: Session, core: sa.Table, rows: list[dict[str, Any]]) -> set[tuple[str, str]]:
    connection = session.connection()
    insert = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
    keys = (core.c.connection, core.c.id)
    statement = insert(core).on_conflict_do_nothing(index_elements=keys).returning(*keys)
    return {(row[0], row[1]) for row in connection.execute(statement, rows)}


def _update(session: Session, core: sa.Table, rows: list[dict[str, Any]]) -> None:
    keys = {"connection": "of_connection", "id": "of_id"}
    statement = (
        sa.update(core)
        .where(core.c.connection == sa.bindparam("of_connection"), core.c.id == sa.bindparam("of_id"))
        .values({column.name: sa.bindparam(column.name) for column in core.columns if column.name not in keys})
    )
    renamed = [{keys.get(name, name): value for name, value in row.items()} for row in rows]
    session.connection().execute(statement, renamed)
