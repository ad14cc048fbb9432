"""One after another: work that reads, compares and then writes takes its turn before it reads."""

from enum import IntEnum

import sqlalchemy as sa
from sqlmodel import Session


class Turn(IntEnum):
    """Keys of PostgreSQL's advisory locks; SQLite's write transactions are one after another anyway."""

    RUNS = 717_061
    BOOKS = 717_062
    PERIODS = 717_063
    ORDERS = 717_064
    ERRANDS = 717_065
    FILES = 717_066


def take_turn(session: Session, turn: Turn) -> None:
    """Wait until nobody else is at this work, until the caller's transaction ends."""
    if session.connection().dialect.name == "postgresql":
        session.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": int(turn)})
