"""The events of a page that are not here to the byte already; a repeated read of our own is no new arrival."""

import hashlib
from collections.abc import Sequence
from datetime import datetime

import msgspec
import sqlalchemy as sa
from sqlmodel import Session

from consumer.config import Connection
from consumer.facts.tables.inbox import Event, Source
from consumer.inbox.record import Arrival, UnusableEvent, read_arrival
from consumer.provider.errors import Unreadable

_EVENT: sa.Table = Event.__table__  # type: ignore[attr-defined]


class _Identified(msgspec.Struct):
    id: str | None = None


_DECODER = msgspec.json.Decoder(_Identified)


def to_arrivals(
    session: Session, items: Sequence[bytes], *, connection: Connection, received_at: datetime
) -> list[Arrival]:
    """Read what may be new; an item without a usable id is an error, since it could never be kept once."""
    known = _digests(session, connection.name, [_identify(raw) for raw in items])
    try:
        return [
            read_arrival(raw, connection=connection, source=Source.BACKFILL, received_at=received_at)
            for raw in items
            if hashlib.sha256(raw).hexdigest() not in known
        ]
    except UnusableEvent as error:
        raise Unreadable(f"events: the list holds an event that cannot be kept: {error}") from error


def _identify(raw: bytes) -> str | None:
    try:
        return _DECODER.decode(raw).id
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _digests(session: Session, connection: str, ids: Sequence[str | None]) -> set[str]:
    """Find the digests of what is stored under these ids; a body holds its id, so digests alone tell them apart."""
    wanted = sorted({id_ for id_ in ids if id_ is not None})
    asked = sa.select(_EVENT.c.raw_sha256).where(_EVENT.c.connection == connection, _EVENT.c.id.in_(wanted))
    return set(session.execute(asked).scalars())
