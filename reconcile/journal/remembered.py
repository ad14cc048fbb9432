"""Exports that were made, remembered entry by entry and compared with a later run."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

import msgspec
import sqlalchemy as sa
from sqlmodel import Session, col, select

from consumer.facts.store import Turn, take_turn
from consumer.facts.tables.types import core_of
from reconcile.journal.booking import BookedEntry
from reconcile.journal.entries import JournalError
from reconcile.journal.exporting import EARLIEST, Head, Moved, Remembered
from reconcile.tables.closing import JournalEntry, JournalExport

_NAMES = ("key", "sequence", "on", "currency", "clearing", "digest", "content")
_decode = msgspec.json.Decoder(BookedEntry).decode
# The columns of a stored document that are read.
DOCUMENT = ("doc_key", "doc_type", "folio", "uuid", "customer_tax_id", "currency", "total", "adjusted_amount")
OTHER = "other"


@dataclass(frozen=True, slots=True)
class Made:
    """An export before it is remembered: its days and run, who made it, and in which layouts."""

    connection: str
    since: date
    until: date
    run_id: str
    profiles: Sequence[str]
    author: str
    at: datetime


def recall(session: Session, connection: str) -> Remembered:
    """Return what earlier exports of a connection held; the session must stay open while it is used."""
    entry, export = JournalEntry, JournalExport
    is_own = col(entry.connection) == connection
    ranges = sa.select(col(export.since), col(export.until)).where(col(export.connection) == connection)
    heads = sa.select(col(entry.key), col(entry.sequence), col(entry.digest), col(entry.currency)).where(is_own)
    moved = sa.select(col(entry.on), col(entry.currency), sa.func.sum(col(entry.clearing))).where(is_own)
    by_day = moved.group_by(col(entry.on), col(entry.currency))
    return Remembered(
        heads={row[0]: Head(*row[1:]) for row in session.execute(heads.order_by(col(entry.sequence)))},
        ranges=[(row[0], row[1]) for row in session.execute(ranges)],
        moved=[Moved(row[0], row[1], int(row[2])) for row in session.execute(by_day)],
        read_entry=lambda key: _read(session, is_own, col(entry.key) == key),
        read_day=lambda on: _read(session, is_own, col(entry.on) == on),
    )


def first_open(session: Session, connection: str) -> date:
    """Return the first day that no export covered, from the first that one did; of all days where there is none."""
    remembered = recall(session, connection)
    return remembered.first_open(min((since for since, _ in remembered.ranges), default=EARLIEST))


def _read(session: Session, *conditions: sa.ColumnElement[bool]) -> list[BookedEntry]:
    """Read entries in the order in which they were booked."""
    order = col(JournalEntry.export_id), col(JournalEntry.place)
    contents = sa.select(col(JournalEntry.content)).where(*conditions).order_by(*order)
    return [_decode(zlib.decompress(content)) for content in session.scalars(contents)]


def pack(entry: BookedEntry, digest: bytes) -> tuple[object, ...]:
    """Return the row of an entry, in the order of its columns."""
    content = zlib.compress(msgspec.json.encode(entry), 1)
    return (entry.key, entry.sequence, entry.on, entry.currency, entry.clearing, digest, content)


def exports_of(session: Session, connection: str) -> Sequence[JournalExport]:
    """Return every export of a connection, newest first."""
    mine = select(JournalExport).where(JournalExport.connection == connection)
    return session.exec(mine.order_by(col(JournalExport.id).desc())).all()


def last_export(session: Session, connection: str) -> int:
    """Return the number of the newest export, 0 where there is none."""
    newest = select(sa.func.max(JournalExport.id)).where(JournalExport.connection == connection)
    return session.exec(newest).one() or 0


def remember(session: Session, made: Made, entries: Sequence[Sequence[object]], *, seen: int) -> None:
    """Keep an export; raise JournalError if another one was made since the number `seen`."""
    take_turn(session, Turn.JOURNAL)
    if last_export(session, made.connection) != seen:
        raise JournalError("journal.exported_meanwhile")
    export = JournalExport(
        connection=made.connection, since=made.since, until=made.until, run_id=made.run_id,
        profiles=" ".join(made.profiles), entries=len(entries), author=made.author, at=made.at,
    )  # fmt: skip
    session.add(export)
    session.flush()
    alike = {"connection": made.connection, "export_id": export.id}
    rows = [alike | dict(zip(_NAMES, entry, strict=True)) | {"place": place} for place, entry in enumerate(entries)]
    if rows:
        session.execute(sa.insert(core_of(JournalEntry)), rows)
