"""Keys that open the pages: tokens of machines, logins of people, the first admin's link; only digests are kept."""

import hashlib
import secrets
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from enum import StrEnum

import sqlalchemy as sa
from sqlmodel import Session, col

from consumer.facts.store import Store
from consumer.facts.tables.columns import core_of
from reports.people import PeopleError, Role, add_user, to_user
from reports.tables import Invitation, LoginSession, Token, User

_USE_NOTED_EVERY = timedelta(minutes=1)
_PREFIX = "cuadre_"  # what every token begins with, so that scanners find one that leaked


class Scope(StrEnum):
    """What a token opens: files, lists as JSON, the metrics, the books for files that a program hands in."""

    REPORTS = "reports"
    API = "api"
    METRICS = "metrics"
    BOOKS = "books"


def create_token(session: Session, name: str, role: Role, *, now: datetime, scopes: Iterable[Scope]) -> str:
    """Make a token that opens these scopes and return it: the only time it can be seen."""
    if not name.strip():
        raise PeopleError("people.token_without_name")
    if session.scalar(sa.select(Token).where(col(Token.name) == name)) is not None:
        raise PeopleError("people.known_token", name=name)
    wanted = [scope.value for scope in Scope if scope in set(scopes)]
    if not wanted:
        raise PeopleError("people.token_without_scope", scopes=", ".join(Scope))
    token = _PREFIX + secrets.token_urlsafe(32)
    session.add(Token(name=name, sha256=digest(token), role=role, scopes=" ".join(wanted), created_at=now))
    return token


def revoke_token(session: Session, name: str, *, now: datetime) -> None:
    row = session.scalar(sa.select(Token).where(col(Token.name) == name))
    if row is None:
        raise PeopleError("people.unknown_token", name=name)
    row.revoked_at = row.revoked_at or now
    session.add(row)


def find_token(store: Store, token: str, *, now: datetime) -> Token | None:
    """Find a token that is not revoked, and note its use to the minute."""
    query = sa.select(Token).where(col(Token.sha256) == digest(token), col(Token.revoked_at).is_(None))
    with store.reading() as session:
        row = session.scalar(query)
    if row is None or (row.last_used_at and now - row.last_used_at < _USE_NOTED_EVERY):
        return row
    # A database that takes no row is no reason to refuse who only reads.
    with suppress(sa.exc.OperationalError, sa.exc.InternalError), store.transaction() as session:
        session.execute(sa.update(Token).where(col(Token.id) == row.id).values(last_used_at=now))
    return row


def digest(token: str) -> str:
    # Tokens are long and random, so a fast digest hides them as well as a slow one.
    return hashlib.sha256(token.encode()).hexdigest()


SESSION_LASTS = timedelta(hours=12)


def open_session(store: Store, user: User, *, now: datetime) -> str:
    """Keep a login and return the key of its cookie; sessions long over are forgotten meanwhile."""
    assert user.id is not None
    key = secrets.token_urlsafe(32)
    row = LoginSession(
        sha256=digest(key),
        person_id=user.id,
        password_sha256=digest(user.password_hash),
        opened_at=now,
        expires_at=now + SESSION_LASTS,
    )
    with store.transaction() as session:
        session.execute(sa.delete(LoginSession).where(col(LoginSession.expires_at) < now - SESSION_LASTS))
        session.add(row)
        _write_ended(session, now)
    return key


def user_of_session(store: Store, key: str, *, now: datetime) -> User | None:
    """Return the user of a session; None if it was left, is over, or began with another password."""
    sha256 = digest(key)
    if sha256 in ENDED:
        return None
    with store.reading() as session:
        row = session.get(LoginSession, sha256)
        if row is None or row.ended_at is not None or row.expires_at <= now:
            return None
        user = session.get(User, row.person_id)
    if user is None or user.disabled_at is not None or digest(user.password_hash) != row.password_sha256:
        return None
    return user


# Sessions that were left while the database took no row: ended in this process at once, in the database with the next.
ENDED: set[str] = set()


def end_session(store: Store, key: str, *, now: datetime) -> None:
    """End a session; raises SQLAlchemyError if the database takes no row, with the session ended here all the same."""
    ENDED.add(digest(key))
    with store.transaction() as session:
        _write_ended(session, now)


def _write_ended(session: Session, now: datetime) -> None:
    given = set(ENDED)
    if not given:
        return
    ending = sa.update(LoginSession).where(col(LoginSession.sha256).in_(given), col(LoginSession.ended_at).is_(None))
    session.execute(ending.values(ended_at=now))


INVITATION_LASTS = timedelta(hours=24)


class InvitationOverError(PeopleError):
    """The link was used, is too old, or there is a login already."""


def invite(store: Store, *, now: datetime) -> str | None:
    """Make the key of a link where there is no person yet; those that other servers printed work as well."""
    with store.transaction() as session:
        if _has_people(session):
            return None
        session.execute(sa.delete(Invitation).where(col(Invitation.expires_at) <= now))
        key = secrets.token_urlsafe(24)
        session.add(Invitation(sha256=digest(key), made_at=now, expires_at=now + INVITATION_LASTS))
    return key


def is_invitation_open(store: Store, key: str, *, now: datetime) -> bool:
    with store.reading() as session:
        return _is_open(session, key, now)


def accept_invitation(store: Store, key: str, email: str, password: str, *, now: datetime) -> User:
    """Make the first admin and shut the link, both or neither."""
    if not is_invitation_open(store, key, now=now):
        raise InvitationOverError("people.link_over")
    admin = to_user(email, password, Role.ADMIN, now=now)
    with store.transaction() as session:
        if not _is_open(session, key, now):
            raise InvitationOverError("people.link_used")
        table = core_of(Invitation)
        using = sa.update(table).where(table.c.sha256 == digest(key), table.c.used_at.is_(None)).values(used_at=now)
        if session.connection().execute(using).rowcount != 1:
            raise InvitationOverError("people.link_used")
        return add_user(session, admin)


def _is_open(session: Session, key: str, now: datetime) -> bool:
    row = session.get(Invitation, digest(key))
    return row is not None and row.used_at is None and row.expires_at > now and not _has_people(session)


def _has_people(session: Session) -> bool:
    return session.scalar(sa.select(col(User.id)).limit(1)) is not None
