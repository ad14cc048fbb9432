"""The file of a backup: whole or refused where its bytes changed; readable without the program."""

import hashlib
import io
import subprocess
import tarfile
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from consumer.backup import container
from consumer.backup.container import DamagedBackupError, Manifest
from consumer.backup.encrypting import seal, unseal
from consumer.facts.work import WorkError

MANIFEST = Manifest(made_at=datetime(2026, 11, 23, 5, 30, tzinfo=UTC), database="SQLite", version="0100")


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    """A small backup: a manifest, a database and a file."""
    path = tmp_path / "backup.tar.gz"
    with path.open("wb") as file, container.write(file) as writer:
        writer.add_bytes("manifest.json", msgspec.json.encode(MANIFEST))
        writer.add_bytes("database/cuadre.db", hashlib.sha256(b"rows").digest() * 4)
        writer.add_bytes("files/reports/payouts.csv", b"payout_id\r\npo_1\r\n")
    return path


def test_a_backup_is_read_as_it_was_written(backup: Path) -> None:
    """The manifest, the digest of the whole file and the size unpacked are those of what was written."""
    contents = container.verify(backup)
    assert contents.manifest == MANIFEST
    assert contents.sha256 == hashlib.sha256(backup.read_bytes()).hexdigest()
    members = {member.name: member.read() for member in container.read_members(backup)}
    assert members["files/reports/payouts.csv"] == b"payout_id\r\npo_1\r\n"
    assert contents.size == sum(map(len, members.values()))


def test_other_programs_unpack_and_check_a_backup(backup: Path, tmp_path: Path) -> None:
    """`tar` and `sha256sum` do, as docs/operate.md says."""
    subprocess.run(["tar", "xzf", backup], cwd=tmp_path, check=True)
    checked = subprocess.run(
        ["sha256sum", "-c", "SHA256SUMS"], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert checked.stdout == "manifest.json: OK\ndatabase/cuadre.db: OK\nfiles/reports/payouts.csv: OK\n"


def test_no_changed_or_missing_byte_passes(backup: Path) -> None:
    """Every cut and nearly every changed byte is refused; what passes has the same content in other padding."""
    whole = backup.read_bytes()
    right = {member.name: member.read() for member in container.read_members(backup)}
    passed = 0
    for place in range(len(whole)):
        for changed in (whole[:place], whole[:place] + bytes([whole[place] ^ 0x11]) + whole[place + 1 :]):
            backup.write_bytes(changed)
            try:
                container.verify(backup)
            except DamagedBackupError:
                continue
            passed += 1
            assert {member.name: member.read() for member in container.read_members(backup)} == right
    assert passed < len(whole) // 10


def _write_foreign(path: Path, *names: str) -> None:
    with tarfile.open(path, "w:gz") as tar:
        for name in names:
            tar.addfile(tarfile.TarInfo(name), io.BytesIO())


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (["files/../../etc/passwd"], "has no place in one"),
        (["/etc/passwd"], "has no place in one"),
        (["home/me"], "has no place in one"),
        (["files/reports/a"], "it ends before its digests"),
    ],
)
def test_a_foreign_archive_is_refused(names: list[str], reason: str, tmp_path: Path) -> None:
    """No name leads out of the folder that a backup is unpacked to, and no archive without digests is one."""
    _write_foreign(tmp_path / "a.tar.gz", *names)
    with pytest.raises(DamagedBackupError, match=reason):
        container.verify(tmp_path / "a.tar.gz")


def test_a_newer_format_is_named(tmp_path: Path) -> None:
    """A backup of a version to come says which program reads it, and is not called damaged."""
    path = tmp_path / "backup.tar.gz"
    with path.open("wb") as file, container.write(file) as writer:
        writer.add_bytes("manifest.json", msgspec.json.encode(msgspec.structs.replace(MANIFEST, format=2)))
    with pytest.raises(DamagedBackupError, match="was made by a newer version of Cuadre: install that one"):
        container.verify(path)


def test_only_the_passphrase_opens_what_is_sealed() -> None:
    """The content comes back under it alone, and a changed byte is noticed."""
    sealed = seal("five random words of mine", b"the secret key")
    assert unseal("five random words of mine", sealed) == b"the secret key"
    assert b"the secret key" not in sealed.content
    changed = msgspec.structs.replace(sealed, content=bytes([sealed.content[0] ^ 1]) + sealed.content[1:])
    for passphrase, found in (("five random words of his!", sealed), ("five random words of mine", changed)):
        with pytest.raises(WorkError, match="CUADRE_BACKUP_PASSPHRASE is not the one this backup was made with"):
            unseal(passphrase, found)
