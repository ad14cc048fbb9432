"""Files that people add to an exception: kept under their digest, and taken away by who added them."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import sqlalchemy as sa
from sqlmodel import Session, col

from consumer.facts.installation import Installation
from consumer.facts.store import Turn, take_turn
from consumer.facts.uploads import LARGEST, find_media
from reconcile.desk.archive import FILES
from reconcile.desk.decisions import DecisionError, Signature
from reconcile.kept.records import read_closed_periods
from reconcile.tables.desk import Attachment, ExceptionChange, ExceptionRow

MOST = 50
_SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_TEXTS = {".csv": "text/csv", ".txt": "text/plain", ".eml": "text/plain"}
_KILOBYTE = 1_000


@dataclass(frozen=True, slots=True)
class Given:
    """A file that a person chose; who and when."""

    name: str
    content: bytes
    who: str
    at: datetime


def find_attachment_type(name: str, content: bytes) -> str:
    """Return the media type of a file, by its first bytes; raise DecisionError if it is none that is kept."""
    if not 0 < len(content) <= LARGEST:
        raise DecisionError("casework.file_size", name=name, kilobytes=-(-len(content) // _KILOBYTE))
    found = find_media(content)
    ending = Path(name).suffix.lower()
    if found is None and ending == ".xlsx" and content.startswith(b"PK\x03\x04"):
        return _SHEET
    if found is None and ending in _TEXTS and b"\x00" not in content:
        return _TEXTS[ending]
    if found is None:
        raise DecisionError("casework.file_type", name=name)
    return found


def attach(
    session: Session, installation: Installation, connection: str, exception_id: str, given: Given
) -> Attachment:
    """Keep a file with an exception; the same one again is the one that is there.

    Raise DecisionError if it is none that is kept, or if too many are there.
    """
    find_attachment_type(given.name, given.content)
    if session.get(ExceptionRow, (connection, exception_id)) is None:
        raise DecisionError("desk.no_exception", exception=exception_id, connection=connection)
    take_turn(session, Turn.EVIDENCE)
    digest = hashlib.sha256(given.content).hexdigest()
    there = list_attachments(session, connection, exception_id)
    same = next((one for one in there if one.sha256 == digest), None)
    if same is None and len(there) >= MOST:
        raise DecisionError("casework.too_many_files", most=MOST)
    # Also of one that is there: its file may have been lost.
    FILES.keep(session, installation, digest, given.content, given.at)
    if same is not None and same.who != given.who:
        # One row would be gone for both when the first takes it away.
        raise DecisionError("casework.file_there", name=same.name, who=same.who)
    if same is not None:
        return same
    row = Attachment(connection=connection, exception_id=exception_id, name=given.name, size=len(given.content),
                     sha256=digest, who=given.who, at=given.at)  # fmt: skip
    session.add_all([row, _to_change(row, given.who, given.at, after=given.name)])
    session.flush()
    return row


def detach(session: Session, connection: str, exception_id: str, number: int, signed: Signature) -> str:
    """Take away a file that this person added, and return its digest: the caller drops the file after the commit.

    Raise DecisionError if another added it, or a closed period holds it.
    """
    take_turn(session, Turn.EVIDENCE)
    row = find(session, connection, exception_id, number)
    if row is None:
        raise DecisionError("casework.file_gone")
    if row.who != signed.author:
        raise DecisionError("casework.file_of_another", name=row.name, who=row.who)
    closed = next((one for one in read_closed_periods(session, connection) if row.at <= one.closed_at), None)
    if closed is not None:
        raise DecisionError("casework.file_closed", name=row.name, until=closed.until)
    session.add(_to_change(row, signed.author, signed.at, before=row.name))
    session.delete(row)
    session.flush()
    return row.sha256


def list_attachments(session: Session, connection: str, exception_id: str) -> Sequence[Attachment]:
    """Return the files of an exception, oldest first."""
    mine = (col(Attachment.connection) == connection, col(Attachment.exception_id) == exception_id)
    return session.scalars(sa.select(Attachment).where(*mine).order_by(col(Attachment.id))).all()


def find(session: Session, connection: str, exception_id: str, number: int) -> Attachment | None:
    there = list_attachments(session, connection, exception_id)
    return next((one for one in there if one.id == number), None)


def find_file(installation: Installation, row: Attachment) -> Path:
    """Return where a file lies; raise DecisionError if its bytes are not those that were kept."""
    path = FILES.find(installation, row.sha256)
    if path is None:
        raise DecisionError("casework.file_changed", name=row.name)
    return path


def _to_change(row: Attachment, who: str, at: datetime, *, before: str = "", after: str = "") -> ExceptionChange:
    return ExceptionChange(connection=row.connection, exception_id=row.exception_id, at=at, author=who,
                           change="attachment", before=before, after=after)  # fmt: skip
