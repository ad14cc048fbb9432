"""Files that every machine on one PostgreSQL reaches: written to the database as well, fetched where they are not.

With SQLite there is one machine, and with CUADRE_SHARED_DIR one folder: nothing is done then.
"""

import shutil
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from tempfile import mkdtemp

import sqlalchemy as sa
from sqlmodel import col

from consumer.facts.durable import write_durably
from consumer.facts.installation import Installation
from consumer.facts.store import Turn, take_turn
from consumer.facts.tables.jobs import SharedFile
from consumer.facts.tables.types import core_of

_PIECE = 8 * 1024 * 1024
_FILE = core_of(SharedFile)


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
    with installation.store.reading() as session:
        rows = session.connection().execution_options(yield_per=1).execute(pieces).scalars()
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


def _is_in_database(installation: Installation) -> bool:
    return not installation.store.is_sqlite and installation.settings.shared_dir is None


def _name(installation: Installation, path: Path) -> str:
    return path.relative_to(installation.settings.files_dir).as_posix()
