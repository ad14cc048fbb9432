"""A run's rows into the database, thousands in a statement: results, findings, what became of the exceptions."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import chain, islice
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlmodel import Session, SQLModel

from consumer.facts.store import one_of, to_ids
from consumer.facts.tables.columns import core_of
from reconcile.exceptions.life import (
    OPENED,
    REMEMBERED,
    ExceptionState,
    Merge,
    Seen,
    State,
    by_identity,
    history_rows,
    opened_alike,
    opened_rows,
    remembered_alike,
)
from reconcile.kept import results
from reconcile.reading.threads import ahead
from reconcile.rules.inputs import Finding, Result
from reconcile.tables import ExceptionChange, ExceptionRow, PayoutResult, ResultChunk, RunFinding

Values = tuple[Any, ...]
Chunk = dict[str, Any]
_ROWS_A_VALUES = 250
_ROWS_A_JSON = 5_000
_KEY = ("connection", "id")


@dataclass(frozen=True, slots=True)
class Prepared:
    """What can be made of a result before anything is written: findings by exception id, chunks as they are packed."""

    found: Mapping[str, Finding]
    packed: Iterable[Chunk]


@contextmanager
def prepared(connection: str, result: Result) -> Iterator[Prepared]:
    """Name the findings, while another thread packs: a writer of the database shall not wait for either."""
    with ahead(results.chunk_rows(result)) as packed:
        yield Prepared(by_identity(connection, result.findings), packed)


def insert_results(
    session: Session, result: Result, found: Mapping[str, Finding], *, connection: str, run_id: str
) -> None:
    """Write what one run says; `found` are its findings by exception id."""
    insert_rows(session, result, found, connection=connection, run_id=run_id)
    insert_chunks(session, results.chunk_rows(result), connection=connection, run_id=run_id)


def insert_rows(
    session: Session, result: Result, found: Mapping[str, Finding], *, connection: str, run_id: str
) -> None:
    """Write payouts and findings."""
    own = {"connection": connection, "run_id": run_id}
    _insert(session, PayoutResult, own, results.PAYOUT_NAMES, results.payout_rows(result))
    _insert(session, RunFinding, own, results.FINDING_NAMES, results.finding_rows(found))


def insert_chunks(session: Session, packed: Iterable[Chunk], *, connection: str, run_id: str) -> None:
    """Write lines, documents and what was taken out of them."""
    insert = sa.insert(core_of(ResultChunk))
    for chunk in packed:
        session.connection().execute(insert, {"connection": connection, "run_id": run_id} | chunk)


def known_exceptions(session: Session, connection: str, identities: Iterable[str]) -> list[ExceptionState]:
    """Read the exceptions that are open, and those of these ids whatever their state."""
    table, database = core_of(ExceptionRow), session.connection()
    mine = sa.select(*(table.c[name] for name in ExceptionState._fields)).where(table.c.connection == connection)
    rows = list(map(ExceptionState._make, database.execute(mine.where(table.c.state == State.OPEN)).all()))
    others = set(identities) - {row.id for row in rows}
    if others:
        among = mine.where(one_of(table.c.id, database.dialect.name))
        rows += map(ExceptionState._make, database.execute(among, {"ids": to_ids(sorted(others))}).all())
    return rows


def write_merge(session: Session, merged: Merge, seen: Seen) -> None:
    """Write what became of the exceptions: a run sees most of them again, and moves few."""
    _insert(session, ExceptionRow, opened_alike(seen), OPENED, opened_rows(merged))
    if merged.seen_again:
        table, database = core_of(ExceptionRow), session.connection()
        is_seen = one_of(table.c.id, database.dialect.name)
        again = sa.update(table).where(table.c.connection == seen.connection, is_seen)
        values = {"last_seen_on": seen.as_of, "run_last": seen.run_id}
        database.execute(again.values(values), {"ids": to_ids(merged.seen_again)})
    for names, rows in _alike(merged.changed):
        _update(session, ExceptionRow, names, [(*values, seen.connection, identity) for values, identity in rows])
    _insert(session, ExceptionChange, remembered_alike(seen), REMEMBERED, history_rows(merged))


def _alike(changed: Mapping[str, dict[str, Any]]) -> Iterator[tuple[tuple[str, ...], list[tuple[Values, str]]]]:
    """Group changes by the columns they move: one statement for each group."""
    groups: dict[tuple[str, ...], list[tuple[Values, str]]] = {}
    for identity, values in changed.items():
        groups.setdefault(tuple(values), []).append((tuple(values.values()), identity))
    yield from groups.items()


def _insert(
    session: Session, model: type[SQLModel], alike: Mapping[str, Any], names: Sequence[str], rows: Iterable[Values]
) -> None:
    """Insert rows of values; what is alike in all of them is given once for many."""
    table, database, remaining = core_of(model), session.connection(), iter(rows)
    asked = (table, tuple(alike), tuple(names))
    if database.dialect.name != "sqlite":
        while some := list(islice(remaining, _ROWS_A_JSON)):
            database.exec_driver_sql(_unfolding_text(*asked), (*alike.values(), _as_json(names, some)))
        return
    (shared,) = _converted(database.dialect, table, asked[1], [tuple(alike.values())])
    written = iter(_converted(database.dialect, table, names, remaining))
    while some := list(islice(written, _ROWS_A_VALUES)):
        database.exec_driver_sql(_values_text(*asked, len(some)), (*shared, *chain.from_iterable(some)))


@cache
def _values_text(table: sa.Table, alike: tuple[str, ...], names: tuple[str, ...], rows: int) -> str:
    """Short statements: SQLite takes longer to prepare one of a thousand rows than to run it."""
    listed, places = ", ".join((*alike, *names)), f"({', '.join('?' * len(names))})"
    given = ", ".join([places] * rows)
    return f"INSERT INTO {table.name} ({listed}) SELECT {'?, ' * len(alike)}* FROM (VALUES {given})"  # noqa: S608 - our own names


@cache
def _unfolding_text(table: sa.Table, alike: tuple[str, ...], names: tuple[str, ...]) -> str:
    listed, taken = ", ".join((*alike, *names)), ", ".join((*(_typed_place(table, name) for name in alike), *names))
    return f"INSERT INTO {table.name} ({listed}) SELECT {taken} FROM {_given(table, names)}"  # noqa: S608 - our own names


def _typed_place(table: sa.Table, name: str) -> str:
    return f"CAST(%s AS {_type_of(table, name)})"


def _update(session: Session, model: type[SQLModel], names: Sequence[str], rows: Sequence[Values]) -> None:
    """Set columns of rows that are known; each row gives its values, then its key."""
    table, every, database = core_of(model), (*names, *_KEY), session.connection()
    if database.dialect.name == "sqlite":
        moved = ", ".join(f"{name} = ?" for name in names)
        which = " AND ".join(f"{name} = ?" for name in _KEY)
        text = f"UPDATE {table.name} SET {moved} WHERE {which}"  # noqa: S608 - our own names
        database.exec_driver_sql(text, list(_converted(database.dialect, table, every, rows)))
        return
    taken = ", ".join(f"{name} = given.{name}" for name in names)
    same = " AND ".join(f"{table.name}.{name} = given.{name}" for name in _KEY)
    text = f"UPDATE {table.name} SET {taken} FROM {_given(table, every)} WHERE {same}"  # noqa: S608 - our own names
    for start in range(0, len(rows), _ROWS_A_JSON):
        database.exec_driver_sql(text, (_as_json(every, rows[start : start + _ROWS_A_JSON]),))


def _as_json(names: Sequence[str], rows: Iterable[Values]) -> str:
    return msgspec.json.encode([dict(zip(names, row, strict=True)) for row in rows]).decode()


def _converted(dialect: sa.Dialect, table: sa.Table, names: Sequence[str], rows: Iterable[Values]) -> Iterable[Values]:
    """Write days and moments as SQLite keeps them; each of them stands in many rows."""
    types = [table.c[name].type.dialect_impl(dialect).bind_processor(dialect) for name in names]
    converting = [(place, cache(convert)) for place, convert in enumerate(types) if convert is not None]
    return (_exact(row, converting) for row in rows) if converting else rows


def _exact(row: Values, converting: Sequence[tuple[int, Callable[[Any], Any]]]) -> Values:
    values = list(row)
    for place, convert in converting:
        values[place] = convert(values[place])
    return tuple(values)


@cache
def _given(table: sa.Table, names: tuple[str, ...]) -> str:
    """Rows of one JSON value as PostgreSQL's columns."""
    typed = ", ".join(f"{name} {_type_of(table, name)}" for name in names)
    return f"json_to_recordset(CAST(%s AS JSON)) AS given({typed})"


def _type_of(table: sa.Table, name: str) -> str:
    return table.c[name].type.compile(postgresql.dialect())  # type: ignore[no-untyped-call]
