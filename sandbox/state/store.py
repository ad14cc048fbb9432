"""Where the sandbox keeps its state: a private database that is memory while it is small and a nameless file beyond."""

import sqlite3
import weakref
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

CACHE_KIB = 65_536  # what of it may be in memory
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
SCHEMA = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
CREATE TABLE objects (arrival INTEGER PRIMARY KEY, shelf INTEGER, id BLOB, created INTEGER, body BLOB);
CREATE UNIQUE INDEX objects_by_id ON objects (shelf, id);
CREATE INDEX objects_by_age ON objects (shelf, created, arrival);
CREATE TABLE events (
    position INTEGER PRIMARY KEY, mode TEXT, id BLOB UNIQUE, type TEXT, resource BLOB, created INTEGER, visible INTEGER,
    body BLOB
);
CREATE INDEX events_by_age ON events (mode, created, position);
CREATE INDEX events_by_resource ON events (mode, resource, created, position);
CREATE TABLE payout_items (position INTEGER PRIMARY KEY, payout BLOB, type TEXT, resource BLOB, body BLOB);
CREATE INDEX payout_items_by_payout ON payout_items (payout, type);
CREATE TABLE attempts (at INTEGER, event TEXT, endpoint TEXT, attempt INTEGER, code INTEGER, body BLOB);
"""
Row = tuple[Any, ...]


class Store:
    """One database nobody else sees, gone when it is closed. Its owner holds the lock."""

    def __init__(self) -> None:
        # Under an empty name SQLite writes to a file of its own, without a name, once the cache is full.
        connection = sqlite3.connect("", check_same_thread=False, isolation_level=None)
        connection.executescript(f"PRAGMA cache_size = -{CACHE_KIB};{SCHEMA}")
        connection.execute("BEGIN")  # never ended: nothing has to survive
        self._connection = connection
        self.close = weakref.finalize(self, connection.close)

    def write(self, statement: str, *values: object) -> None:
        self._connection.execute(statement, values)

    def row(self, query: str, *values: object) -> Row | None:
        """The first row there is."""
        found: Row | None = self._connection.execute(query, values).fetchone()
        return found

    def rows(self, query: str, *values: object) -> Iterator[Row]:
        """The rows as they are found; nothing may be written meanwhile."""
        return self._connection.execute(query, values)


def to_key(text: str) -> bytes:
    """An id as the database keeps it: whatever a request names can be looked for, half characters too."""
    return text.encode(errors="surrogatepass")


def to_micros(at: datetime) -> int:
    return (at - EPOCH) // MICROSECOND


def from_micros(micros: int) -> datetime:
    return EPOCH + timedelta(microseconds=micros)
