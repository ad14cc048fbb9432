"""The provider's event types, and the event log of one mode: in order, each from the moment it may be seen."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec

from sandbox.state.clock import to_iso
from sandbox.state.store import (
    CHUNK,
    EARLIEST,
    EPOCH,
    LATEST,
    Object,
    Place,
    Row,
    Store,
    from_micros,
    to_key,
    to_micros,
)

COLUMNS = "id, type, mode, created, visible, body, position"
FOUND = "SELECT id, type, mode, created, visible, body, position FROM events WHERE id = ? AND mode = ?"


@dataclass(frozen=True, slots=True)
class Family:
    """The event types that carry one kind of object: its name, how its ids begin, and what may happen to it."""

    object: str
    prefix: str
    changes: tuple[str, ...]


FAMILIES = {
    "link": Family("link", "link", ("credentials_changed",)),
    "link.refresh_intent": Family("refresh_intent", "ri", ("succeeded", "failed")),
    "account.refresh_intent": Family(
        "refresh_intent", "ri", ("succeeded", "failed", "rejected", "movements_removed", "movements_modified")
    ),
    "payment_intent": Family("payment_intent", "pi", ("succeeded", "rejected", "failed", "pending", "expired")),
    "subscription": Family("subscription", "sub", ("payment_method_updated", "payment_method_update_failed")),
    "subscription_intent": Family("subscription_intent", "si", ("succeeded", "rejected", "failed")),
    "charge": Family("charge", "ch", ("succeeded", "failed")),
    "refund": Family("refund", "re", ("succeeded", "failed", "in_progress")),
    "payout": Family("payout", "po", ("created", "canceled", "succeeded", "returned")),
    "checkout_session": Family("checkout_session", "cs", ("finished", "expired")),
    "transfer.inbound": Family("transfer", "tr", ("succeeded", "returned", "return_failed", "rejected", "reversed")),
    "transfer.outbound": Family(
        "transfer", "tr", ("succeeded", "partially_succeeded", "failed", "returned", "reversed")
    ),
    "transfer_batch": Family(
        "transfer_batch", "trbatch", ("in_progress", "succeeded", "partially_succeeded", "failed")
    ),
    "account_number": Family("account_number", "acno", ("deleted",)),
    "account_verification": Family("account_verification", "accv", ("succeeded", "failed")),
    "payment_method": Family("payment_method", "pm", ("activated", "canceled")),
    "invoice": Family(
        "invoice",
        "inv",
        (
            "created",
            "finalized",
            "paid",
            "payment_created",
            "payment_failed",
            "payment_succeeded",
            "upcoming",
            "voided",
        ),
    ),
    "dispute": Family("dispute", "cb", ("waiting_documentation", "in_review", "won", "lost", "expired")),
    "entity.onboarding": Family("onboarding", "onb", ("approved", "rejected")),
}
TYPES: tuple[str, ...] = tuple(f"{name}.{change}" for name, family in FAMILIES.items() for change in family.changes)


def family_of(type_: str) -> Family:
    """Return the family of an event type."""
    return FAMILIES[type_.rpartition(".")[0]]


@dataclass(frozen=True, slots=True)
class Event:
    """One announced change; `data` is the object after it."""

    id: str
    type: str
    mode: str
    created_at: datetime
    visible_at: datetime
    data: Object

    def envelope(self) -> Object:
        return {
            "id": self.id,
            "object": "event",
            "type": self.type,
            "mode": self.mode,
            "created_at": to_iso(self.created_at),
            "data": self.data,
        }


@dataclass(frozen=True, slots=True)
class About:
    """Which events are asked for: of these types, or of any; of one resource, or of all."""

    types: Sequence[str] = ()
    resource: str | None = None

    def condition(self) -> tuple[str, list[object]]:
        """Return the same in the words of the database."""
        words, values = "", list[object]()
        if self.types:
            words += f" AND type IN ({', '.join('?' * len(self.types))})"
            values += self.types
        if self.resource is not None:
            words += " AND resource = ?"
            values.append(to_key(self.resource))
        return words, values


ANYTHING = About()


class EventLog:
    """Events in order of `created_at`; only ever appended to."""

    def __init__(self, store: Store, mode: str) -> None:
        self._store, self._mode = store, mode
        self.last_at = EPOCH  # when the last event was created

    def __len__(self) -> int:
        row = self._store.row("SELECT count(*) FROM events WHERE mode = ?", self._mode)
        return int(row[0]) if row else 0

    def append(self, event: Event) -> None:
        assert event.created_at >= self.last_at
        about = event.data.get("id")
        self._store.write(
            "INSERT INTO events (mode, id, type, resource, created, visible, body) VALUES (?, ?, ?, ?, ?, ?, ?)",
            self._mode,
            to_key(event.id),
            event.type,
            to_key(about) if isinstance(about, str) else None,
            to_micros(event.created_at),
            to_micros(event.visible_at),
            msgspec.json.encode(event.data),
        )
        self.last_at = event.created_at

    def find(self, id_: str, now: datetime) -> Event | None:
        """Return the event, if it may be seen by now."""
        row = self._store.row(FOUND, to_key(id_), self._mode)
        event = _to_event(row) if row else None
        return event if event and event.visible_at <= now else None

    def newest_first(
        self, since: datetime | None, until: datetime | None, *, after: str | None, about: About = ANYTHING
    ) -> Iterator[Event]:
        """From `until` back to `since`, both included, beginning behind the event `after`. Raise KeyError."""
        place = (LATEST, LATEST) if after is None else self._place(after)
        return self._walk("<", place, since, until, about)

    def oldest_first(
        self, since: datetime | None, until: datetime | None, *, before: str, about: About = ANYTHING
    ) -> Iterator[Event]:
        """From just before the event `before` on towards the newest. Raise KeyError."""
        return self._walk(">", self._place(before), since, until, about)

    def _place(self, id_: str) -> Place:
        asked = "SELECT created, position FROM events WHERE id = ? AND mode = ?"
        row = self._store.row(asked, to_key(id_), self._mode)
        if row is None:
            raise KeyError(id_)
        return row[0], row[1]

    def _walk(
        self, side: str, place: Place, since: datetime | None, until: datetime | None, about: About
    ) -> Iterator[Event]:
        words, values = about.condition()
        order = "DESC" if side == "<" else "ASC"
        asked = (
            f"SELECT {COLUMNS} FROM events WHERE mode = ? AND created BETWEEN ? AND ? {words}"  # noqa: S608 - no input
            f" AND (created, position) {side} (?, ?) ORDER BY created {order}, position {order} LIMIT {CHUNK}"
        )
        first, last = to_micros(since) if since else EARLIEST, to_micros(until) if until else LATEST
        while True:
            rows = list(self._store.rows(asked, self._mode, first, last, *values, *place))
            yield from map(_to_event, rows)
            if len(rows) < CHUNK:
                return
            place = rows[-1][3], rows[-1][6]


def _to_event(row: Row) -> Event:
    id_, type_, mode, created, visible, body, _ = row
    return Event(id_.decode(), type_, mode, from_micros(created), from_micros(visible), msgspec.json.decode(body))
