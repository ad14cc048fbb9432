"""A backup made: one file with the database as it was at one moment, everything kept in folders, and sealed secrets."""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import mkdtemp

import msgspec
from sqlmodel import Session, col, select

from consumer.backup import container, databases
from consumer.backup.container import FILES, MANIFEST, Manifest, OnBytes, Writer, ignore_bytes
from consumer.backup.encrypting import Sealed, seal
from consumer.facts import schema
from consumer.facts.clock import utc_now
from consumer.facts.durable import drop_old, open_synced, sync_folder
from consumer.facts.installation import Installation, Settings
from consumer.facts.store import put
from consumer.facts.tables.backup import Backup
from consumer.facts.tables.jobs import SharedFile
from consumer.facts.work import Completion, WorkError

# What must survive of the data folder; uploads that wait for their reader need not.
PLACES = ("reports", "runs", "statements", "mappings", "calendars", "evidence", "attachments")
_ACCOUNTS = "accounts.toml"
CERTIFICATE = ".certificate.json"
_NAME, _TIMES = re.compile(r"cuadre-\d{8}T\d{6}Z\.tar\.gz"), "cuadre-%Y%m%dT%H%M%SZ.tar.gz"
_DRAFT = ".cuadre-backup-"
_DRAFT_LASTS = timedelta(days=1)
# What a backup takes at the least of the bytes that go into it.
_PACKED = 4


class Secrets(msgspec.Struct, frozen=True):
    """What is sealed under the passphrase: the secret key and the files of settings."""

    secret_key: str
    files: dict[str, str]


def time_of(path: Path) -> datetime:
    """Return the moment in the name of a backup."""
    return datetime.strptime(path.name, _TIMES).replace(tzinfo=UTC)


def list_backups(folder: Path) -> list[Path]:
    """Return the backups of a folder that bear the names given here, oldest first."""
    return sorted(path for path in folder.glob("cuadre-*.tar.gz") if _NAME.fullmatch(path.name))


def find_newest(settings: Settings) -> Path:
    """Return the newest backup of CUADRE_BACKUP_DIR; raise WorkError if there is none."""
    if settings.backup_dir is None:
        raise WorkError("CUADRE_BACKUP_DIR is not set: name the file of a backup", Completion.MISUSED)
    found = list_backups(settings.backup_dir)
    if not found:
        raise WorkError(f"there is no backup in {settings.backup_dir}: cuadre backup makes one")
    return found[-1]


def place_for(settings: Settings, *, now: datetime) -> Path:
    """Return the file that a new backup goes to; raise WorkError if no folder is set."""
    if settings.backup_dir is None:
        raise WorkError("name a file with --out, or a folder in CUADRE_BACKUP_DIR", Completion.MISUSED)
    return settings.backup_dir / now.astimezone(UTC).strftime(_TIMES)


def make_backup(installation: Installation, path: Path, *, now: datetime, on_bytes: OnBytes = ignore_bytes) -> Backup:
    """Write a backup, read it back, and give it its name; raise WorkError and leave no file if anything fails.

    Everything that was acknowledged before the call is in it: the database is read first, and a file is always
    written before the row that names it.
    """
    if path.exists():
        raise WorkError(f"{path} is there already: name another file", Completion.MISUSED)
    try:
        with scratch_folder(path.parent) as folder:
            _check_room(installation, folder)
            draft = folder / "backup"
            with open_synced(draft) as file, container.write(file, on_bytes) as writer:
                _write_database(installation, writer, folder, now, on_bytes)
                _write_files(installation, writer)
            contents = container.verify(draft, on_bytes=on_bytes)
            draft.rename(path)
        sync_folder(path.parent)
    except OSError as error:
        raise WorkError(f"no backup was made: {error.filename or path}: {error.strerror}") from None
    row = Backup(sha256=contents.sha256, file=str(path), made_at=now, size=path.stat().st_size)
    with installation.store.connection() as connection:
        put(connection, Backup, row.model_dump(), keys=["sha256"])
    return row


def total_of(installation: Installation) -> int:
    """Return about how many bytes pass through a backup: copied, packed and read back."""
    database, files = databases.size_of(installation.store), sum(size for *_, size in _list_files(installation))
    copied = database if installation.store.is_sqlite else 0
    return copied + 2 * (database + files)


@contextmanager
def scratch_folder(target: Path) -> Iterator[Path]:
    """Make a folder that goes with the block; those that killed processes left behind go after a day."""
    target.mkdir(parents=True, exist_ok=True)
    drop_old(target.glob(f"{_DRAFT}*"), before=utc_now() - _DRAFT_LASTS)
    folder = Path(mkdtemp(prefix=_DRAFT, dir=target))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _check_room(installation: Installation, folder: Path) -> None:
    database, files = databases.size_of(installation.store), sum(size for *_, size in _list_files(installation))
    needed = (database if installation.store.is_sqlite else 0) + (database + files) // _PACKED
    check_free(folder, needed)


def check_free(folder: Path, needed: int) -> None:
    """Raise WorkError if a folder has less room than is needed."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise WorkError(f"{folder.parent} has {free / 1e9:.2f} GB free and {needed / 1e9:.2f} GB are needed: make room")


def _write_database(installation: Installation, writer: Writer, folder: Path, now: datetime, on_bytes: OnBytes) -> None:
    store = installation.store
    if store.is_sqlite:
        copy = folder / "cuadre.db"
        databases.copy_sqlite(store, copy, on_bytes)
        _write_manifest(installation, writer, now, {}, {})
        with copy.open("rb") as file:
            writer.add(databases.SQLITE_MEMBER, file, copy.stat().st_size)
        copy.unlink()
        return
    with store.reading() as session:
        connection = session.connection()
        tables = databases.columns_of(connection)
        _write_manifest(installation, writer, now, tables, databases.sequences_of(connection))
        databases.write_postgresql(connection, tables, writer)


def _write_manifest(
    installation: Installation, writer: Writer, now: datetime, tables: dict[str, list[str]], sequences: dict[str, int]
) -> None:
    kind, sealed = databases.kind_of(installation.store), _sealed(installation.settings)
    manifest = Manifest(
        made_at=now, database=kind, version=schema.VERSIONS[-1], tables=tables, sequences=sequences, sealed=sealed
    )
    writer.add_bytes(MANIFEST, msgspec.json.encode(manifest))


def _sealed(settings: Settings) -> Sealed | None:
    """Seal the secret key, and the files of settings, which may hold keys of the provider."""
    if settings.backup_passphrase is None:
        return None
    names = (settings.config_name, _ACCOUNTS)
    files = {name: path.read_text("utf-8") for name in names if (path := settings.config_dir / name).is_file()}
    kept = Secrets(settings.secret_key.get_secret_value(), files)
    return seal(settings.backup_passphrase.get_secret_value(), msgspec.json.encode(kept))


def _write_files(installation: Installation, writer: Writer) -> None:
    with installation.store.reading() as session:
        shared = _list_shared(session)
    for name, path, _size in _list_files(installation):
        # What lies in the database too is in the backup already.
        if name in shared:
            continue
        # Retention may have dropped it, or another night replaced it, since it was listed.
        with suppress(FileNotFoundError), path.open("rb") as file:
            writer.add(f"{FILES}/{name}", file, os.fstat(file.fileno()).st_size)


def _list_shared(session: Session) -> set[str]:
    return set(session.exec(select(SharedFile.path).where(col(SharedFile.part) == 0)))


def _list_files(installation: Installation) -> Iterator[tuple[str, Path, int]]:
    """Yield the whole files of every place with their names below the folder of files."""
    root = installation.settings.files_dir
    for place in PLACES:
        for folder, folders, names in os.walk(root / place):
            folders[:] = [name for name in folders if not name.endswith(".draft")]
            for name in names:
                path = Path(folder) / name
                if not name.startswith(".") and path.is_file():
                    yield path.relative_to(root).as_posix(), path, path.stat().st_size


def rotate(folder: Path, *, keep: int) -> list[str]:
    """Delete all but the newest backups of a folder with their certificates, and return their names."""
    old = list_backups(folder)[:-keep]
    for path in old:
        path.unlink(missing_ok=True)
        path.with_name(path.name + CERTIFICATE).unlink(missing_ok=True)
    return [path.name for path in old]
