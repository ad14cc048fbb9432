"""What triggers noted of changed rows: up to where one view of the database has seen it, and what came after.

Whoever deletes from the log writes a new token in the same transaction; tables are remembered only under the token that
their own view of the database saw. So the log is whole from that view on, however many processes read and write.
"""

import hashlib
from collections import defaultdict
from collections.abc import Mapping

import sqlalchemy as sa

from consumer.facts.store import insert_into
from consumer.facts.tables.changes import FactChange, RememberedTables

# The tables whose changes are noted, each with the column that names a row there.
NOTED: Mapping[str, str] = {
    "local_invoice": "doc_key",
    "payment_intent": "id",
    "charge": "id",
    "refund": "id",
    "payout_item": "resource_id",
    "customer": "id",
    "event": "id",
    "provider_fee": "payout_id",
}
Touched = Mapping[str, frozenset[str]]
_SQLITE_TRIGGERS, _POSTGRESQL_TRIGGERS = 3 * len(NOTED), 4 * len(NOTED)
_CHANGES: sa.Table = FactChange.__table__  # type: ignore[attr-defined]
_TOKENS: sa.Table = RememberedTables.__table__  # type: ignore[attr-defined]
# Which triggers there are and whether they were always on: a row written by hand has another `xmin` afterwards.
_POSTGRESQL_WATCH = """
    SELECT count(*) FILTER (WHERE trigger.tgenabled = 'A'),
           string_agg(concat_ws(' ', trigger.oid, trigger.xmin, body.oid, body.xmin), ',' ORDER BY trigger.oid),
           (SELECT system_identifier FROM pg_control_system()),
           (SELECT oid FROM pg_database WHERE datname = current_database())
    FROM pg_trigger AS trigger JOIN pg_proc AS body ON body.oid = trigger.tgfoid
    JOIN pg_class AS owner ON owner.oid = trigger.tgrelid JOIN pg_namespace AS room ON room.oid = owner.relnamespace
    WHERE starts_with(trigger.tgname, 'noted_' || owner.relname || '_') AND room.nspname = current_schema()
    """
# Triggers go with a table that is given another name: one of that name made anew has none.
_SQLITE_WATCH = "SELECT count(*) FROM sqlite_master WHERE type = 'trigger' AND name GLOB 'noted_' || tbl_name || '_*'"


def watch_of(database: sa.Connection) -> str | None:
    """Name the watch over the tables: another after any change of triggers or tables; none where one is missing."""
    if database.dialect.name == "sqlite":
        triggers, wanted = database.exec_driver_sql(_SQLITE_WATCH).scalar_one(), _SQLITE_TRIGGERS
        told = [database.exec_driver_sql("PRAGMA schema_version").scalar_one()]
    else:
        triggers, *told = database.exec_driver_sql(_POSTGRESQL_WATCH).one()
        wanted = _POSTGRESQL_TRIGGERS
    return hashlib.sha256(repr(told).encode()).hexdigest() if triggers == wanted else None


def seen_until(database: sa.Connection) -> int:
    """Give the first mark in the log that this view may not have seen; one below it, it has."""
    if database.dialect.name == "sqlite":
        last = "SELECT seq FROM sqlite_sequence WHERE name = 'fact_change'"
        return (database.exec_driver_sql(last).scalar() or 0) + 1
    # Every transaction before this one is over; those after it may commit in any order.
    first_open = "SELECT CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS TEXT) AS BIGINT)"
    return int(database.exec_driver_sql(first_open).scalar_one())


def touched_since(database: sa.Connection, connection: str, mark: int, *, most: int) -> Touched | None:
    """Give the keys of changed rows by table; none where they are more than `most`, or cannot be told."""
    columns = _CHANGES.c
    later = sa.and_(_mark(database) >= mark, sa.or_(columns.connection == connection, columns.key.is_(None)))
    wanted = sa.select(columns.of_table, columns.key).where(later).distinct().limit(most + 1)
    rows = database.execute(wanted).all()
    if len(rows) > most or any(not _is_plain(row.key) for row in rows):
        return None
    touched = defaultdict(set)
    for row in rows:
        touched[row.of_table].add(row.key)
    return {table: frozenset(keys) for table, keys in touched.items()}


def is_longer(database: sa.Connection, connection: str, most: int) -> bool:
    """Tell whether the log has more than `most` rows of a connection; a row that alters often is there as often."""
    beyond = sa.select(_CHANGES.c.id).where(_CHANGES.c.connection == connection).offset(most).limit(1)
    return database.scalar(beyond) is not None


def read_token(database: sa.Connection, connection: str) -> str | None:
    """Name the set of remembered tables that may be believed."""
    found: str | None = database.scalar(sa.select(_TOKENS.c.token).where(_TOKENS.c.connection == connection))
    return found


def replace_token(database: sa.Connection, connection: str, *, seen: str | None, token: str, mark: int) -> bool:
    """Say which tables are remembered from now on, and drop what they hold from the log.

    It fails where another process did so since the view that saw the token `seen`.
    """
    columns = _TOKENS.c
    named: sa.Executable
    if seen is None:
        new = insert_into(database, _TOKENS).values(connection=connection, token=token)
        named = new.on_conflict_do_nothing().returning(columns.token)
    else:
        mine = sa.and_(columns.connection == connection, columns.token == seen)
        named = sa.update(_TOKENS).where(mine).values(token=token).returning(columns.token)
    if database.execute(named).first() is None:
        return False
    earlier = sa.and_(_CHANGES.c.connection == connection, _mark(database) < mark)
    database.execute(sa.delete(_CHANGES).where(earlier))
    return True


def _is_plain(key: object) -> bool:
    """A key that every reader writes alike; SQLite holds what it is given, and text is cut at a NUL there."""
    return isinstance(key, str) and "\0" not in key


def _mark(database: sa.Connection) -> sa.Column[int]:
    return _CHANGES.c.id if database.dialect.name == "sqlite" else _CHANGES.c.transaction_id
