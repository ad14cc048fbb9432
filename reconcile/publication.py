"""A run's rows into the database, thousands in a statement: results, findings, what became of the exceptions."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlmodel import Session, SQLModel

from consumer.facts.store import one_of, to_ids
from reconcile import results
from reconcile.exceptions import (
    OPENED,
    REMEMBERED,
    ExceptionState,
    Merge,
    Seen,
    State,
    history_rows,
    opened_rows,
)
from reconcile.rules.inputs import Finding, Result
from reconcile.tables import ExceptionChange, ExceptionRow, PayoutResult, ResultChunk, RunFinding

Values = tuple[Any, ...]
_ROWS_A_STATEMENT = 5_000
_KEY = ("connection", "id")


def insert_results(
    session: Session, result: Result, found: Mapping[str, Finding], *, connection: str, run_id: str
) -> None:
    """Write what one run says; `found` are its findings by exception id."""
    own = (connection, run_id)
    _insert(session, PayoutResult, results.PAYOUT_NAMES, (own + row for row in results.payout_rows(result)))
    _insert(session, RunFinding, results.FINDING_NAMES, (own + row for row in results.finding_rows(found)))
    insert = sa.insert(table_of(ResultChunk))
    for chunk in results.chunk_rows(result):
        session.connection().execute(insert, {"connection": connection, "run_id": run_id} | chunk)


def known_exceptions(session: Session, connection: str, identities: Iterable[str]) -> list[ExceptionState]:
    """Read the exceptions that are open, and those of these ids whatever their state."""
    table, database = table_of(ExceptionRow), session.connection()
    mine = sa.select(*(table.c[name] for name in ExceptionState._fields)).where(table.c.connection == connection)
    rows = list(map(ExceptionState._make, database.execute(mine.where(table.c.state == State.OPEN))))
    others = set(identities) - {row.id for row in rows}
    if others:
        among = mine.where(one_of(table.c.id, database.dialect.name))
        rows += map(ExceptionState._make, database.execute(among, {"ids": to_ids(sorted(others))}))
    return rows


def write_merge(session: Session, merged: Merge, seen: Seen) -> None:
    """Write what became of the exceptions: a run sees most of them again, and moves few."""
    _insert(session, ExceptionRow, OPENED, opened_rows(merged, seen))
    if merged.seen_again:
        table, database = table_of(ExceptionRow), session.connection()
        is_seen = one_of(table.c.id, database.dialect.name)
        again = sa.update(table).where(table.c.connection == seen.connection, is_seen)
        values = {"last_seen_on": seen.as_of, "run_last": seen.run_id}
        database.execute(again.values(values), {"ids": to_ids(merged.seen_again)})
    for names, rows in _alike(merged.changed):
        _update(session, ExceptionRow, names, ((*values, seen.connection, identity) for values, identity in rows))
    _insert(session, ExceptionChange, REMEMBERED, history_rows(merged, seen))


def _alike(changed: Mapping[str, dict[str, Any]]) -> Iterator[tuple[tuple[str, ...], list[tuple[Values, str]]]]:
    """Group changes by the columns they move: one statement for each group."""
    groups: dict[tuple[str, ...], list[tuple[Values, str]]] = {}
    for identity, values in changed.items():
        groups.setdefault(tuple(values), []).append((tuple(values.values()), identity))
    yield from groups.items()


def _insert(session: Session, model: type[SQLModel], names: Sequence[str], rows: Iterable[Values]) -> None:
    table = table_of(model)
    places, listed = ", ".join("?" * len(names)), ", ".join(names)
    _execute(
        session, table, names, rows,
        sqlite=f"INSERT INTO {table.name} ({listed}) VALUES ({places})",  # noqa: S608 - our own names
        postgresql=f"INSERT INTO {table.name} ({listed}) SELECT {listed} FROM {_given(table, tuple(names))}",  # noqa: S608
    )  # fmt: skip


def _update(session: Session, model: type[SQLModel], names: Sequence[str], rows: Iterable[Values]) -> None:
    """Set columns of rows that are known; each row gives its values, then its key."""
    table, every = table_of(model), (*names, *_KEY)
    moved = ", ".join(f"{name} = ?" for name in names)
    taken = ", ".join(f"{name} = given.{name}" for name in names)
    which = " AND ".join(f"{name} = ?" for name in _KEY)
    same = " AND ".join(f"{table.name}.{name} = given.{name}" for name in _KEY)
    _execute(
        session, table, every, rows,
        sqlite=f"UPDATE {table.name} SET {moved} WHERE {which}",  # noqa: S608 - our own names
        postgresql=f"UPDATE {table.name} SET {taken} FROM {_given(table, every)} WHERE {same}",  # noqa: S608
    )  # fmt: skip


def _execute(
    session: Session, table: sa.Table, names: Sequence[str], rows: Iterable[Values], *, sqlite: str, postgresql: str
) -> None:
    """Give rows to the database as it takes them best: SQLite one after another, PostgreSQL as one JSON value."""
    database = session.connection()
    remaining = iter(rows)
    while some := list(islice(remaining, _ROWS_A_STATEMENT)):
        if database.dialect.name == "sqlite":
            database.exec_driver_sql(sqlite, _converted(database.dialect, table, names, some))
        else:
            given = msgspec.json.encode([dict(zip(names, row, strict=True)) for row in some]).decode()
            database.exec_driver_sql(postgresql, (given,))


def _converted(dialect: sa.Dialect, table: sa.Table, names: Sequence[str], rows: list[Values]) -> list[Values]:
    """Write days and moments as SQLite keeps them; each of them stands in many rows."""
    types = [table.c[name].type.dialect_impl(dialect).bind_processor(dialect) for name in names]
    converting = [(place, cache(convert)) for place, convert in enumerate(types) if convert is not None]
    if not converting:
        return rows
    exact = []
    for row in rows:
        values = list(row)
        for place, convert in converting:
            values[place] = convert(values[place])
        exact.append(tuple(values))
    return exact


@cache
def _given(table: sa.Table, names: tuple[str, ...]) -> str:
    """Rows of one JSON value as PostgreSQL's columns."""
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    typed = ", ".join(f"{name} {table.c[name].type.compile(dialect)}" for name in names)
    return f"json_to_recordset(CAST(%s AS JSON)) AS given({typed})"


def table_of(model: type[SQLModel]) -> sa.Table:
    """The table, not its class: the object layer would look at each of a million rows."""
    table: sa.Table = model.__table__  # type: ignore[attr-defined]
    return table
