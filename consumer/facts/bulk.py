"""Many rows in few statements: rows of values on SQLite, one JSON value on PostgreSQL.

The object layer would look at each of a million rows, and the driver of each database is fastest in its own way.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache, partial
from itertools import chain, islice
from types import MappingProxyType
from typing import Any, TypeAlias

import msgspec
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection

from consumer.facts.tables.types import UtcDateTime

Values: TypeAlias = Sequence[object]
_Converter: TypeAlias = tuple[int, Callable[[Any], object]]

ROWS_A_STATEMENT = 1_000
_ROWS_A_JSON = 5_000
# SQLite takes no more in a statement.
_MOST_VALUES = 32_766
_MOMENT = UtcDateTime()
_NOTHING: Mapping[str, object] = MappingProxyType({})
_SQLITE: sa.Dialect = sqlite.dialect()
_POSTGRESQL: sa.Dialect = postgresql.dialect()  # type: ignore[no-untyped-call]


def insert_rows(
    connection: Connection,
    table: sa.Table,
    names: Sequence[str],
    rows: Iterable[Values],
    *,
    alike: Mapping[str, object] = _NOTHING,
    rows_a_statement: int = ROWS_A_STATEMENT,
) -> None:
    """Insert rows of values; the columns in `alike` have the same value in all of them.

    On SQLite each statement goes in whole or not at all. A long one takes longer to prepare; between two of them the
    driver lets another thread run, and in a busy process waits for its turn.
    """
    if connection.dialect.name != "sqlite":
        for some in _lists(rows, _ROWS_A_JSON):
            _insert_json(connection, table, tuple(names), some, alike=alike)
        return
    for text, values in _list_statements(table, names, rows, alike, rows_a_statement):
        connection.exec_driver_sql(text, values)


def insert_new_rows(  # noqa: PLR0913 - what becomes of the rows is three keyword arguments
    connection: Connection,
    table: sa.Table,
    names: Sequence[str],
    rows: Sequence[Values],
    *,
    key: Sequence[str],
    alike: Mapping[str, object] = _NOTHING,
    only_if: str = "true",
) -> set[tuple[object, ...]]:
    """Insert the rows whose key is new, on PostgreSQL in one statement; return the keys that were inserted.

    `only_if` is a condition in SQL of the statement itself: no row goes in where it does not hold.
    """
    if not rows:
        return set()
    listed = ", ".join(key)
    # After a select the condition keeps SQLite from reading the conflict as that of a join.
    only_new = f" WHERE {only_if} ON CONFLICT ({listed}) DO NOTHING RETURNING {listed}"
    if connection.dialect.name != "sqlite":
        return set(_insert_json(connection, table, tuple(names), rows, alike=alike, ending=only_new))
    statements = _list_statements(table, names, rows, alike, ROWS_A_STATEMENT)
    return {tuple(row) for text, values in statements for row in connection.exec_driver_sql(text + only_new, values)}


def _list_statements(
    table: sa.Table, names: Sequence[str], rows: Iterable[Values], alike: Mapping[str, object], most: int
) -> Iterator[tuple[str, Values]]:
    """Yield inserts as SQLite takes them, with their values."""
    shared = next(iter(_convert(table, tuple(alike), [tuple(alike.values())])))
    for some in _lists(_convert(table, names, rows), min(most, _MOST_VALUES // len(names))):
        yield _values_text(table, tuple(alike), tuple(names), len(some)), (*shared, *chain.from_iterable(some))


def update_rows(
    connection: Connection, table: sa.Table, names: Sequence[str], rows: Sequence[Values], *, key: tuple[str, ...]
) -> None:
    """Set columns of known rows; each row of values ends with those of its key."""
    every = (*names, *key)
    if connection.dialect.name == "sqlite":
        moved = ", ".join(f"{name} = ?" for name in names)
        which = " AND ".join(f"{name} = ?" for name in key)
        text = f"UPDATE {table.name} SET {moved} WHERE {which}"
        connection.exec_driver_sql(text, [tuple(row) for row in _convert(table, every, rows)])
        return
    moved = ", ".join(f"{name} = given.{name}" for name in names)
    which = " AND ".join(f"{table.name}.{name} = given.{name}" for name in key)
    text = f"UPDATE {table.name} SET {moved} FROM {_name_rows(table, every)} WHERE {which}"
    for some in _lists(rows, _ROWS_A_JSON):
        connection.exec_driver_sql(text, (_as_json(connection, table, every, some),))


def _lists(rows: Iterable[Values], most: int) -> Iterator[list[Values]]:
    remaining = iter(rows)
    while some := list(islice(remaining, most)):
        yield some


@lru_cache(maxsize=64)
def _values_text(table: sa.Table, alike: tuple[str, ...], names: tuple[str, ...], rows: int) -> str:
    places = f"({', '.join('?' * len(names))})"
    given = f"VALUES {', '.join([places] * rows)}"
    return f"INSERT INTO {table.name} ({', '.join((*alike, *names))}) SELECT {'?, ' * len(alike)}* FROM ({given})"


def _convert(table: sa.Table, names: Sequence[str], rows: Iterable[Values]) -> Iterable[Values]:
    """Write days and moments as SQLite keeps them; rows that are written together share many of them."""
    converting = [(place, cache(convert)) for place, convert in _converters(table, tuple(names))]
    return (_exact(row, converting) for row in rows) if converting else rows


@cache
def _converters(table: sa.Table, names: tuple[str, ...]) -> list[_Converter]:
    types = [table.c[name].type.dialect_impl(_SQLITE) for name in names]
    return [(place, convert) for place, one in enumerate(types) if (convert := one.bind_processor(_SQLITE))]


def _exact(row: Values, converting: Sequence[_Converter]) -> Values:
    values = list(row)
    for place, convert in converting:
        values[place] = convert(values[place])
    return values


def _insert_json(
    connection: Connection,
    table: sa.Table,
    names: tuple[str, ...],
    rows: Sequence[Values],
    *,
    alike: Mapping[str, object],
    ending: str = "",
) -> list[tuple[object, ...]]:
    """Insert from one JSON value: the statement reads the same for any number of rows, so it is planned once."""
    text = _json_text(table, tuple(alike), names)
    found = connection.exec_driver_sql(text + ending, (*alike.values(), _as_json(connection, table, names, rows)))
    return [tuple(row) for row in found] if ending else []


@cache
def _json_text(table: sa.Table, alike: tuple[str, ...], names: tuple[str, ...]) -> str:
    # JSON carries bytes as base64, exactly and in any encoding of the database.
    taken = [f"decode(given.{name}, 'base64')" if _is_bytes(table, name) else f"given.{name}" for name in names]
    given = [f"CAST(%s AS {_type_of(table, name)})" for name in alike]
    into = f"INSERT INTO {table.name} ({', '.join((*alike, *names))})"
    return f"{into} SELECT {', '.join((*given, *taken))} FROM {_name_rows(table, names)}"


@cache
def _name_rows(table: sa.Table, names: tuple[str, ...]) -> str:
    """Name the rows of one JSON value as PostgreSQL's columns."""
    typed = ", ".join(f"{name} {'TEXT' if _is_bytes(table, name) else _type_of(table, name)}" for name in names)
    return f"json_to_recordset(CAST(%s AS JSON)) AS given({typed})"


def _is_bytes(table: sa.Table, name: str) -> bool:
    return isinstance(table.c[name].type, sa.LargeBinary)


def _type_of(table: sa.Table, name: str) -> str:
    return table.c[name].type.compile(_POSTGRESQL)


def _as_json(connection: Connection, table: sa.Table, names: Sequence[str], rows: Iterable[Values]) -> str:
    """Write rows as JSON objects, moments in UTC; one without a zone is refused, as in every other statement."""
    moments = [place for place, name in enumerate(names) if isinstance(table.c[name].type, UtcDateTime)]
    if moments:
        to_utc = partial(_MOMENT.process_bind_param, dialect=connection.dialect)
        rows = (_exact(row, [(place, to_utc) for place in moments]) for row in rows)
    return msgspec.json.encode([dict(zip(names, row, strict=True)) for row in rows]).decode()
