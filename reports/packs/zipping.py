"""A folder as an archive with its manifest and seal: the same bytes whenever it is made."""

import shutil
import zipfile
from collections.abc import Sequence
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from consumer.facts.durable import digest_file, write_durably
from reports.packs import sealing
from reports.packs.manifest import (
    MANIFEST,
    SIGNATURE,
    About,
    File,
    Manifest,
    Versions,
    make_manifest,
    sign,
)

# The first moment that a ZIP can name: when an archive was made is no part of it.
_NO_TIME = (1980, 1, 1, 0, 0, 0)
_UNIX, _FILE_OF_THE_OWNER = 3, 0o100640 << 16
_LEVEL = 6


def list_files(folder: Path) -> list[File]:
    """Return the files of a folder by name, with their digests."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    found = [(path.relative_to(folder).as_posix(), path) for path in paths]
    return [File(name, path.stat().st_size, digest_file(path)) for name, path in sorted(found)]


def write(folder: Path, out: Path, about: About, versions: Versions, key: Ed25519PrivateKey | None) -> Manifest:
    """Write the archive of a folder, whole or not at all."""
    manifest = make_manifest(about, versions, list_files(folder), key)
    content = manifest.to_bytes()
    with write_durably(out) as file:
        with zipfile.ZipFile(file, "w") as archive:
            _add(archive, MANIFEST, content)
            if key is not None:
                _add(archive, SIGNATURE, sign(content, key))
            _add_all(archive, folder, manifest.files)
            archive.comment = sealing.BLANK
        file.flush()
        sealing.seal(Path(file.name))
    return manifest


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    archive.writestr(_head(name, len(content)), content, compresslevel=_LEVEL)


def _add_all(archive: zipfile.ZipFile, folder: Path, files: Sequence[File]) -> None:
    for one in files:
        head = _head(one.name, one.size)
        with (folder / one.name).open("rb") as source, archive.open(head, "w") as target:
            shutil.copyfileobj(source, target)


def _head(name: str, size: int) -> zipfile.ZipInfo:
    head = zipfile.ZipInfo(name, _NO_TIME)
    head.compress_type, head.create_system, head.external_attr = zipfile.ZIP_DEFLATED, _UNIX, _FILE_OF_THE_OWNER
    head.file_size = size
    return head
