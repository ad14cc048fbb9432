"""The database: one engine, transactions opened at the edge, and a time column that is always aware UTC."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection, Dialect, Engine
from sqlmodel import Session, SQLModel

BUSY_SECONDS = 30


class UtcDateTime(sa.TypeDecorator[datetime]):
    """Refuses naive times on the way in and returns aware UTC on the way out, on both databases."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a time without a zone cannot be stored")
        moment = value.astimezone(UTC)
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Store:
    """The database of one installation. Callers open transactions; nothing deeper commits."""

    def __init__(self, url: str, *, pool_size: int = 8) -> None:
        self.url = sa.make_url(url)
        self.engine = _sqlite_engine(self.url) if self.is_sqlite else _postgresql_engine(self.url, pool_size)

    @property
    def is_sqlite(self) -> bool:
        return self.url.get_backend_name() == "sqlite"

    @contextmanager
    def transaction(self) -> Iterator[Session]:
        """Open a write transaction: commits when the block ends well, rolls back when it does not."""
        with Session(self.engine, expire_on_commit=False) as session, session.begin():
            yield session

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """Open a read-only view of one moment; on SQLite it never waits for the writer."""
        options: dict[str, Any] = {"cuadre_reading": True}
        if not self.is_sqlite:
            options |= {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        with self.engine.connect().execution_options(**options) as connection, Session(bind=connection) as session:
            yield session

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """Open a write transaction without the object layer, for the hot paths."""
        with self.engine.begin() as connection:
            yield connection

    def close(self) -> None:
        self.engine.dispose()


def insert_once(
    connection: Connection, table: type[SQLModel], rows: Sequence[dict[str, Any]], *, keys: Sequence[str]
) -> set[tuple[Any, ...]]:
    """Insert the rows whose key is new, in one statement, and return the keys that were inserted."""
    if not rows:
        return set()
    target: sa.Table = table.__table__  # type: ignore[attr-defined]
    insert = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
    columns = [target.c[key] for key in keys]
    statement = insert(target).values(list(rows)).on_conflict_do_nothing(index_elements=columns).returning(*columns)
    return {tuple(row) for row in connection.execute(statement)}


def put(connection: Connection, table: type[SQLModel], row: dict[str, Any], *, keys: Sequence[str]) -> None:
    """Insert a row or overwrite the one under its key, in one statement, whoever else writes it at the same time."""
    target: sa.Table = table.__table__  # type: ignore[attr-defined]
    insert = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
    changes = {name: value for name, value in row.items() if name not in keys}
    statement = insert(target).values(row)
    connection.execute(statement.on_conflict_do_update(index_elements=[target.c[key] for key in keys], set_=changes))


def _sqlite_engine(url: sa.URL) -> Engine:
    if url.database and url.database != ":memory:":
        Path(url.database).parent.mkdir(parents=True, exist_ok=True)
    engine = sa.create_engine(url, connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False})

    @sa.event.listens_for(engine, "connect")
    def _configure(raw: Any, _record: Any) -> None:
        raw.isolation_level = None  # the begin listener below decides, not the driver
        cursor = raw.cursor()
        cursor.execute("PRAGMA journal_mode=WAL")
        # NORMAL may lose acknowledged rows on power loss.
        cursor.execute("PRAGMA synchronous=FULL")
        cursor.execute("PRAGMA foreign_keys=ON")
        cursor.close()

    @sa.event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        # A write that begins as a read can fail half-way with "locked" whatever the time-out, so writes lock at once.
        reading = connection.get_execution_options().get("cuadre_reading", False)
        connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")

    return engine


def _postgresql_engine(url: sa.URL, pool_size: int) -> Engine:
    return sa.create_engine(url, pool_size=pool_size, max_overflow=pool_size, pool_pre_ping=True)
