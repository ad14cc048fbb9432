"""Whether an archive of a month, or a PDF of Cuadre, is what was made: from the file alone, without a database.

Nothing of the file is trusted before it is checked: names, sizes and what is unpacked have limits.
"""

import hashlib
import json
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from consumer.facts.messages import Message, RefusalError
from reconcile.kept.snapshots import name_of
from reports.packs import sealing
from reports.packs.manifest import FORMAT, INPUTS, MANIFEST, SIGNATURE, File, Manifest, is_signature, read_manifest
from reports.packs.sealing import read_signature

_MOST_FILES, _LARGEST_MANIFEST, _LARGEST_SIGNATURE = 100_000, 50_000_000, 1_000
# Tables unpack to some thirty times their size at most.
_MOST_TIMES, _SMALL = 200, 10_000_000
_PIECE = 1 << 20
_ENCRYPTED = 0x1
_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError, OSError)


class ChangedError(RefusalError):
    """A file that is not what was made; the message says in one sentence what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What a file proves, by the digests in it: `manifest` of an archive, None of a PDF."""

    manifest: Manifest | None
    key: str = ""
    is_expected_key: bool = False

    def to_message(self, name: str) -> Message:
        if self.manifest is None and not self.key:
            return Message("verify.sealed_pdf", {"file": name})
        origin = Message("verify.unsigned")
        if self.key:
            signed = Message("verify.signed", {"key": self.key})
            origin = Message("verify.signed_as_expected", {"key": self.key}) if self.is_expected_key else signed
        if self.manifest is None:
            return Message("verify.signed_pdf", {"file": name, "origin": origin})
        about = self.manifest.about
        if about.erased:
            origin = Message("verify.erased", {"origin": origin})
        return Message(
            "verify.as_made",
            {
                "file": name, "period": about.period, "connection": about.connection, "since": about.since or "…",
                "until": about.until, "run": about.run_number, "files": len(self.manifest.files),
                "digest": self.manifest.data_sha256, "origin": origin,
            },
        )  # fmt: skip


def verify(path: Path, *, key: str = "") -> Proof:
    """Return what a file proves; raise ChangedError if it is not what was made. `key` is who must have signed."""
    with path.open("rb") as file:
        begins = file.read(5)
        if begins.startswith(b"%PDF-"):
            return _verify_pdf(path, key)
        if not begins.startswith(b"PK"):
            raise ChangedError("verify.not_ours")
        manifest = _Archive(file).check()
    if key and not manifest.public_key:
        raise ChangedError("verify.not_signed")
    if key and manifest.public_key != key:
        raise ChangedError("verify.other_key", key=manifest.public_key)
    if not sealing.is_sealed(path):
        raise ChangedError("verify.packed_anew")
    return Proof(manifest, manifest.public_key, bool(key))


def _verify_pdf(path: Path, key: str) -> Proof:
    if not sealing.is_sealed(path):
        raise ChangedError("verify.other_pdf")
    signed, public_key, signature = read_signature(path.read_bytes())
    if key and not public_key:
        raise ChangedError("verify.not_signed")
    if public_key and not is_signature(signature, signed, public_key):
        raise ChangedError("verify.bad_signature", key=public_key)
    if key and public_key != key:
        raise ChangedError("verify.other_key", key=public_key)
    return Proof(None, public_key, bool(key))


class _Archive:
    """An open archive, checked from the outside to the inside."""

    def __init__(self, file: BinaryIO) -> None:
        try:
            self._zip = zipfile.ZipFile(file)
        except _BROKEN:
            raise ChangedError("verify.broken") from None
        self._heads = self._zip.infolist()
        self._size = file.seek(0, 2)

    def check(self) -> Manifest:
        """Return the manifest if everything is as it says; raise ChangedError at the first that is not."""
        self._check_heads()
        content = self._read(MANIFEST, _LARGEST_MANIFEST)
        manifest = read_manifest(content)
        if manifest is None or manifest.format != FORMAT:
            raise ChangedError("verify.manifest_changed")
        self._check_files({file.name: file for file in manifest.files})
        self._check_signature(manifest, content)
        self._check_run(manifest)
        order = [MANIFEST, *([SIGNATURE] if manifest.public_key else []), *(file.name for file in manifest.files)]
        if [head.filename for head in self._heads] != order:
            raise ChangedError("verify.reordered")
        return manifest

    def _check_heads(self) -> None:
        names = Counter(head.orig_filename for head in self._heads)
        for head in self._heads:
            name = head.orig_filename
            if head.flag_bits & _ENCRYPTED:
                raise ChangedError("verify.encrypted", name=name)
            if not _is_safe(name) or name != head.filename:
                raise ChangedError("verify.unsafe_name", name=repr(name))
            if names[name] > 1:
                raise ChangedError("verify.twice", name=name)
            if head.compress_type not in _METHODS:
                raise ChangedError("verify.broken")
        packed, unpacked = (sum(sizes) for sizes in zip(*self._list_sizes(), strict=True)) if names else (0, 0)
        if packed > self._size or unpacked > _SMALL + _MOST_TIMES * self._size or len(names) > _MOST_FILES:
            raise ChangedError("verify.bomb")
        if MANIFEST not in names:
            raise ChangedError("verify.no_manifest", name=MANIFEST)

    def _list_sizes(self) -> Iterator[tuple[int, int]]:
        return ((head.compress_size, head.file_size) for head in self._heads)

    def _check_files(self, listed: Mapping[str, File]) -> None:
        found = {head.filename for head in self._heads} - {MANIFEST, SIGNATURE}
        missing, added = sorted(listed.keys() - found), sorted(found - listed.keys())
        if missing and added:
            self._check_renamed(missing, added, listed)
        if missing:
            raise ChangedError("verify.missing", name=missing[0])
        if added:
            raise ChangedError("verify.added", name=added[0])
        for file in listed.values():
            if self._digest(file.name) != (file.size, file.sha256):
                raise ChangedError("verify.changed", name=file.name)

    def _check_renamed(self, missing: Sequence[str], added: Sequence[str], listed: Mapping[str, File]) -> None:
        digests = {self._digest(name): name for name in added}
        for name in missing:
            now = digests.get((listed[name].size, listed[name].sha256))
            if now is not None:
                raise ChangedError("verify.renamed", name=name, now=now)

    def _digest(self, name: str) -> tuple[int, str] | None:
        """Return the size and the digest of a file, None if it cannot be unpacked."""
        digest, size = hashlib.sha256(), 0
        try:
            with self._zip.open(name) as content:
                while piece := content.read(_PIECE):
                    digest.update(piece)
                    size += len(piece)
        except _BROKEN:
            return None
        return size, digest.hexdigest()

    def _check_signature(self, manifest: Manifest, content: bytes) -> None:
        is_there = any(head.filename == SIGNATURE for head in self._heads)
        if is_there and not manifest.public_key:
            raise ChangedError("verify.added", name=SIGNATURE)
        if not manifest.public_key:
            return
        if not is_there:
            raise ChangedError("verify.missing", name=SIGNATURE)
        if not is_signature(self._read(SIGNATURE, _LARGEST_SIGNATURE), content, manifest.public_key):
            raise ChangedError("verify.bad_signature", key=manifest.public_key)

    def _check_run(self, manifest: Manifest) -> None:
        """Raise ChangedError if the hashes of the inputs are not those that name the run."""
        content = self._read(INPUTS, _LARGEST_MANIFEST)
        try:
            name = name_of(json.loads(content))
        except (ValueError, RecursionError):
            name = ""
        if name != manifest.about.run_id:
            raise ChangedError("verify.other_run", name=INPUTS)

    def _read(self, name: str, most: int) -> bytes:
        try:
            with self._zip.open(name) as content:
                found = content.read(most + 1)
        except KeyError:
            raise ChangedError("verify.missing", name=name) from None
        except _BROKEN:
            raise ChangedError("verify.changed", name=name) from None
        if len(found) > most:
            raise ChangedError("verify.changed", name=name)
        return found


def _is_safe(name: str) -> bool:
    """Return True for a path inside the archive that means the same everywhere."""
    parts = PurePosixPath(name).parts
    is_plain = name.isprintable() and not set(name) & {"\\", ":"} and not name.startswith("/")
    return bool(parts) and is_plain and ".." not in parts and str(PurePosixPath(name)) == name
