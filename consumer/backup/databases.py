"""A database into a backup and back: SQLite by its online copy, PostgreSQL by COPY in one snapshot."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from consumer.backup.container import DATABASE, Digesting, OnBytes, Writer
from consumer.facts import embedded
from consumer.facts.store import Store
from consumer.facts.work import WorkError

SQLITE, POSTGRESQL = "SQLite", "PostgreSQL"
SQLITE_MEMBER = f"{DATABASE}/cuadre.db"
_PAGES = 4_096
_PART = 8 * 1024 * 1024
# Written by the migrations that make the tables.
_VERSION = "alembic_version"
_SEQUENCES = sa.text("SELECT sequencename, last_value FROM pg_sequences WHERE schemaname = current_schema()")


def kind_of(store: Store) -> str:
    return SQLITE if store.is_sqlite else POSTGRESQL


def size_of(store: Store) -> int:
    """Return about how many bytes the database takes."""
    if store.is_sqlite:
        path = Path(store.url.database or "")
        return sum(file.stat().st_size for file in (path, Path(f"{path}-wal")) if file.exists())
    with store.reading() as session:
        return int(session.connection().scalar(sa.text("SELECT pg_database_size(current_database())")) or 0)


def copy_sqlite(store: Store, target: Path, on_bytes: OnBytes) -> None:
    """Copy the file as it is at this moment, and check the copy; in WAL mode writers go on meanwhile."""

    def on_pages(_status: int, remaining: int, total: int) -> None:
        on_bytes(min(_PAGES, total - remaining) * page)

    try:
        with (
            closing(embedded.driver.connect(store.url.database, isolation_level=None)) as live,
            closing(embedded.driver.connect(target, isolation_level=None)) as copy,
        ):
            live.execute(f"PRAGMA busy_timeout={embedded.BUSY_SECONDS * 1000}")
            # While this view is open no commit makes the copy begin again.
            live.execute("BEGIN")
            page = live.execute("PRAGMA page_size").fetchone()[0]
            live.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            live.backup(copy, pages=_PAGES, progress=on_pages)
            # A file that is opened alone has no log next to it.
            copy.execute("PRAGMA journal_mode=DELETE")
            found = copy.execute("PRAGMA quick_check(1)").fetchone()[0]
    except embedded.driver.Error as error:
        raise WorkError(f"the database cannot be copied to {target.parent}: {error}") from None
    if found != "ok":
        raise WorkError(f"the copy of the database is damaged ({found}): run cuadre db check on the database itself")


def columns_of(connection: Connection) -> dict[str, list[str]]:
    """Return the columns of every table of a PostgreSQL database."""
    inspector = sa.inspect(connection)
    names = sorted(set(inspector.get_table_names()) - {_VERSION})
    return {name: [column["name"] for column in inspector.get_columns(name)] for name in names}


def sequences_of(connection: Connection) -> dict[str, int]:
    """Return where the sequences stand that were ever used."""
    return {row.sequencename: row.last_value for row in connection.execute(_SEQUENCES) if row.last_value is not None}


def write_postgresql(connection: Connection, tables: dict[str, list[str]], writer: Writer) -> None:
    """Write every table in parts of whole rows, as the snapshot of this connection has them."""
    for name, columns in tables.items():
        for number, part in enumerate(_parts(connection, f"COPY {_to_list(name, columns)} TO STDOUT")):
            writer.add_bytes(f"{DATABASE}/{name}/{number:06}", part)


def _parts(connection: Connection, statement: str) -> Iterator[bytes]:
    part = bytearray()
    with closing(_cursor(connection)) as cursor, cursor.copy(statement) as copy:
        # The server sends one row at a time.
        for row in copy:
            part += row
            if len(part) >= _PART:
                yield bytes(part)
                part.clear()
    if part:
        yield bytes(part)


def load_part(connection: Connection, tables: dict[str, list[str]], member: Digesting) -> None:
    """Load one part of a table."""
    name = member.name.split("/")[1]
    statement = f"COPY {_to_list(name, tables[name])} FROM STDIN"
    with closing(_cursor(connection)) as cursor, cursor.copy(statement) as copy:
        while piece := member.read(_PART):
            copy.write(piece)


def empty_tables(connection: Connection, tables: dict[str, list[str]]) -> None:
    """Delete what migrations wrote: the backup has it too."""
    for name in tables:
        connection.execute(sa.delete(sa.table(name)))


def set_sequences(connection: Connection, sequences: dict[str, int]) -> None:
    for name, value in sequences.items():
        connection.execute(sa.text("SELECT setval(quote_ident(:name), :value)"), {"name": name, "value": value})


def _cursor(connection: Connection) -> Any:
    return connection.connection.cursor()


def _to_list(table: str, columns: list[str]) -> str:
    quoted = [f'"{name.replace(chr(34), chr(34) * 2)}"' for name in (table, *columns)]
    return f"{quoted[0]} ({', '.join(quoted[1:])})"
