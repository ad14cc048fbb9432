"""Durable files: whole on the disk, or absent."""

import errno
import fcntl
import hashlib
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from tempfile import mkdtemp
from typing import BinaryIO

import sqlalchemy as sa

_DRAFT = ".writing-"
# What databases say of it.
_SHUT = ("disk I/O", "is full", "readonly", "read-only", "No space", "unable to open")
_UNWRITABLE = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG}


def is_disk_shut(error: BaseException) -> bool:
    """Return True if the disk is full or may only be read."""
    if isinstance(error, sa.exc.OperationalError | sa.exc.InternalError):
        return any(word in str(error.orig) for word in _SHUT)
    return isinstance(error, OSError) and error.errno in _UNWRITABLE


@contextmanager
def write_durably(path: Path) -> Iterator[BinaryIO]:
    """Open a file next to the target; when the block ends well, it is on the disk under the target's name.

    A reader never sees half a file, and a block that fails leaves none behind.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(_DRAFT + secrets.token_hex(8))
    try:
        with open_synced(draft) as file:
            yield file
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


@contextmanager
def open_synced(path: Path) -> Iterator[BinaryIO]:
    """Open a new file whose content is on the disk when the block has ended."""
    with path.open("xb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def digest_file(path: Path) -> str:
    """Return the SHA-256 of a file's bytes."""
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def sync_folder(folder: Path) -> None:
    """Put the names in a folder on the disk: a file's own sync does not."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def drop_old(folders: Iterable[Path], *, before: datetime) -> None:
    """Remove folders that were last changed before a moment; another process may remove the same ones."""
    for folder in folders:
        with suppress(FileNotFoundError):
            if datetime.fromtimestamp(folder.stat().st_mtime, UTC) < before:
                shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def folder_for(path: Path) -> Iterator[None]:
    """Make a folder with those above it; a block that fails leaves none of them that is new and empty."""
    new = [one for one in (path, *path.parents) if not one.exists()]
    path.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        for one in new:
            with suppress(OSError):
                one.rmdir()
        raise


@contextmanager
def draft_folder(place: Path, prefix: str) -> Iterator[Path]:
    """Make a folder in a place that goes with the block; those whose process was killed go first."""
    with _locked(place):
        for left in place.glob(f"{prefix}*"):
            with suppress(OSError), _locked(left, waits=False):
                shutil.rmtree(left, ignore_errors=True)
        folder = Path(mkdtemp(prefix=prefix, dir=place))
        handle = os.open(folder, os.O_RDONLY)
        fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(handle)


@contextmanager
def _locked(folder: Path, *, waits: bool = True) -> Iterator[None]:
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX if waits else fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)
