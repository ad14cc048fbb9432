"""Whether anything can still be written, and how much room is left: for the doctor and for the probe of readiness."""

import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import sqlalchemy as sa

from consumer.facts.installation import Installation, Settings
from consumer.facts.store import Store, put
from consumer.facts.tables.jobs import WriteCheck
from consumer.health.disk import Check, Verdict

_ROW = "probe"
_PIECE = 4_096
# Below the first a night may not end, below the second SQLite may not even write its log.
LITTLE, LEAST = 1_000_000_000, 100_000_000
_MOVE = "make room, or move CUADRE_DATA_DIR to a larger disk; nothing acknowledged is lost meanwhile"


def write_check(store: Store, *, now: datetime) -> None:
    """Write and commit one row; raises SQLAlchemyError if the database takes none."""
    with store.connection() as connection:
        put(connection, WriteCheck, {"name": _ROW, "written_at": now}, keys=["name"])


def check_room(
    installation: Installation,
    *,
    now: datetime,
    free: Callable[[Path], int] = lambda path: shutil.disk_usage(path).free,
) -> Iterator[Check]:
    """Look whether database and data folder can be written, and at the space that is left to both."""
    yield _database(installation.store, now)
    yield check_shared(installation)
    yield from check_space(installation, free=free)


def check_space(
    installation: Installation, *, free: Callable[[Path], int] = lambda path: shutil.disk_usage(path).free
) -> Iterator[Check]:
    """Look whether files can be written in the data folder, and at the space that is left."""
    yield _folder(installation.settings.files_dir)
    left = {folder: free(folder) for folder in sorted(_folders(installation.settings, installation.store))}
    for folder in sorted(left, key=lambda folder: left[folder]):
        yield _space(folder, left[folder])


def check_shared(installation: Installation) -> Check:
    """Return whether every machine on the database reaches the same files."""
    if installation.store.is_sqlite:
        return Check("", "shared files", Verdict.OK, "one machine, in the data folder")
    if installation.settings.shared_dir is None:
        return Check("", "shared files", Verdict.OK, "in the database")
    return Check("", "shared files", Verdict.OK, "in CUADRE_SHARED_DIR")


def _database(store: Store, now: datetime) -> Check:
    try:
        write_check(store, now=now)
    except sa.exc.SQLAlchemyError as error:
        reason = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
        advice = (
            "until it can be, webhooks are answered 503 and senders come back: look at disk and rights of the database"
        )
        return Check("", "writing", Verdict.FAILURE, f"the database takes no row: {reason}", advice)
    return Check("", "writing", Verdict.OK, "the database takes rows")


def _folder(folder: Path) -> Check:
    probe = folder / f".probe-{secrets.token_hex(4)}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(b"\0" * _PIECE)
    except OSError as error:
        found = f"no file can be written in {folder}: {error.strerror}"
        return Check("", "data folder", Verdict.FAILURE, found, "look at its disk and its rights")
    finally:
        with suppress(OSError):
            probe.unlink(missing_ok=True)
    return Check("", "data folder", Verdict.OK, "files can be written")


def _folders(settings: Settings, store: Store) -> set[Path]:
    """Name the folders of this machine, each disk once."""
    folders = [settings.data_dir, settings.files_dir]
    if store.is_sqlite and store.url.database:
        folders.append(Path(store.url.database).parent)
    return set({folder.stat().st_dev: folder for folder in folders if folder.is_dir()}.values())


def _space(folder: Path, left: int) -> Check:
    found = f"{left / 1e9:.1f} GB are free in {folder}"
    if left < LEAST:
        return Check("", "disk space", Verdict.FAILURE, found, _MOVE)
    if left < LITTLE:
        return Check("", "disk space", Verdict.WARNING, found, _MOVE)
    return Check("", "disk space", Verdict.OK, found)
