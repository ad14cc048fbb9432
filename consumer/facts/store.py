"""The database: one engine, and transactions opened at the edge."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from typing import Any, TypeVar

import msgspec
import sqlalchemy as sa
import structlog
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection, Engine
from sqlmodel import Session, SQLModel, col

from consumer.facts import embedded
from consumer.facts.messages import RefusalError
from consumer.facts.replica import ReplicaError, open_replica
from consumer.facts.tables.types import core_of

# A database machine that is gone sends no answer: without these a connection to it hangs for hours.
_WIRE = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}
_ON_DISK = "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
# What an address says of a pooler between: `?pooler=transaction`.
POOLER = "pooler"
_VIEW: dict[str, Any] = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
# A row by the names of its columns, and what names a row.
Row = dict[str, Any]
RowKey = tuple[Any, ...]
Key = TypeVar("Key")
Found = TypeVar("Found")

_KEYS_A_STATEMENT = 5_000

log = structlog.get_logger("cuadre.store")


class SchemaError(Exception):
    """The database's tables are not those of this version."""


class DamagedError(RefusalError):
    """Content of the database that cannot be read; the message names it and says what to do."""


class Store:
    """The database of one installation. Callers open transactions; no deeper code commits."""

    def __init__(self, url: str, *, pool_size: int = 8, read_url: str | None = None) -> None:
        self.url = sa.make_url(url)
        self.engine = embedded.make_engine(self.url) if self.is_sqlite else _postgresql_engine(self.url, pool_size)
        self.replica = (
            None
            if read_url is None
            else _postgresql_engine(sa.make_url(read_url), pool_size).execution_options(**_VIEW)
        )

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
        """Open a read-only view of one moment; on SQLite in WAL mode it never waits for the writer."""
        options: Row = {"cuadre_reading": True}
        if not self.is_sqlite:
            options |= _VIEW
        with self.engine.connect().execution_options(**options) as connection, Session(bind=connection) as session:
            yield session

    def read_apart(self, work: Callable[[Session], Found]) -> Found:
        """Return what a long read finds: on the replica once it has all that was committed before, else here.

        `work` may be called a second time: a replica cancels a read that holds back what it must follow.
        """
        if self.replica is not None:
            try:
                with open_replica(self.replica, self.engine) as session:
                    return work(session)
            except (ReplicaError, sa.exc.DBAPIError, self.replica.dialect.loaded_dbapi.Error) as error:
                reason = str(error) if isinstance(error, ReplicaError) else type(error).__name__
                log.warning("the replica is not used", reason=reason)
        with self.reading() as session:
            return work(session)

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """Open a write transaction without the object layer, for the hot paths."""
        with self.engine.begin() as connection:
            yield connection

    def close(self) -> None:
        self.engine.dispose()
        if self.replica is not None:
            self.replica.dispose()


def one_of(column: sa.ColumnElement[str], dialect: str, ids: str | None = None) -> sa.ColumnElement[bool]:
    """Ask for many texts as one parameter, `ids`, as `to_ids` writes it: a place for each costs more than the rows."""
    given = sa.bindparam("ids", ids, type_=sa.String, required=ids is None)
    unfolded = (
        sa.func.json_each(given)
        if dialect == "sqlite"
        else sa.func.json_array_elements_text(sa.cast(given, postgresql.JSON))
    )
    return column.in_(sa.select(unfolded.table_valued("value").c.value))


def among(session: Session, column: str, keys: Iterable[str]) -> sa.ColumnElement[bool]:
    """Ask for many keys with one parameter; a statement may do so once."""
    return one_of(sa.type_coerce(col(column), sa.String), session.get_bind().dialect.name, to_ids(keys))


def to_ids(texts: Iterable[str]) -> str:
    return msgspec.json.encode(list(texts)).decode()


def batches(keys: Sequence[Key], size: int = _KEYS_A_STATEMENT) -> Iterator[Sequence[Key]]:
    """Yield keys in lists short enough for one statement on either database."""
    for start in range(0, len(keys), size):
        yield keys[start : start + size]


def count_rows(session: Session, table: type[SQLModel], *conditions: sa.ColumnElement[bool]) -> int:
    return session.scalar(sa.select(sa.func.count()).select_from(table).where(*conditions)) or 0


def insert_into(connection: Connection, table: sa.Table) -> sqlite.Insert | postgresql.Insert:
    """Return an insert that can say what happens on conflict; both databases write it alike."""
    return sqlite.insert(table) if connection.dialect.name == "sqlite" else postgresql.insert(table)


def insert_once(
    connection: Connection, table: type[SQLModel], rows: Sequence[Row], *, keys: Sequence[str]
) -> set[RowKey]:
    """Insert the rows whose key is new, in one statement, and return the keys that were inserted."""
    if not rows:
        return set()
    target = core_of(table)
    columns = [target.c[key] for key in keys]
    new = insert_into(connection, target).values(list(rows)).on_conflict_do_nothing(index_elements=columns)
    statement = new.returning(*columns)
    return {tuple(row) for row in connection.execute(statement)}


def put(connection: Connection, table: type[SQLModel], row: Row, *, keys: Sequence[str]) -> None:
    """Insert a row or overwrite the one under its key, in one statement, safe against concurrent writers."""
    target = core_of(table)
    changes = {name: value for name, value in row.items() if name not in keys}
    statement = insert_into(connection, target).values(row)
    connection.execute(statement.on_conflict_do_update(index_elements=[target.c[key] for key in keys], set_=changes))


def _postgresql_engine(url: sa.URL, pool_size: int) -> Engine:
    wire: dict[str, Any] = {name: value for name, value in _WIRE.items() if name not in url.query}
    is_pooled = POOLER in url.query
    if is_pooled:
        # The next transaction may meet another server: neither a statement nor a setting stays on this one.
        wire["prepare_threshold"] = None
    engine = sa.create_engine(
        url.difference_update_query([POOLER]),
        pool_size=pool_size,
        max_overflow=pool_size,
        pool_pre_ping=True,
        connect_args=wire,
        hide_parameters=True,
    )

    @sa.event.listens_for(engine, "connect")
    def _configure(raw: Any, _record: Any) -> None:
        # A server may be set to answer before the disk does; one that waits for its standby too stays so.
        if not is_pooled:
            raw.execute(_ON_DISK)
        elif raw.execute("SHOW synchronous_commit").fetchone() == ("off",):
            raise SchemaError("synchronous_commit is off behind the pooler: ALTER ROLE … SET synchronous_commit = 'on'")
        raw.commit()

    return engine


class Turn(IntEnum):
    """Keys of PostgreSQL's advisory locks; SQLite has one write transaction at a time."""

    RUNS = 717_061
    BOOKS = 717_062
    PERIODS = 717_063
    ORDERS = 717_064
    ERRANDS = 717_065
    FILES = 717_066
    JOURNAL = 717_067
    ALARMS = 717_068
    PEOPLE = 717_071
    SEARCH = 717_072
    EVIDENCE = 717_073


def take_turn(session: Session, turn: Turn) -> None:
    """Wait for the lock on this work; it is released when the caller's transaction ends."""
    if session.connection().dialect.name == "postgresql":
        session.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": int(turn)})
