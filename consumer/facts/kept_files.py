"""Files that people give, kept once under their digest: written before the row that names them, deleted after it.

A process that dies between leaves a file without a row, which the nightly sweep finds; never a row without its file.
"""

from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

import sqlalchemy as sa
from sqlalchemy.orm import Mapped
from sqlmodel import Session, col

from consumer.facts import shared_files
from consumer.facts.durable import digest_file, sync_folder, write_durably
from consumer.facts.installation import Installation
from consumer.facts.store import Turn, take_turn
from consumer.facts.tables.jobs import SharedFile

Digest: TypeAlias = str


@dataclass(frozen=True, slots=True)
class KeptFiles:
    """The files of one folder of the archive; `sha256` is the column of the rows that name them."""

    place: str
    sha256: Mapped[str]

    def keep(self, session: Session, installation: Installation, digest: Digest, content: bytes, now: datetime) -> None:
        """Write a file to the disk, before its row is committed; deleting waits until this transaction ends."""
        take_turn(session, Turn.EVIDENCE)
        path = self._path(installation, digest)
        with write_durably(path) as file:
            file.write(content)
        sync_folder(path.parent)
        shared_files.publish(installation, path, now=now)

    def find(self, installation: Installation, digest: Digest) -> Path | None:
        """Return where a file lies; None if it is gone or its bytes are others."""
        path = self._path(installation, digest)
        shared_files.fetch(installation, path)
        return path if path.exists() and digest_file(path) == digest else None

    def drop_unused(self, installation: Installation, digests: Collection[Digest]) -> int:
        """Delete files that no row names; call it after the rows are gone for good. Return how many were there."""
        with installation.store.transaction() as session:
            # Who keeps one of them meanwhile waits, and writes it again.
            take_turn(session, Turn.EVIDENCE)
            unused = set(digests) - self._list_named(session)
            for digest in unused:
                path = self._path(installation, digest)
                path.unlink(missing_ok=True)
                shared_files.withdraw(installation, path)
        return len(unused)

    def sweep(self, installation: Installation, *, before: datetime | None = None) -> int:
        """Delete what a killed process left: files without a row, and drafts; return how many."""
        return self.drop_unused(installation, set(self._list_files(installation, before)))

    def find_lost(self, session: Session, installation: Installation) -> set[Digest]:
        """Return the digests that rows name and of which no file is there."""
        return self._list_named(session) - set(self._list_files(installation))

    def _list_named(self, session: Session) -> set[Digest]:
        return set(session.scalars(sa.select(self.sha256).where(self.sha256 != "").distinct()))

    def _list_files(self, installation: Installation, before: datetime | None = None) -> Iterator[Digest]:
        """Yield the names of files here and in the database, last written before a moment if one is given."""
        for path in (installation.settings.files_dir / self.place).glob("*"):
            with suppress(FileNotFoundError):
                if before is None or datetime.fromtimestamp(path.stat().st_mtime, UTC) < before:
                    yield path.name
        with installation.store.reading() as session:
            asked = sa.select(col(SharedFile.path)).where(col(SharedFile.path).startswith(f"{self.place}/"))
            found = session.scalars(asked if before is None else asked.where(col(SharedFile.stored_at) < before))
            yield from {name.partition("/")[2] for name in found}

    def _path(self, installation: Installation, digest: Digest) -> Path:
        return installation.settings.files_dir / self.place / digest
