"""The events of a page as they arrive in the inbox."""

from collections.abc import Sequence
from datetime import datetime

from consumer.facts.settings import Connection
from consumer.facts.tables.inbox import Source
from consumer.inbox.record import Arrival, UnusableEvent, read_arrival
from consumer.provider.errors import Unreadable


def to_arrivals(items: Sequence[bytes], *, connection: Connection, received_at: datetime) -> list[Arrival]:
    """Read a page; an item without a usable id is an error, since it could never be kept once."""
    try:
        return [
            read_arrival(raw, connection=connection, source=Source.BACKFILL, received_at=received_at) for raw in items
        ]
    except UnusableEvent as error:
        raise Unreadable(f"events: the list holds an event that cannot be kept: {error}") from error
