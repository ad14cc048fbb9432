"""The objects of the sandbox, in a private database: memory while it is small, a nameless file beyond."""

import sqlite3
import weakref
from array import array
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Self

import msgspec

from sandbox.state.clock import to_moment

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
Object = dict[str, Any]  # a JSON object
Json = Object | list[Object]  # the body of an answer
Keep = Callable[[Object], bool]
Place = tuple[int, int]  # moment of creation, order of arrival
REMEMBERED = 8  # questions
CHUNK = 100  # objects read at once
EARLIEST, LATEST = -(2**62), 2**62
KEPT = (
    "INSERT INTO objects (shelf, id, created, body) VALUES (?, ?, ?, ?)"
    " ON CONFLICT (shelf, id) DO UPDATE SET body = excluded.body"
)
SIDES = {
    "<": "SELECT created, arrival, body FROM objects WHERE shelf = ? AND (created, arrival) < (?, ?) AND created >= ?"
    " ORDER BY created DESC, arrival DESC LIMIT ?",
    ">": "SELECT created, arrival, body FROM objects WHERE shelf = ? AND (created, arrival) > (?, ?) AND created <= ?"
    " ORDER BY created, arrival LIMIT ?",
}
CHOSEN = (
    "SELECT arrival, body FROM objects WHERE shelf = ? AND created BETWEEN ? AND ? ORDER BY created DESC, arrival DESC"
)


class Store:
    """A private database, gone when it is closed. Its owner holds the lock."""

    def __init__(self) -> None:
        # Under an empty name SQLite writes to a file of its own, without a name, once the cache is full.
        connection = sqlite3.connect("", check_same_thread=False, isolation_level=None)
        connection.executescript(f"PRAGMA cache_size = -{CACHE_KIB};{SCHEMA}")
        connection.execute("BEGIN")  # never ended: its content need not survive
        self._connection = connection
        self.close = weakref.finalize(self, connection.close)

    def write(self, statement: str, *values: object) -> None:
        self._connection.execute(statement, values)

    def row(self, query: str, *values: object) -> Row | None:
        """Return the first row there is."""
        found: Row | None = self._connection.execute(query, values).fetchone()
        return found

    def rows(self, query: str, *values: object) -> Iterator[Row]:
        """Return the rows as they are found; do not write while reading them."""
        return self._connection.execute(query, values)


def to_key(text: str) -> bytes:
    """Return an id as the database keeps it, so that any text of a request can be looked for, half characters too."""
    return text.encode(errors="surrogatepass")


def to_micros(at: datetime) -> int:
    return (at - EPOCH) // MICROSECOND


def from_micros(micros: int) -> datetime:
    return EPOCH + timedelta(microseconds=micros)


class Chosen:
    """The objects that answered a question, newest first, read as they are looked at."""

    def __init__(self, store: Store, arrivals: "array[int]") -> None:
        self._store, self._arrivals = store, arrivals

    def __len__(self) -> int:
        return len(self._arrivals)

    def __getitem__(self, part: slice) -> list[Object]:
        found = (self._store.row("SELECT body FROM objects WHERE arrival = ?", n) for n in self._arrivals[part])
        return [msgspec.json.decode(row[0]) for row in found if row]


@dataclass(slots=True)
class Part:
    """As much of a collection as is looked at, both ends of its time included, and the questions answered about it."""

    first: int = EARLIEST
    last: int = LATEST
    chosen: dict[Hashable, Chosen] = field(default_factory=dict)  # until something changes


class Collection:
    """Objects by id and by age. Objects are replaced whole, never changed in place."""

    def __init__(self, store: Store, shelf: int, *, part: Part | None = None) -> None:
        self._store, self._shelf = store, shelf  # what is forgotten lies on the shelf's negative
        self._part = part or Part()

    def __len__(self) -> int:
        row = self._store.row("SELECT count(*) FROM objects WHERE shelf = ?", self._shelf)
        return int(row[0]) if row else 0

    def __contains__(self, id_: str) -> bool:
        return self.find(id_) is not None

    def within(self, since: datetime | None, until: datetime | None) -> Self:
        """Return the same, seen only as far as created from `since` to `until`, both included."""
        first = to_micros(since) if since else self._part.first
        last = to_micros(until) if until else self._part.last
        return type(self)(self._store, self._shelf, part=Part(first, last, self._part.chosen))

    def find(self, id_: str) -> Object | None:
        row = self._store.row("SELECT body FROM objects WHERE shelf = ? AND id = ?", self._shelf, to_key(id_))
        return msgspec.json.decode(row[0]) if row else None

    def keep(self, found: Object, at: datetime) -> None:
        """Make this the current version of the object; its place in lists comes with its first version."""
        created = found.get("created_at")
        moment = to_micros(to_moment(created) if created else at)
        self._store.write(KEPT, self._shelf, to_key(found["id"]), moment, msgspec.json.encode(found))
        self._part.chosen.clear()

    def forget(self, id_: str) -> None:
        """Remove the object from lists and gets; paging from it still works."""
        moved = "UPDATE OR REPLACE objects SET shelf = -shelf WHERE shelf = ? AND id = ?"
        self._store.write(moved, self._shelf, to_key(id_))
        self._part.chosen.clear()

    def choose(self, question: Hashable, keep: Keep | None) -> Chosen:
        """Return the objects that answer the question, newest first; further pages cost no second search."""
        known = self._part.chosen
        if question not in known:
            if len(known) >= REMEMBERED:
                known.clear()
            rows = self._store.rows(CHOSEN, self._shelf, self._part.first, self._part.last)
            arrivals = (arrival for arrival, body in rows if keep is None or keep(msgspec.json.decode(body)))
            known[question] = Chosen(self._store, array("q", arrivals))
        return known[question]

    def newest_first(self) -> Iterator[Object]:
        return self._walk("<", (self._part.last + 1, EARLIEST))

    def older_than(self, id_: str) -> Iterator[Object]:
        """Newest first, beginning behind that object. Raise KeyError for an unknown id."""
        return self._walk("<", min(self._place(id_), (self._part.last + 1, EARLIEST)))

    def newer_than(self, id_: str) -> Iterator[Object]:
        """Oldest first, beginning before that object. Raise KeyError for an unknown id."""
        return self._walk(">", max(self._place(id_), (self._part.first, EARLIEST)))

    def _place(self, id_: str) -> Place:
        known = "SELECT created, arrival FROM objects WHERE shelf IN (?, ?) AND id = ? ORDER BY shelf DESC LIMIT 1"
        row = self._store.row(known, self._shelf, -self._shelf, to_key(id_))
        if row is None:
            raise KeyError(id_)
        return row[0], row[1]

    def _walk(self, side: str, place: Place) -> Iterator[Object]:
        # A chunk at a time: the caller may change what it is given.
        end = self._part.first if side == "<" else self._part.last
        while True:
            rows = list(self._store.rows(SIDES[side], self._shelf, *place, end, CHUNK))
            for _, _, body in rows:
                yield msgspec.json.decode(body)
            if len(rows) < CHUNK:
                return
            place = rows[-1][0], rows[-1][1]


class Collections(dict[tuple[str, str], Collection]):
    """Every collection by mode and name, each made when it is first asked for."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self._store = store

    def __missing__(self, key: tuple[str, str]) -> Collection:
        self[key] = Collection(self._store, len(self) + 1)
        return self[key]


class PayoutItems:
    """The resources of payouts, in the order they were put in."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def add(self, item: Object) -> None:
        self._store.write(
            "INSERT INTO payout_items (payout, type, resource, body) VALUES (?, ?, ?, ?)",
            to_key(item["payout"]),
            item["resource_type"],
            to_key(item["resource"]),
            msgspec.json.encode(item),
        )

    def __getitem__(self, payout: str) -> list[Object]:
        rows = self._store.rows("SELECT body FROM payout_items WHERE payout = ? ORDER BY position", to_key(payout))
        return [msgspec.json.decode(body) for (body,) in rows]

    def newest_first(self, payout: str, type_: str) -> list[str]:
        """Return the ids of the resources of one type."""
        asked = "SELECT resource FROM payout_items WHERE payout = ? AND type = ? ORDER BY position DESC"
        return [resource.decode() for (resource,) in self._store.rows(asked, to_key(payout), type_)]

    def items(self) -> Iterator[tuple[str, list[Object]]]:
        """Return every payout with its resources."""
        payouts = [row[0].decode() for row in self._store.rows("SELECT DISTINCT payout FROM payout_items")]
        return ((payout, self[payout]) for payout in payouts)

    def values(self) -> Iterator[list[Object]]:
        return (some for _, some in self.items())
