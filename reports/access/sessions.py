"""Logins kept on the server: a session ends when it is left or old, with its password, and when an admin ends it."""

import hashlib
import mmap
import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlmodel import Session, col

from consumer.facts.store import Store
from reports.tables import Identity, LoginSession, User

SESSION_LASTS = timedelta(hours=12)
# Of someone whom the identity provider lets in, and who may be shut out there meanwhile.
IDLE_LASTS = timedelta(hours=2)
_SEEN_EVERY = timedelta(minutes=5)
# How much of a digest names a session in a list; the whole digest opens nothing either.
_HANDLE = 12


def digest(key: str) -> str:
    # Keys are long and random, so a fast digest hides them as well as a slow one.
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()


def open_session(store: Store, user: User, *, now: datetime, address: str = "") -> str:
    """Keep a login and return the key of its cookie; sessions long over are forgotten meanwhile."""
    assert user.id is not None
    key = secrets.token_urlsafe(32)
    row = LoginSession(
        sha256=digest(key),
        person_id=user.id,
        password_sha256=digest(user.password_hash),
        opened_at=now,
        expires_at=now + SESSION_LASTS,
        address=address,
    )
    with store.transaction() as session:
        session.execute(sa.delete(LoginSession).where(col(LoginSession.expires_at) < now - SESSION_LASTS))
        session.add(row)
        ended = _write_ended(session, now)
    ENDED.drop(ended)
    return key


def user_of_session(store: Store, key: str, *, now: datetime) -> User | None:
    """Return the user of a session; None if it was ended, is over, or began with another password."""
    sha256 = digest(key)
    if sha256 in ENDED:
        return None
    with store.reading() as session:
        row = session.get(LoginSession, sha256)
        if row is None or row.ended_at is not None or row.expires_at <= now:
            return None
        user = session.get(User, row.person_id)
        of_provider = sa.select(col(Identity.person_id)).where(col(Identity.person_id) == row.person_id)
        is_idling = _idle_for(row, now) > _SEEN_EVERY and session.scalar(of_provider) is not None
    if user is None or user.disabled_at is not None or digest(user.password_hash) != row.password_sha256:
        return None
    if not is_idling:
        return user
    if _idle_for(row, now) > IDLE_LASTS:
        return None
    # A database that takes no row is no reason to refuse who only reads.
    with suppress(sa.exc.OperationalError, sa.exc.InternalError), store.transaction() as session:
        session.execute(sa.update(LoginSession).where(col(LoginSession.sha256) == sha256).values(seen_at=now))
    return user


def _idle_for(row: LoginSession, now: datetime) -> timedelta:
    return now - (row.seen_at or row.opened_at)


class EndedSessions:
    """Sessions whose end the database has not taken yet, in memory that the processes of one server share.

    They are forked from the one that loads this module. A digest lies at one of the few places that it may have.
    """

    _SIZE, _PLACES, _TRIED = 32, 4096, 8

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, self._SIZE * self._PLACES)

    def __contains__(self, sha256: str) -> bool:
        return any(self._memory[place] == bytes.fromhex(sha256) for place in self._places(sha256))

    def __iter__(self) -> Iterator[str]:
        pieces = (self._memory[at : at + self._SIZE] for at in range(0, self._SIZE * self._PLACES, self._SIZE))
        return (piece.hex() for piece in pieces if any(piece))

    def add(self, sha256: str) -> None:
        places = list(self._places(sha256))
        self._memory[next((one for one in places if not any(self._memory[one])), places[0])] = bytes.fromhex(sha256)

    def drop(self, given: Iterable[str]) -> None:
        for sha256 in given:
            for place in self._places(sha256):
                if self._memory[place] == bytes.fromhex(sha256):
                    self._memory[place] = bytes(self._SIZE)

    def _places(self, sha256: str) -> Iterator[slice]:
        first = int(sha256[:8], 16)
        for tried in range(self._TRIED):
            at = (first + tried) % self._PLACES * self._SIZE
            yield slice(at, at + self._SIZE)


ENDED = EndedSessions()


def end_session(store: Store, key: str, *, now: datetime) -> None:
    """End a session; raises SQLAlchemyError if the database takes no row, with the session ended here all the same."""
    ENDED.add(digest(key))
    with store.transaction() as session:
        ended = _write_ended(session, now)
    ENDED.drop(ended)


def _write_ended(session: Session, now: datetime) -> set[str]:
    """Write what has ended, to be dropped from memory once it is committed."""
    given = set(ENDED)
    if given:
        of_these = (col(LoginSession.sha256).in_(given), col(LoginSession.ended_at).is_(None))
        session.execute(sa.update(LoginSession).where(*of_these).values(ended_at=now))
    return given


def handle_of(row: LoginSession) -> str:
    """Return how a list names a session."""
    return row.sha256[:_HANDLE]


def open_sessions(session: Session, user: User | None = None, *, now: datetime) -> Sequence[tuple[LoginSession, User]]:
    """List the sessions that are open, of one person or of all, newest first, each with its person."""
    query = sa.select(LoginSession, User).join(User, col(User.id) == LoginSession.person_id)
    query = query.where(col(LoginSession.ended_at).is_(None), col(LoginSession.expires_at) > now)
    if user is not None:
        query = query.where(col(User.id) == user.id)
    found = session.execute(query.order_by(col(LoginSession.opened_at).desc(), col(LoginSession.sha256)))
    return [(row, person) for row, person in found if digest(person.password_hash) == row.password_sha256]


def end_sessions(session: Session, user: User, *, now: datetime, handle: str = "", spare: str = "") -> int:
    """End the sessions of a person: all, the one with this handle, or all but that of the key to spare."""
    ending = sa.update(LoginSession).where(
        col(LoginSession.person_id) == user.id,
        col(LoginSession.ended_at).is_(None),
        col(LoginSession.expires_at) > now,
        col(LoginSession.sha256).startswith(handle, autoescape=True),
        col(LoginSession.sha256) != digest(spare),
    )
    return len(session.execute(ending.values(ended_at=now).returning(col(LoginSession.sha256))).all())
