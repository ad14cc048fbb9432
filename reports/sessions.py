"""Logins that last: one row each on the server, so that leaving ends every copy of the cookie."""

import secrets
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlmodel import col

from consumer.facts.store import Store
from reports.tables import LoginSession, User
from reports.tokens import digest

LASTS = timedelta(hours=12)


def open_session(store: Store, user: User, *, now: datetime) -> str:
    """Keep a login and return the key of its cookie; sessions long over are forgotten meanwhile."""
    assert user.id is not None
    key = secrets.token_urlsafe(32)
    row = LoginSession(
        sha256=digest(key),
        person_id=user.id,
        password_sha256=digest(user.password_hash),
        opened_at=now,
        expires_at=now + LASTS,
    )
    with store.transaction() as session:
        session.execute(sa.delete(LoginSession).where(col(LoginSession.expires_at) < now - LASTS))
        session.add(row)
    return key


def user_of_session(store: Store, key: str, *, now: datetime) -> User | None:
    """Find whose session it is; one that was left, is over, or began with another password is nobody's."""
    with store.reading() as session:
        row = session.get(LoginSession, digest(key))
        if row is None or row.ended_at is not None or row.expires_at <= now:
            return None
        user = session.get(User, row.person_id)
    if user is None or user.disabled_at is not None or digest(user.password_hash) != row.password_sha256:
        return None
    return user


def end_session(store: Store, key: str, *, now: datetime) -> None:
    ending = sa.update(LoginSession).where(
        col(LoginSession.sha256) == digest(key), col(LoginSession.ended_at).is_(None)
    )
    with store.transaction() as session:
        session.execute(ending.values(ended_at=now))
