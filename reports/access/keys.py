"""Keys that open the pages: tokens of machines, and links to choose a password by; only their digests are kept."""

import secrets
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

import sqlalchemy as sa
from sqlmodel import Session, col

from consumer.facts.store import Store
from consumer.facts.tables.types import core_of
from reports.access.people import PeopleError, Role, add_user, drop_links, hash_password, set_password, to_user
from reports.access.sessions import digest
from reports.tables import Invitation, Token, User

_USE_NOTED_EVERY = timedelta(minutes=1)
_PREFIX = "cuadre_"  # what every token begins with, so that scanners find one that leaked


class Scope(StrEnum):
    """What a token opens: files, lists as JSON, the metrics, the books for files that a program hands in."""

    REPORTS = "reports"
    API = "api"
    METRICS = "metrics"
    BOOKS = "books"


def create_token(
    session: Session,
    name: str,
    role: Role,
    *,
    now: datetime,
    scopes: Iterable[Scope],
    expires_at: datetime | None = None,
) -> str:
    """Make a token that opens these scopes and return it: the only time it can be seen."""
    name = name.strip()
    if not name:
        raise PeopleError("people.token_without_name")
    if session.scalar(sa.select(Token).where(col(Token.name) == name)) is not None:
        raise PeopleError("people.known_token", name=name)
    wanted = [scope.value for scope in Scope if scope in set(scopes)]
    if not wanted:
        raise PeopleError("people.token_without_scope", scopes=", ".join(Scope))
    if expires_at is not None and expires_at <= now:
        raise PeopleError("people.token_ends_before")
    token = _PREFIX + secrets.token_urlsafe(32)
    row = Token(name=name, sha256=digest(token), role=role, scopes=" ".join(wanted), created_at=now)
    row.expires_at = expires_at
    session.add(row)
    return token


def state_of_token(token: Token, *, now: datetime) -> str:
    if token.revoked_at is not None:
        return "revoked"
    return "active" if token.expires_at is None or now < token.expires_at else "expired"


def revoke_token(session: Session, name: str, *, now: datetime) -> None:
    """End a token at once."""
    row = session.scalar(sa.select(Token).where(col(Token.name) == name))
    if row is None:
        raise PeopleError("people.unknown_token", name=name)
    row.revoked_at = row.revoked_at or now
    session.add(row)


def find_token(store: Store, token: str, *, now: datetime) -> Token | None:
    """Find a token that is neither revoked nor expired, and note its use to the minute."""
    with store.reading() as session:
        row = session.scalar(sa.select(Token).where(col(Token.sha256) == digest(token)))
    if row is None or state_of_token(row, now=now) != "active":
        return None
    if row.last_used_at and now - row.last_used_at < _USE_NOTED_EVERY:
        return row
    # A database that takes no row is no reason to refuse who only reads.
    with suppress(sa.exc.OperationalError, sa.exc.InternalError), store.transaction() as session:
        session.execute(sa.update(Token).where(col(Token.id) == row.id).values(last_used_at=now))
    return row


FIRST_LASTS = timedelta(hours=24)
LINK_LASTS = timedelta(hours=72)


class LinkOverError(PeopleError):
    """The link was used, is too old, or was replaced."""


@dataclass(frozen=True, slots=True)
class Link:
    """What an open link is for: a person who chooses a password, or None for the first admin."""

    user: User | None


def make_first_link(store: Store, *, now: datetime) -> str | None:
    """Make the key of a link where there is no person yet; those that other servers printed work as well."""
    with store.transaction() as session:
        if _has_people(session):
            return None
        session.execute(sa.delete(Invitation).where(col(Invitation.expires_at) <= now))
        return _new_link(session, None, now, FIRST_LASTS)


def make_link(session: Session, user: User, *, now: datetime) -> str:
    """Make the key of a link by which a person chooses a password; earlier ones of that person end."""
    if user.disabled_at is not None:
        raise PeopleError("people.disabled", email=user.email)
    drop_links(session, user)
    return _new_link(session, user.id, now, LINK_LASTS)


def _new_link(session: Session, person_id: int | None, now: datetime, lasts: timedelta) -> str:
    key = secrets.token_urlsafe(24)
    session.add(Invitation(sha256=digest(key), person_id=person_id, made_at=now, expires_at=now + lasts))
    return key


def find_link(store: Store, key: str, *, now: datetime) -> Link | None:
    with store.reading() as session:
        return _find_link(session, key, now)


def accept_first_link(store: Store, key: str, email: str, password: str, *, now: datetime) -> User:
    """Make the first admin and shut the link, both or neither."""
    if find_link(store, key, now=now) is None:
        raise LinkOverError("people.link_over")
    admin = to_user(email, password, Role.ADMIN, now=now)
    with store.transaction() as session:
        _use_link(session, key, now)
        return add_user(session, admin)


def accept_link(store: Store, key: str, password: str, *, now: datetime) -> User:
    """Give the person of a link this password and shut the link, both or neither."""
    if find_link(store, key, now=now) is None:
        raise LinkOverError("people.link_over")
    password_hash = hash_password(password)
    with store.transaction() as session:
        user = _use_link(session, key, now).user
        if user is None:
            raise LinkOverError("people.link_over")
        set_password(session, user, password_hash, now=now)
        return user


def _use_link(session: Session, key: str, now: datetime) -> Link:
    link = _find_link(session, key, now)
    table = core_of(Invitation)
    using = sa.update(table).where(table.c.sha256 == digest(key), table.c.used_at.is_(None)).values(used_at=now)
    if link is None or session.connection().execute(using).rowcount != 1:
        raise LinkOverError("people.link_used")
    return link


def _find_link(session: Session, key: str, now: datetime) -> Link | None:
    row = session.get(Invitation, digest(key))
    if row is None or row.used_at is not None or row.expires_at <= now:
        return None
    if row.person_id is None:
        return None if _has_people(session) else Link(None)
    user = session.get(User, row.person_id)
    return None if user is None or user.disabled_at is not None else Link(user)


def _has_people(session: Session) -> bool:
    return session.scalar(sa.select(col(User.id)).limit(1)) is not None
