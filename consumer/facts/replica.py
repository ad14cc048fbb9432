"""The replica of a PostgreSQL: where long reads keep no dead row alive and wait for no event."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa
from sqlalchemy.engine import Engine, Row
from sqlmodel import Session

# How long a replica may take to learn what its primary has committed before a read begins.
PATIENCE = 20.0
_PAUSE = 0.05
_SYSTEM = "(SELECT system_identifier FROM pg_control_system()) AS system, current_database() AS database"
_PRIMARY = sa.text(f"SELECT pg_current_wal_lsn()::text AS position, {_SYSTEM}")
_REPLICA = sa.text(
    f"SELECT pg_is_in_recovery() AS follows, {_SYSTEM}, "
    "coalesce(pg_last_wal_replay_lsn() >= CAST(:position AS pg_lsn), false) AS has_all"
)


class ReplicaError(Exception):
    """A replica that may not be read: it lags, follows another primary, or none any more."""


@contextmanager
def open_replica(replica: Engine, primary: Engine, *, patience: float = PATIENCE) -> Iterator[Session]:
    """Open a view of the replica that has all the primary committed before; raise ReplicaError if there is none."""
    with primary.connect() as connection:
        here = connection.execute(_PRIMARY).one()
    deadline = time.monotonic() + patience
    # A view begins with its first question, so that question is asked before, in a transaction of its own.
    while not _has_all(replica, here):
        if time.monotonic() > deadline:
            raise ReplicaError("the replica is behind its primary")
        time.sleep(_PAUSE)
    with replica.connect() as connection, Session(bind=connection) as session:
        yield session


def _has_all(replica: Engine, here: Row[tuple[str, int, str]]) -> bool:
    with replica.connect() as connection:
        there = connection.execute(_REPLICA, {"position": here.position}).one()
    if (there.system, there.database) != (here.system, here.database):
        raise ReplicaError("CUADRE_READ_URL names another database than CUADRE_DATABASE_URL")
    # A standby that was promoted goes its own way from there on.
    if not there.follows:
        raise ReplicaError("CUADRE_READ_URL names no standby, or one that was promoted")
    return bool(there.has_all)
