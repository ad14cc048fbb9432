"""The watched folder: files that other programs lay down come into the books, and are filed with their verdict."""

import fcntl
import json
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

import structlog

from consumer.facts.installation import Connection, Installation
from consumer.facts.messages import Message
from reconcile.books.documents import NO_LINE, Reject
from reconcile.books.intake import TERMS, Intake, Kind, Verdict, bring_in, to_safe_name

log = structlog.get_logger("cuadre.books")

DONE, REFUSED = "done", "refused"
# A file is taken once it has not changed for so long; programs that copy slowly pause less.
QUIET_SECONDS = 10.0
LOOK_SECONDS = 5.0
LARGEST = 100_000_000
_MEGABYTE = 1_000_000
# Names under which programs write before they rename, and their own notes.
_UNFINISHED = (".part", ".tmp", ".filepart", ".crdownload", "~", ".swp")
# Inode, size and the times of the last change of content and of the file itself.
_Mark: TypeAlias = tuple[int, int, int, int]
Note: TypeAlias = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class _Place:
    """A folder whose files are of one connection and kind; `term` is what the folder is named after."""

    folder: Path
    connection: Connection
    kind: Kind
    term: str = ""


def note_nothing(_subject: str) -> None:
    """Write no trail."""


class FolderWatch:
    """Remembers from look to look which files have changed; `note` writes what came in into the trail."""

    def __init__(self, installation: Installation, folder: Path, note: Note = note_nothing) -> None:
        self._installation, self._folder, self._note = installation, folder, note
        self._seen: dict[Path, tuple[_Mark, float]] = {}
        self._is_missing = False

    def look(self, at: float) -> int:
        """Take the files that have stopped growing, and return how many; `at` is a monotonic time in seconds.

        1. List the plain files below `<connection>/<kind>/` and in the folders of accounts, currencies or months there;
           links, hidden files and unfinished ones are passed over.
        2. Leave a file that is new or changed since the last look, or has not been quiet for long enough.
        3. Lock it, so that another worker leaves it, and read it; one that grows meanwhile waits for a later look.
        4. Bring it in, whole or not at all; the same content a second time makes no change.
        5. Move it to `done/` or `refused/` and write the verdict next to it.
        """
        self._say_if_missing()
        found = {path: place for place in self._places() for path in _plain_files(place.folder)}
        self._seen = {path: self._seen[path] for path in found if path in self._seen}
        return sum(self._take(path, place, at) for path, place in found.items() if self._is_quiet(path, at))

    def _say_if_missing(self) -> None:
        is_missing = not self._folder.is_dir()
        if is_missing and not self._is_missing:
            log.warning("the books folder is not there")
        self._is_missing = is_missing

    def _places(self) -> Iterator[_Place]:
        for connection in self._installation.settings.all_connections:
            for kind in Kind:
                folder = self._folder / connection.name / kind.value
                if folder.parent.is_symlink() or not _is_own_folder(folder):
                    continue
                yield _Place(folder, connection, kind)
                if kind not in TERMS:
                    continue
                for term in sorted(folder.iterdir()):
                    if _is_own_folder(term) and term.name not in (DONE, REFUSED):
                        yield _Place(term, connection, kind, term.name)

    def _is_quiet(self, path: Path, at: float) -> bool:
        try:
            mark = _mark_of(path.lstat())
        except FileNotFoundError:
            return False
        known, since = self._seen.get(path, (None, at))
        if mark != known:
            self._seen[path] = (mark, at)
            return False
        return at - since >= QUIET_SECONDS

    def _take(self, path: Path, place: _Place, at: float) -> bool:
        mark = self._seen[path][0]
        # A file that fails waits its time again, so that it keeps no other from its turn.
        self._seen[path] = (mark, at)
        try:
            with _lock(path, mark) as file:
                content = None if file is None else _read(file, mark)
                if content is None:
                    return False
                found = self._bring_in(to_safe_name(path.name), content, place)
                _move(path, found)
                if found.kept:
                    self._note(f"{place.connection.name} {place.kind.value} {found.name}")
        except OSError as error:
            log.warning("a file of the books folder cannot be read or moved", error=error.strerror)
            return False
        log.info("file of the books folder", connection=place.connection.name, kind=place.kind.value,
                 verdict=found.verdict.value)  # fmt: skip
        return True

    def _bring_in(self, name: str, content: bytes, place: _Place) -> Intake:
        if len(content) > LARGEST:
            values = {"megabytes": len(content) // _MEGABYTE, "most": LARGEST // _MEGABYTE}
            reject = Reject(NO_LINE, "", "", Message("books.file_too_large", values))
            return Intake(name, False, 0, {}, [], [reject], [])
        return bring_in(self._installation, place.connection, place.kind, name, content, term=place.term)


def _is_own_folder(folder: Path) -> bool:
    return folder.is_dir() and not folder.is_symlink()


def _plain_files(folder: Path) -> list[Path]:
    """List files that are no links, under names of finished ones; what another name of the disk points to is a link."""
    found = []
    for path in sorted(folder.iterdir()):
        with suppress(FileNotFoundError):
            about = path.lstat()
            is_plain = stat.S_ISREG(about.st_mode) and about.st_nlink == 1
            if is_plain and not path.name.startswith(".") and not path.name.lower().endswith(_UNFINISHED):
                found.append(path)
    return found


def _mark_of(about: os.stat_result) -> _Mark:
    return about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns


@contextmanager
def _lock(path: Path, mark: _Mark) -> Iterator[int | None]:
    """Open a file for this worker alone; None where another one has it, or it is no longer the one that was seen."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        yield None
        return
    try:
        is_ours = True
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            is_ours = False
        except OSError:
            # A disk of the network may not lock; the books keep the same content once all the same.
            log.debug("the disk of the books folder does not lock")
        # The process that had the lock before may have moved the file.
        is_there = path.exists() and _mark_of(path.lstat()) == mark == _mark_of(os.fstat(file))
        yield file if is_ours and is_there else None
    finally:
        os.close(file)


def _read(file: int, mark: _Mark) -> bytes | None:
    """Read a file to a little more than the limit; None where it changed meanwhile."""
    with os.fdopen(os.dup(file), "rb") as reader:
        content = reader.read(LARGEST + 1)
    return content if _mark_of(os.fstat(file)) == mark else None


def _move(path: Path, found: Intake) -> None:
    """Move a file under a name of its own and write its verdict; a process that dies between leaves none."""
    now = datetime.now(UTC)
    folder = path.parent / (REFUSED if found.verdict is Verdict.REFUSED else DONE)
    folder.mkdir(exist_ok=True)
    target = folder / f"{now:%Y%m%dT%H%M%S%f}Z-{found.name}"
    path.rename(target)
    answer = {"file": found.name, "at": now.isoformat(timespec="seconds"), **found.to_answer()}
    draft = target.with_name(f".{target.name}.verdict")
    # A reason may repeat the name of a folder, whose bytes need not be text.
    draft.write_text(json.dumps(answer, ensure_ascii=False, indent=2) + "\n", encoding="utf-8", errors="replace")
    draft.rename(target.with_name(f"{target.name}.verdict.json"))


def look_again(watch: FolderWatch) -> float:
    """Look once and return how many seconds to rest; for the worker's loop."""
    watch.look(time.monotonic())
    return LOOK_SECONDS
