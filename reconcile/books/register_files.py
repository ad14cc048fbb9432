"""Files of tax registers, kept apart from the books: each whole or not at all, once, with the moment it speaks of."""

import hashlib
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePath

import sqlalchemy as sa
from sqlmodel import Session, col, select

from consumer.facts.clock import utc_now
from consumer.facts.erasures import read_subjects
from consumer.facts.installation import Connection, Installation
from consumer.facts.messages import Message
from consumer.facts.store import Turn, insert_once, take_turn
from reconcile.books.documents import NO_LINE, Reject
from reconcile.books.invoices import find_own_tax_ids
from reconcile.books.tax_files import is_archive, open_zip, refuse_size
from reconcile.books.tax_registers import (
    METADATA,
    SIDES,
    Entry,
    Owner,
    RegisterReading,
    names_third_parties,
    read_register,
)
from reconcile.tables.fiscal import RegisterFile, RegisterRow

# A list of the SAT holds up to a million rows.
LARGEST_FILE = 400_000_000
_OF_A_PERSON = ("issuer_tax_id", "receiver_tax_id", "name")


@dataclass(frozen=True, slots=True)
class RegisterOutcome:
    """What became of one file; `accepted` also holds for a dry run, and for one that came in before (`earlier`)."""

    name: str
    sha256: str
    accepted: bool
    kept: bool
    reading: RegisterReading
    earlier: Message | None = None

    @property
    def rejects(self) -> tuple[Reject, ...]:
        return self.reading.rejects


def import_registers(
    installation: Installation, connection: Connection, path: Path, *, period: str = "",
    sides: AbstractSet[str] = SIDES, dry_run: bool = False,
) -> Iterator[RegisterOutcome]:  # fmt: skip
    """Bring in a file of a register, or every file of a ZIP, each by itself."""
    if not is_archive(path):
        yield import_register(installation, connection, path, period=period, sides=sides, dry_run=dry_run)
        return
    for member in open_zip(path, path.name, largest=LARGEST_FILE):
        if member.problem is not None:
            yield _refuse(member.name, member.problem)
            continue
        yield _import(
            installation, connection, member.name, member.content, period=period, sides=sides, dry_run=dry_run
        )


def import_register(  # noqa: PLR0913 - one file, and what only a person knows of it
    installation: Installation, connection: Connection, path: Path, *, period: str = "",
    sides: AbstractSet[str] = SIDES, at: datetime | None = None, dry_run: bool = False,
) -> RegisterOutcome:  # fmt: skip
    """Read one file of a register and keep its rows in one transaction; `at` is when it was asked for, else now."""
    try:
        if (size := path.stat().st_size) > LARGEST_FILE:
            return _refuse(path.name, refuse_size(size, LARGEST_FILE))
        content = path.read_bytes()
    except OSError as error:
        return _refuse(path.name, Message("books.file_unreadable", {"reason": str(error.strerror)}))
    return _import(
        installation, connection, path.name, content, period=period, sides=sides, at=at, dry_run=dry_run
    )  # fmt: skip


def _refuse(name: str, reason: Message) -> RegisterOutcome:
    return RegisterOutcome(name, "", False, False, RegisterReading(rejects=(Reject(NO_LINE, "", "", reason),)))


def _import(  # noqa: PLR0913 - see above
    installation: Installation, connection: Connection, name: str, content: bytes, *, period: str,
    sides: AbstractSet[str], at: datetime | None = None, dry_run: bool = False,
) -> RegisterOutcome:  # fmt: skip
    if names_third_parties(content):
        return RegisterOutcome(name, "", True, False, RegisterReading(), Message("register.third_parties"))
    with installation.store.reading() as session:
        owner = Owner(connection.country_code, find_own_tax_ids(session, connection))
        reading = read_register(PurePath(name).name, content, owner, period=period, sides=sides)
        sha256 = _name_content(content, reading)
        known = session.get(RegisterFile, (connection.name, sha256))
    outcome = RegisterOutcome(name, sha256, not reading.rejects, False, reading)
    if reading.rejects:
        return outcome
    if dry_run:
        return _report_known(name, known) if known else outcome
    with installation.store.transaction() as session:
        return _keep(session, connection, outcome, at or utc_now())


def _name_content(content: bytes, reading: RegisterReading) -> str:
    """Return the digest of a file as it was read: an empty section has the same bytes in every month."""
    meant = f"{reading.side} {' '.join(reading.periods)}\n"
    return hashlib.sha256(meant.encode() + content).hexdigest()


def _report_known(name: str, known: RegisterFile) -> RegisterOutcome:
    earlier = Message("books.imported_before", {"at": known.imported_at, "name": known.name})
    reading = RegisterReading(known.side, known.section, tuple(known.period.split()))
    return RegisterOutcome(name, known.sha256, True, False, reading, earlier)


def _keep(session: Session, connection: Connection, outcome: RegisterOutcome, at: datetime) -> RegisterOutcome:
    take_turn(session, Turn.BOOKS)
    reading = outcome.reading
    file = {
        "connection": connection.name, "sha256": outcome.sha256, "name": outcome.name, "side": reading.side,
        "section": reading.section, "period": " ".join(reading.periods), "as_of": at, "imported_at": utc_now(),
        "rows": len(reading.rows),
    }  # fmt: skip
    if not insert_once(session.connection(), RegisterFile, [file], keys=["connection", "sha256"]):
        known = session.get_one(RegisterFile, (connection.name, outcome.sha256))
        earlier = _report_known(outcome.name, known)
        _refresh(session, known, at)
        return earlier
    common = {"connection": connection.name, "file_sha256": outcome.sha256, "as_of": at}
    rows = [{**entry, **common} for entry in _redact(session, reading.rows)]
    if rows:
        session.execute(sa.insert(RegisterRow), rows)
    return RegisterOutcome(outcome.name, outcome.sha256, True, True, reading)


def _refresh(session: Session, known: RegisterFile, at: datetime) -> None:
    """Count a file that came in again as of the later moment: the register is again as it says."""
    if at <= known.as_of:
        return
    known.as_of = at
    mine = (col(RegisterRow.connection) == known.connection, col(RegisterRow.file_sha256) == known.sha256)
    session.execute(sa.update(RegisterRow).where(*mine).values(as_of=at))


def _redact(session: Session, entries: Sequence[Entry]) -> Sequence[Entry]:
    """Return rows as they may be kept: without what they say of people who were erased."""
    subjects = read_subjects(session.connection())
    if subjects is None:
        return entries
    words = subjects.pseudonyms.text
    return [
        {**entry, **{name: words(str(entry[name])) for name in _OF_A_PERSON}}
        if subjects.is_in([str(entry["issuer_tax_id"]), str(entry["receiver_tax_id"])])
        else entry
        for entry in entries
    ]


def read_rows(session: Session, connection: str, *asked: sa.ColumnElement[bool]) -> Sequence[RegisterRow]:
    """Return the rows asked for that count: of each side, section and month those of the newest file.

    Lists of the SAT come in parts of a month: there the newest row of each document counts.
    """
    files = session.exec(
        select(RegisterFile)
        .where(RegisterFile.connection == connection)
        .order_by(col(RegisterFile.as_of), col(RegisterFile.imported_at), col(RegisterFile.sha256))
    ).all()
    newest = {
        (file.side, file.section, file.sha256 if file.section == METADATA else file.period): file.sha256
        for file in files
    }
    order = {file.sha256: place for place, file in enumerate(files)}
    mine = select(RegisterRow).where(RegisterRow.connection == connection, *asked)
    counting = set(newest.values())
    found = [row for row in session.exec(mine) if row.file_sha256 in counting]
    found.sort(key=lambda row: (order[row.file_sha256], row.line))
    documents = {(row.side, row.uuid or (row.file_sha256, row.line)): row for row in found}
    return list(documents.values())
