"""Files that every machine on one PostgreSQL reaches: written to the database as well, fetched where they are not.

With SQLite there is one machine, and with CUADRE_SHARED_DIR one folder: nothing is done then.
"""

import os
import shutil
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import mkdtemp

import sqlalchemy as sa
import structlog
from sqlmodel import col

from consumer.facts.durable import write_durably
from consumer.facts.installation import Installation
from consumer.facts.store import Turn, take_turn
from consumer.facts.tables.jobs import SharedFile
from consumer.facts.tables.types import core_of

log = structlog.get_logger("cuadre.files")

# Files that people write by hand, on whichever machine they are at.
WRITTEN_BY_HAND = ("mappings", "calendars")
AGREE_SECONDS = 60.0
_PIECE = 8 * 1024 * 1024
_FILE = core_of(SharedFile)
_EPOCH, _MICROSECOND = datetime.fromtimestamp(0, UTC), timedelta(microseconds=1)


def publish(installation: Installation, path: Path, *, now: datetime) -> None:
    """Write a file of the data folder to the database too, in place of what stood there under its name."""
    if not _is_in_database(installation):
        return
    name = _name(installation, path)
    with installation.store.transaction() as session, path.open("rb") as file:
        # Two processes at one run publish the same files.
        take_turn(session, Turn.FILES)
        connection = session.connection()
        connection.execute(sa.delete(_FILE).where(_FILE.c.path == name))
        part = 0
        while content := file.read(_PIECE):
            row = {"path": name, "part": part, "content": content, "stored_at": now}
            connection.execute(sa.insert(_FILE).values(row))
            part += 1


def fetch(installation: Installation, path: Path, *, is_stale: bool = False) -> bool:
    """Bring a file that is not here, or is an older one, from the database.

    Return False if the database was asked and has none; what lies here stays as it is.
    """
    if not _is_in_database(installation) or (path.exists() and not is_stale):
        return True
    return _write(installation, _name(installation, path), path)


def _write(installation: Installation, name: str, path: Path) -> bool:
    pieces = sa.select(_FILE.c.content).where(_FILE.c.path == name).order_by(_FILE.c.part)
    with (
        installation.store.reading() as session,
        session.connection().execution_options(yield_per=1).execute(pieces) as found,
    ):
        rows = found.scalars()
        first = next(iter(rows), None)
        if first is None:
            return False
        with write_durably(path) as file:
            file.write(first)
            file.writelines(rows)
    return True


def publish_folder(installation: Installation, folder: Path, *, now: datetime) -> None:
    for path in sorted(folder.iterdir()):
        publish(installation, path, now=now)


def fetch_folder(installation: Installation, folder: Path) -> None:
    """Bring a folder that is not here from the database; it appears whole."""
    if not _is_in_database(installation) or folder.is_dir():
        return
    inside = col(SharedFile.path).startswith(f"{_name(installation, folder)}/", autoescape=True)
    with installation.store.reading() as session:
        names = list(session.scalars(sa.select(_FILE.c.path).where(inside, _FILE.c.part == 0)))
    if not names:
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(mkdtemp(prefix=f"{folder.name}.", suffix=".draft", dir=folder.parent))
    for name in names:
        _write(installation, name, draft / Path(name).name)
    # Another process that brought it meanwhile brought the same.
    with suppress(OSError):
        draft.rename(folder)
    shutil.rmtree(draft, ignore_errors=True)


def withdraw(installation: Installation, path: Path) -> None:
    """Take a file, or everything of a folder, out of the database."""
    if _is_in_database(installation):
        name = _name(installation, path)
        inside = col(SharedFile.path).startswith(f"{name}/", autoescape=True)
        with installation.store.connection() as connection:
            connection.execute(sa.delete(_FILE).where(sa.or_(_FILE.c.path == name, inside)))


def withdraw_old(installation: Installation, place: Path, *, before: datetime) -> None:
    """Take what was stored under a place before a moment out of the database."""
    if _is_in_database(installation):
        inside = col(SharedFile.path).startswith(f"{_name(installation, place)}/", autoescape=True)
        with installation.store.connection() as connection:
            connection.execute(sa.delete(_FILE).where(inside, _FILE.c.stored_at < before))


def agree(installation: Installation) -> None:
    """Bring each mapping and calendar to the newest that any machine has, by the time it was written.

    A disk or a database that takes nothing leaves this machine's files as they are; it is logged.
    """
    if not _is_in_database(installation):
        return
    try:
        for name, stored_at in _find_written(installation).items():
            _agree_on(installation, name, stored_at)
    except (OSError, sa.exc.DBAPIError) as error:
        log.warning("mappings and calendars are not those of other machines", reason=type(error).__name__)


def _find_written(installation: Installation) -> dict[str, datetime | None]:
    """Return the files here and in the database, and since when those of the database are there."""
    root = installation.settings.files_dir
    here = [path for place in WRITTEN_BY_HAND for path in (root / place).glob("*.toml")]
    inside = [col(SharedFile.path).startswith(f"{place}/", autoescape=True) for place in WRITTEN_BY_HAND]
    stored = sa.select(_FILE.c.path, _FILE.c.stored_at).where(_FILE.c.part == 0, sa.or_(*inside))
    with installation.store.reading() as session:
        rows = session.execute(stored).all()
    return dict.fromkeys([_name(installation, path) for path in here]) | {row.path: row.stored_at for row in rows}


def _agree_on(installation: Installation, name: str, stored_at: datetime | None) -> None:
    path = installation.settings.files_dir / name
    # In whole microseconds, as the database keeps it: what was brought from there is then neither older nor newer.
    written_at = _EPOCH + path.stat().st_mtime_ns // 1000 * _MICROSECOND if path.exists() else None
    if written_at is not None and (stored_at is None or written_at > stored_at):
        publish(installation, path, now=written_at)
    elif stored_at is not None and stored_at != written_at and _write(installation, name, path):
        time = (stored_at - _EPOCH) // _MICROSECOND * 1000
        os.utime(path, ns=(time, time))
        log.info("a newer file of another machine", file=name)


def _is_in_database(installation: Installation) -> bool:
    return not installation.store.is_sqlite and installation.settings.shared_dir is None


def _name(installation: Installation, path: Path) -> str:
    return path.relative_to(installation.settings.files_dir).as_posix()
