"""The embedded database: which SQLite opens it, under which journal no commit is lost, and whether its file is whole.

Everything that opens the file goes through this module. A second copy of SQLite in one process would drop the locks of
the first: POSIX locks belong to the process, and any close of the file ends them.
"""

import os
import random
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any
from weakref import WeakSet

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

BUSY_SECONDS = 30
# How long a start waits for the other connections of a file that must leave WAL.
LEAVE_SECONDS = 5.0
INSTALL = "install pysqlite3 0.6.1 or newer, or a Python whose SQLite is 3.51.3 or newer"
_NOT_A_DATABASE = ("malformed", "not a database")
# More findings say no more.
_MOST_FINDINGS = 20


class UnsafeJournalError(sa.exc.SQLAlchemyError):
    """The file is in WAL mode and this SQLite can lose commits there; the message says what to install."""


class _Turn:
    """Who begins to write next in this process: one that polls for SQLite's lock is overtaken by one that just came."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        _TURNS.add(self)


_TURNS: WeakSet[_Turn] = WeakSet()


def _free_turns() -> None:
    """After a fork: the thread that had the turn is not here."""
    for turn in list(_TURNS):
        turn.lock = threading.Lock()


os.register_at_fork(after_in_child=_free_turns)


def _load_driver() -> ModuleType:
    try:
        return import_module("pysqlite3.dbapi2")
    except ImportError:
        return import_module("sqlite3.dbapi2")


driver: Any = _load_driver()
VERSION: tuple[int, int, int] = driver.sqlite_version_info


def is_wal_safe(version: tuple[int, int, int]) -> bool:
    """Return True if this version has WAL, and without the WAL-reset fault of 3.7.0 to 3.51.2.

    There, two connections that write and checkpoint at one moment can lose committed pages. Two older lines bear the
    fix as well: https://sqlite.org/wal.html#the_wal_reset_bug
    """
    return version >= (3, 51, 3) or (3, 50, 7) <= version < (3, 51, 0) or (3, 44, 6) <= version < (3, 45, 0)


def format_version() -> str:
    return f"SQLite {'.'.join(map(str, VERSION))}"


def make_engine(url: sa.URL) -> Engine:
    """Make an engine whose every connection is configured so that a commit is on disk when it returns."""
    path = url.database if url.database != ":memory:" else None
    if path:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    engine = sa.create_engine(
        url,
        module=driver,
        hide_parameters=True,
        connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False},
    )
    is_safe = is_wal_safe(VERSION)
    starting, turn = threading.Lock(), _Turn()

    @sa.event.listens_for(engine, "connect")
    def _configure(raw: Any, _record: Any) -> None:
        raw.isolation_level = None  # the begin listener below decides, not the driver
        if path and not is_safe:
            # `raw` has read no table yet, so it holds no lock that the change would wait for.
            with starting:
                _leave_wal(path)
        with closing(raw.cursor()) as cursor:
            if is_safe:
                _enter_wal(cursor)
            # NORMAL may lose acknowledged rows on power loss. Without WAL so may FULL: a commit ends by unlinking the
            # journal, and only EXTRA waits until the folder has forgotten it.
            cursor.execute(f"PRAGMA synchronous={'FULL' if is_safe else 'EXTRA'}")
            cursor.execute("PRAGMA foreign_keys=ON")
            # What retention drops is overwritten. Some builds do so by default, the bundled one does not.
            cursor.execute("PRAGMA secure_delete=ON")

    @sa.event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        # A write that begins as a read can fail half-way with "locked" before its time-out, so writes lock at once.
        reading = connection.get_execution_options().get("cuadre_reading", False)
        if reading:
            connection.exec_driver_sql("BEGIN")
        else:
            with turn.lock:
                connection.exec_driver_sql("BEGIN IMMEDIATE")
        # A newer SQLite of another process may have switched WAL on since this connection was opened.
        if not is_safe and not reading and journal_of(connection) == "wal":
            raise UnsafeJournalError(_refusal(path))

    return engine


def journal_of(connection: Connection) -> str:
    """Return the journal mode the file is in, as SQLite writes it."""
    mode: str = connection.exec_driver_sql("PRAGMA journal_mode").scalar_one()
    return mode


def _enter_wal(cursor: Any) -> None:
    """Put the file into WAL mode. SQLite waits for most locks by itself, but not for every one of this change."""
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
        except driver.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() >= until:
                raise
            _pause()
        else:
            return


def _pause() -> None:
    """Wait for a random moment: two that start together keep each other out until one of them is alone."""
    time.sleep(random.SystemRandom().uniform(0.01, 0.1))


def _leave_wal(path: str) -> None:
    """Give the file a rollback journal, which SQLite does only while no other connection holds it.

    Raise UnsafeJournalError if others still hold it after a while.
    """
    until = time.monotonic() + LEAVE_SECONDS
    while not _is_out_of_wal(path):
        if time.monotonic() >= until:
            raise UnsafeJournalError(_refusal(path))
        _pause()


def _is_out_of_wal(path: str) -> bool:
    with closing(driver.connect(path, timeout=BUSY_SECONDS, isolation_level=None)) as alone:
        if alone.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            return True
        try:
            return bool(alone.execute("PRAGMA journal_mode=DELETE").fetchone()[0] != "wal")
        except driver.OperationalError as error:
            if "locked" not in str(error):
                raise
            return False


def _refusal(path: str | None) -> str:
    return (
        f"{format_version()} can lose commits of a database in WAL mode, and {path} is in that mode and held by "
        f"another process: {INSTALL}, or stop every other process that uses the file and start again"
    )


def compact(engine: Engine) -> bool:
    """Write the file anew without what was deleted; return False if others still read what the log before it holds."""
    with closing(driver.connect(engine.url.database or "", timeout=BUSY_SECONDS, isolation_level=None)) as alone:
        alone.execute("VACUUM")
        return bool(alone.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0)


def find_damage(engine: Engine, *, whole: bool) -> list[str]:
    """Return what is wrong with the file, in SQLite's words; none where it is whole.

    The quick form reads every page and counts each index against its table, where a lost page shows as "wrong # of
    entries". The whole one also looks for each row in each index.
    """
    try:
        with engine.connect().execution_options(cuadre_reading=True) as connection:
            return list(_findings(connection, whole=whole))[:_MOST_FINDINGS]
    except sa.exc.DatabaseError as error:
        if not is_damage(error):
            raise
        return [str(error.orig)]


def _findings(connection: Connection, *, whole: bool) -> Iterator[str]:
    check = "integrity_check" if whole else "quick_check"
    found = connection.exec_driver_sql(f"PRAGMA {check}({_MOST_FINDINGS})").scalars()
    yield from (text for text in found if text != "ok")
    for table, row, parent, _key in connection.exec_driver_sql("PRAGMA foreign_key_check"):
        yield f"row {row} of {table} names a row of {parent} that is not there"


def is_damage(error: sa.exc.DatabaseError) -> bool:
    """Return True if the database says that its own file makes no sense."""
    return any(text in str(error.orig) for text in _NOT_A_DATABASE)
