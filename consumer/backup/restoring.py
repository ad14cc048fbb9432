"""A backup brought back into an empty installation: verified first, and never taken for whole before it is.

As long as `.restoring` lies in the folder of files, every command and server refuses to open the installation.
"""

import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import sqlalchemy as sa

from consumer.backup import container, databases
from consumer.backup.container import DATABASE, FILES, Contents, Manifest, OnBytes, ignore_bytes
from consumer.backup.encrypting import unseal
from consumer.backup.making import PLACES, Secrets, check_free
from consumer.facts import schema
from consumer.facts.durable import open_synced, sync_folder, write_durably
from consumer.facts.installation import Settings
from consumer.facts.store import Store
from consumer.facts.work import WorkError

MARK = ".restoring"
# Where the settings of the backup's machine are put: those of this one are its owner's to change.
SETTINGS = "restored-settings"
_PIECE = 1024 * 1024
# The backup's name is left in the transaction that fills the tables.
_LEFT_NAME = sa.text("SELECT obj_description(to_regclass('alembic_version'), 'pg_class')")


@dataclass(frozen=True, slots=True)
class Restored:
    """What came back; `secrets` is None if the backup has none or no passphrase was given."""

    contents: Contents
    secrets: Secrets | None


def restore(path: Path, settings: Settings, *, on_bytes: OnBytes = ignore_bytes) -> Restored:
    """Bring a backup back; raise WorkError, before anything is written, if it cannot be.

    1. Read the whole file and compare its digests; unseal its secrets; look whether the installation is empty.
    2. Leave the mark; unpack files into it and move them to their places.
    3. Write the database: a file that gets its name last, or one transaction. Migrate it to this version.
    4. Put the secret key in its place and take the mark away.
    """
    contents = verify(path, on_bytes=on_bytes)
    with closing(Store(settings.database_url)) as store:
        _check_kind(contents.manifest, store)
        secrets = unseal_secrets(contents.manifest, settings)
        mark = settings.files_dir / MARK
        try:
            with _alone_in(settings.files_dir):
                _check_empty(settings, store, contents.manifest, was_cut_off=mark.exists())
                _begin(settings, store, mark)
                check_free(mark, contents.size)
                _unpack(path, contents.manifest, settings.files_dir, store, on_bytes)
                _put_secrets(secrets, settings)
                schema.upgrade(store)
                shutil.rmtree(mark)
                sync_folder(settings.files_dir)
        except OSError as error:
            raise WorkError(f"the restore was cut off: {error.filename or mark}: {error.strerror}; repeat it") from None
    return Restored(contents, secrets)


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Keep a second restore out of a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise WorkError(f"another restore into {folder} is under way") from None
    finally:
        os.close(handle)


def check_whole(settings: Settings) -> None:
    """Raise WorkError if a restore into this installation was cut off or is under way."""
    if (settings.files_dir / MARK).exists():
        raise WorkError("a restore into this installation did not end: run cuadre restore FILE again")


def verify(path: Path, *, on_bytes: OnBytes = ignore_bytes) -> Contents:
    """Read a backup to its end; raise WorkError if it is damaged or newer than this program."""
    try:
        contents = container.verify(path, on_bytes=on_bytes)
    except OSError as error:
        raise WorkError(f"{path} cannot be read: {error.strerror}") from None
    if contents.manifest.version not in schema.VERSIONS:
        raise WorkError(
            f"{path} was made at version {contents.manifest.version} of the database, and this program knows "
            f"{schema.VERSIONS[0]} to {schema.VERSIONS[-1]}: install the version that made it"
        )
    return contents


def unseal_secrets(manifest: Manifest, settings: Settings) -> Secrets | None:
    """Return the secrets of a backup, None without a passphrase; raise WorkError if it is the wrong one."""
    if manifest.sealed is None or settings.backup_passphrase is None:
        return None
    content = unseal(settings.backup_passphrase.get_secret_value(), manifest.sealed)
    return msgspec.json.decode(content, type=Secrets)


def _check_kind(manifest: Manifest, store: Store) -> None:
    if manifest.database != databases.kind_of(store):
        raise WorkError(
            f"the backup is of {manifest.database} and CUADRE_DATABASE_URL names {databases.kind_of(store)}: "
            f"name an empty {manifest.database}"
        )


def _check_empty(settings: Settings, store: Store, manifest: Manifest, *, was_cut_off: bool) -> None:
    """Refuse what holds data; a restore that was cut off left only what the mark stands for."""
    if store.is_sqlite:
        path = Path(store.url.database or "")
        if path.exists() and not was_cut_off:
            raise WorkError(
                f"{path} is there already, and a backup is restored into an empty installation: stop Cuadre and move "
                "it elsewhere with its -wal and -shm files, or name another CUADRE_DATA_DIR"
            )
    elif not (was_cut_off and _is_loaded(store, manifest)):
        with store.reading() as session:
            if sa.inspect(session.connection()).get_table_names():
                raise WorkError(
                    "the database has tables already, and a backup is restored into an empty installation: "
                    "name an empty database in CUADRE_DATABASE_URL"
                )
    full = [place for place in PLACES if (folder := settings.files_dir / place).is_dir() and any(folder.iterdir())]
    if full and not was_cut_off:
        raise WorkError(
            f"{settings.files_dir} holds {', '.join(full)} already, and a backup is restored into an empty "
            "installation: move them elsewhere, or name another CUADRE_DATA_DIR"
        )


def _begin(settings: Settings, store: Store, mark: Path) -> None:
    """Leave the mark, and drop what a restore that was cut off left behind."""
    if mark.exists():
        for place in PLACES:
            shutil.rmtree(settings.files_dir / place, ignore_errors=True)
        if store.is_sqlite:
            for end in ("", "-wal", "-shm", MARK):
                Path(f"{store.url.database}{end}").unlink(missing_ok=True)
        shutil.rmtree(mark)
    mark.mkdir(parents=True)
    sync_folder(mark.parent)


def _unpack(path: Path, manifest: Manifest, files_dir: Path, store: Store, on_bytes: OnBytes) -> None:
    unpack(path, manifest, files_dir / MARK, store, on_bytes=on_bytes)
    for place in PLACES:
        found = files_dir / MARK / FILES / place
        if found.is_dir():
            # An empty folder may stand there.
            shutil.rmtree(files_dir / place, ignore_errors=True)
            found.rename(files_dir / place)
    sync_folder(files_dir)


def unpack(path: Path, manifest: Manifest, folder: Path, store: Store, *, on_bytes: OnBytes = ignore_bytes) -> None:
    """Write the files of a backup into a folder and its database into an empty one, which appears whole."""
    if store.is_sqlite:
        final = Path(store.url.database or "")
        draft = Path(f"{final}{MARK}")
        final.parent.mkdir(parents=True, exist_ok=True)
        for member in container.read_members(path, on_bytes=on_bytes):
            if member.name.startswith(f"{FILES}/"):
                _write(member, folder / member.name)
            elif member.name == databases.SQLITE_MEMBER:
                _write(member, draft)
        draft.rename(final)
        sync_folder(final.parent)
        return
    is_loaded = _is_loaded(store, manifest)
    with store.connection() as connection:
        if not is_loaded:
            schema.upgrade_to(connection, manifest.version)
            databases.empty_tables(connection, manifest.tables)
        for member in container.read_members(path, on_bytes=on_bytes):
            if member.name.startswith(f"{FILES}/"):
                _write(member, folder / member.name)
            elif member.name.startswith(f"{DATABASE}/") and not is_loaded:
                databases.load_part(connection, manifest.tables, member)
        if not is_loaded:
            databases.set_sequences(connection, manifest.sequences)
            connection.execute(sa.text(f"COMMENT ON TABLE alembic_version IS '{_name_of(manifest)}'"))


def _is_loaded(store: Store, manifest: Manifest) -> bool:
    """Return True if a restore of this backup that was cut off has filled this PostgreSQL already."""
    with store.reading() as session:
        left: str | None = session.scalar(_LEFT_NAME)
    return left == _name_of(manifest)


def _name_of(manifest: Manifest) -> str:
    return "restored from " + hashlib.sha256(msgspec.json.encode(manifest)).hexdigest()


def _write(member: container.Digesting, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with open_synced(path) as file:
        shutil.copyfileobj(member, file, _PIECE)


def _put_secrets(secrets: Secrets | None, settings: Settings) -> None:
    """Put the secret key where a start without CUADRE_SECRET_KEY looks for it, and old settings aside."""
    if secrets is None:
        return
    contents = {settings.data_dir / "secret_key": secrets.secret_key}
    contents |= {settings.data_dir / SETTINGS / name: text for name, text in secrets.files.items()}
    for path, text in contents.items():
        with write_durably(path) as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(text.encode())
