"""The file of a backup: a compressed tar of a manifest, the database and files, with the SHA-256 of each at its end.

`tar xzf FILE && sha256sum -c SHA256SUMS` unpacks and checks it without this program.
"""

import gzip
import hashlib
import io
import tarfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO

import msgspec

from consumer.backup.encrypting import Sealed
from consumer.facts.durable import digest_file
from consumer.facts.work import WorkError

MANIFEST, SUMS = "manifest.json", "SHA256SUMS"
DATABASE, FILES = "database", "files"
_FORMAT = 1
_PIECE = 1024 * 1024
# What the program has written is compressed already or compresses well at once.
_LEVEL = 1

OnBytes = Callable[[int], None]


def ignore_bytes(_count: int) -> None:
    pass


class DamagedBackupError(WorkError):
    """A file that is no backup, or not the one that was written; the message says which and how."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a backup is of: the moment it shows, the database's kind and version, and the sealed secrets."""

    made_at: datetime
    database: str
    version: str
    # PostgreSQL only: the columns of each table in the order of its rows, and where its sequences stood.
    tables: dict[str, list[str]] = {}
    sequences: dict[str, int] = {}
    sealed: Sealed | None = None
    format: int = _FORMAT


class Contents(msgspec.Struct, frozen=True):
    """A backup that was read to its end and found whole; `size` is what it takes unpacked."""

    manifest: Manifest
    sha256: str
    size: int


class Digesting:
    """A member of a backup whose content is digested and counted while it is read."""

    def __init__(self, name: str, size: int, content: IO[bytes], on_bytes: OnBytes, *, of: Path | None = None) -> None:
        self.name = name
        self.size = size
        self._content = content
        self._of = of
        self._on_bytes = on_bytes
        self._sha256 = hashlib.sha256()

    def read(self, size: int = -1, /) -> bytes:
        with _refuse_damage(self._of):
            piece = self._content.read(size)
        self._sha256.update(piece)
        self._on_bytes(len(piece))
        return piece

    def read_rest(self) -> str:
        """Read what is left of it and return the digest of all."""
        while self.read(_PIECE):
            pass
        return self._sha256.hexdigest()


class Writer:
    """Adds members to a backup, and their digests to its end."""

    def __init__(self, tar: tarfile.TarFile, on_bytes: OnBytes) -> None:
        self._tar = tar
        self._on_bytes = on_bytes
        self._sums: list[str] = []

    def add_bytes(self, name: str, content: bytes) -> None:
        self.add(name, io.BytesIO(content), len(content))

    def add(self, name: str, content: IO[bytes], size: int) -> None:
        member = tarfile.TarInfo(name)
        member.size, member.mode = size, 0o600
        source = Digesting(name, size, content, self._on_bytes)
        self._tar.addfile(member, source)
        # The library remembers every member, which is much memory where files are many.
        self._tar.members.clear()  # type: ignore[attr-defined]  # the library's types leave it out
        self._sums.append(f"{source.read_rest()}  {name}\n")

    def end(self) -> None:
        self.add_bytes(SUMS, "".join(self._sums).encode())


@contextmanager
def write(file: BinaryIO, on_bytes: OnBytes = ignore_bytes) -> Iterator[Writer]:
    """Write a backup into an open file; its digests are added when the block ends well."""
    with (
        gzip.GzipFile(fileobj=file, mode="wb", compresslevel=_LEVEL, filename="", mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as tar,
    ):
        writer = Writer(tar, on_bytes)
        yield writer
        writer.end()


def read_members(path: Path, *, on_bytes: OnBytes = ignore_bytes) -> Iterator[Digesting]:
    """Yield each member, to be read before the next is asked for; raise DamagedBackupError."""
    with _refuse_damage(path), gzip.open(path) as unpacked, tarfile.open(fileobj=unpacked, mode="r|") as tar:
        while (member := tar.next()) is not None:
            content = tar.extractfile(member) if member.isreg() and _is_safe(member.name) else None
            if content is None:
                raise DamagedBackupError(f"{path} is no backup of Cuadre: {member.name!r} has no place in one")
            yield Digesting(member.name, member.size, content, on_bytes, of=path)
            tar.members.clear()  # type: ignore[attr-defined]  # as above
        # What follows the tar is checked by its compression.
        while unpacked.read(_PIECE):
            pass


@contextmanager
def _refuse_damage(path: Path | None) -> Iterator[None]:
    try:
        yield
    except (tarfile.TarError, zlib.error, EOFError, gzip.BadGzipFile) as error:
        raise DamagedBackupError(f"{path} is damaged, or no backup of Cuadre: {error}") from None


def _is_safe(name: str) -> bool:
    """Return True if a name leads nowhere but into the backup's own folders."""
    parts = PurePosixPath(name).parts
    is_inside = parts[:1] in {(DATABASE,), (FILES,)} and not {"..", "/"} & set(parts) and len(parts) > 1
    return is_inside or name in {MANIFEST, SUMS}


def verify(path: Path, *, on_bytes: OnBytes = ignore_bytes) -> Contents:
    """Read a backup to its end and compare every member with its digest; raise DamagedBackupError."""
    found: dict[str, str] = {}
    kept = {MANIFEST: b"", SUMS: b""}
    size = 0
    for member in read_members(path, on_bytes=on_bytes):
        if member.name in found or kept[SUMS]:
            raise DamagedBackupError(f"{path} is damaged: {member.name} stands in it at the wrong place")
        if member.name in kept:
            kept[member.name] = member.read()
        found[member.name] = member.read_rest()
        size += member.size
    _check_sums(path, found, kept[SUMS])
    return Contents(_to_manifest(path, kept[MANIFEST]), digest_file(path), size)


def _check_sums(path: Path, found: dict[str, str], sums: bytes) -> None:
    if not sums:
        raise DamagedBackupError(f"{path} is damaged: it ends before its digests")
    lines = [line.partition("  ") for line in sums.decode(errors="replace").splitlines()]
    wanted = {name: digest for digest, _, name in lines}
    given = {name: digest for name, digest in found.items() if name != SUMS}
    for name in sorted(wanted.keys() | given.keys()):
        if wanted.get(name) != given.get(name):
            raise DamagedBackupError(f"{path} is damaged: {name} is not what was written; take another backup")


def _to_manifest(path: Path, content: bytes) -> Manifest:
    try:
        manifest = msgspec.json.decode(content, type=Manifest)
    except msgspec.DecodeError as error:
        raise DamagedBackupError(f"{path} is no backup of Cuadre: {error}") from None
    if manifest.format != _FORMAT:
        raise DamagedBackupError(f"{path} was made by a newer version of Cuadre: install that one")
    return manifest
