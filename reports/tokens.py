"""Machine tokens: kept only as digests, open only what their scopes name, revocable, with their last use."""

import hashlib
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum

import sqlalchemy as sa
from sqlmodel import Session, col

from consumer.facts.store import Store
from reports.people import PeopleError, Role
from reports.tables import Token

_USE_NOTED_EVERY = timedelta(minutes=1)
_PREFIX = "cuadre_"  # what every token begins with, so that scanners find one that leaked


class Scope(StrEnum):
    """What a token opens: files, lists as JSON, the metrics."""

    REPORTS = "reports"
    API = "api"
    METRICS = "metrics"


def create_token(session: Session, name: str, role: Role, *, now: datetime, scopes: Iterable[Scope]) -> str:
    """Make a token that opens these scopes and return it: the only time it can be seen."""
    if not name.strip():
        raise PeopleError("a token needs a name")
    if session.scalar(sa.select(Token).where(col(Token.name) == name)) is not None:
        raise PeopleError(f"there is already a token {name}")
    wanted = [scope.value for scope in Scope if scope in set(scopes)]
    if not wanted:
        raise PeopleError(f"a token needs a scope: {', '.join(Scope)}")
    token = _PREFIX + secrets.token_urlsafe(32)
    session.add(Token(name=name, sha256=digest(token), role=role, scopes=" ".join(wanted), created_at=now))
    return token


def revoke_token(session: Session, name: str, *, now: datetime) -> None:
    row = session.scalar(sa.select(Token).where(col(Token.name) == name))
    if row is None:
        raise PeopleError(f"there is no token {name}")
    row.revoked_at = row.revoked_at or now
    session.add(row)


def find_token(store: Store, token: str, *, now: datetime) -> Token | None:
    """Find a token that is not revoked, and note its use to the minute."""
    query = sa.select(Token).where(col(Token.sha256) == digest(token), col(Token.revoked_at).is_(None))
    with store.reading() as session:
        row = session.scalar(query)
    if row is None or (row.last_used_at and now - row.last_used_at < _USE_NOTED_EVERY):
        return row
    with store.transaction() as session:
        session.execute(sa.update(Token).where(col(Token.id) == row.id).values(last_used_at=now))
    return row


def digest(token: str) -> str:
    # Tokens are long and random, so a fast digest hides them as well as a slow one.
    return hashlib.sha256(token.encode()).hexdigest()
