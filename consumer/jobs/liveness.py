"""Whether a process is alive, by a lock that the system or the database drops the moment it is gone."""

import fcntl
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import sqlalchemy as sa

from consumer.facts.store import POOLER, Store

# The first of the two numbers of PostgreSQL's lock; those of `Turn` are one number, which is another kind.
_ALIVE = 717_074
_AN_HOUR = 3600


@contextmanager
def hold(store: Store) -> Iterator[str]:
    """Hold a lock for the block and yield its name; the name is empty behind a pooler, which keeps no session.

    On SQLite it is a lock of the file system on a file next to the database: containers that share the file share it.
    """
    name = str(secrets.randbits(31))
    if store.is_sqlite:
        _sweep(store)
        path = _path_of(store, name)
        with path.open("xb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            try:
                yield name
            finally:
                path.unlink(missing_ok=True)
    elif POOLER in store.url.query:
        yield ""
    else:
        with store.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            # Out of the pool, so that the lock ends with the connection.
            connection.detach()
            connection.execute(sa.text("SELECT pg_advisory_lock(:kind, :name)"), {"kind": _ALIVE, "name": int(name)})
            yield name


def is_gone(store: Store, name: str) -> bool:
    """Return True if the process that held a lock is gone; its file goes too."""
    if not name:
        return False
    if not store.is_sqlite:
        free = sa.text("SELECT pg_try_advisory_xact_lock(:kind, :name)")
        with store.connection() as connection:
            return bool(connection.scalar(free, {"kind": _ALIVE, "name": int(name)}))
    path = _path_of(store, name)
    try:
        handle = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink(missing_ok=True)
    except BlockingIOError:
        return False
    finally:
        os.close(handle)
    return True


def _sweep(store: Store) -> None:
    """Remove the files of processes that died before their work was written down; a young one may not be locked yet."""
    long_ago = time.time() - _AN_HOUR
    for path in _path_of(store, "").parent.glob(f"{_path_of(store, '').name}*"):
        with suppress(FileNotFoundError):
            if path.stat().st_mtime < long_ago:
                is_gone(store, path.name.rpartition("-")[2])


def _path_of(store: Store, name: str) -> Path:
    return Path(f"{store.url.database}-work-{name}")
