"""People and machines that may look: passwords, lockout after failures, tokens kept only as digests, the trail."""

import hashlib
import secrets
from datetime import datetime, timedelta
from enum import StrEnum

import sqlalchemy as sa
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from sqlmodel import Session, col

from consumer.facts.clock import utc_now
from consumer.facts.store import Store
from reports.tables import AuditEntry, Token, User

SHORTEST_PASSWORD = 12
FAILURES_BEFORE_LOCK = 5
LOCKED_FOR = timedelta(minutes=15)
_USE_NOTED_EVERY = timedelta(minutes=1)
_TOKEN_PREFIX = "cuadre_"  # noqa: S105 - what every token begins with, so that scanners find one that leaked

_hasher = PasswordHasher()
# Verified when nobody has that name, so that the time taken does not tell who exists.
_NOBODY = "$argon2id$v=19$m=65536,t=3,p=4$/MUcRA+hU5TauPgnFiAIdw$+r8R5dKEE2edxutZuFGqYGFjSKXhfC23+Q+uo7UZ7kg"


class Role(StrEnum):
    VIEWER = "viewer"
    FINANCE = "finance"
    ADMIN = "admin"

    def may(self, needed: "Role") -> bool:
        order = list(Role)
        return order.index(self) >= order.index(needed)


class PeopleError(ValueError):
    """A person or token that cannot be made or found; the message says why."""


class LoginRefusedError(Exception):
    """Wrong name or password; which of the two is not said."""


class LockedError(LoginRefusedError):
    """Too many failures; the door stays shut until `until`, whatever the password."""

    def __init__(self, until: datetime) -> None:
        super().__init__("locked")
        self.until = until


def check_password(password: str) -> None:
    if len(password) < SHORTEST_PASSWORD:
        raise PeopleError(f"the password needs {SHORTEST_PASSWORD} characters or more")


def new_password() -> str:
    return secrets.token_urlsafe(15)


def to_email(text: str) -> str:
    email = text.strip().lower()
    name, at, host = email.partition("@")
    if not (name and at and host) or any(c.isspace() for c in email) or "@" in host:
        raise PeopleError(f"{text!r} is not an email address")
    return email


def add_user(session: Session, email: str, password: str, role: Role, *, now: datetime) -> User:
    email = to_email(email)
    check_password(password)
    if find_user(session, email) is not None:
        raise PeopleError(f"there is already a user {email}")
    user = User(email=email, password_hash=_hasher.hash(password), role=role, created_at=now)
    session.add(user)
    return user


def ensure_user(store: Store, email: str, password: str, role: Role | str) -> None:
    """Make the user, or give an existing one this password and role: for the demo, which starts again and again."""
    with store.transaction() as session:
        user = find_user(session, to_email(email))
        if user is None:
            add_user(session, email, password, Role(role), now=utc_now())
            return
        user.password_hash, user.role, user.disabled_at = _hasher.hash(password), Role(role), None
        user.failed_logins, user.locked_until = 0, None
        session.add(user)


def find_user(session: Session, email: str) -> User | None:
    return session.scalar(sa.select(User).where(col(User.email) == email))


def disable_user(session: Session, email: str, *, now: datetime) -> None:
    user = find_user(session, to_email(email))
    if user is None:
        raise PeopleError(f"there is no user {email}")
    user.disabled_at = user.disabled_at or now
    session.add(user)


def login(store: Store, email: str, password: str, *, now: datetime) -> User:
    """Check a password and count failures, which are kept even though the login is refused."""
    email = email.strip().lower()
    with store.reading() as session:
        # Hashing takes a tenth of a second, too long to hold the one write lock of SQLite.
        refusal = _refusal(find_user(session, email), password, now)
    with store.transaction() as session:
        user = session.scalar(sa.select(User).where(col(User.email) == email).with_for_update())
        if user is not None:
            # Guesses made side by side all hashed before the first of them was counted.
            refusal = _lock_of(user, now) or refusal
            _count(user, refusal, now)
            session.add(user)
        session.add(AuditEntry(at=now, who=user.email if user else "unknown", action=_action(refusal), subject="login"))
    if refusal is not None or user is None:
        raise refusal or LoginRefusedError
    return user


def _refusal(user: User | None, password: str, now: datetime) -> LoginRefusedError | None:
    lock = _lock_of(user, now) if user else None
    if lock is not None:
        return lock
    right = _is_right(user.password_hash if user else _NOBODY, password)
    if user is None or user.disabled_at is not None or not right:
        return LoginRefusedError()
    return None


def _lock_of(user: User, now: datetime) -> LockedError | None:
    return LockedError(user.locked_until) if user.locked_until and user.locked_until > now else None


def _is_right(password_hash: str, password: str) -> bool:
    try:
        return _hasher.verify(password_hash, password)
    except (VerificationError, InvalidHashError):
        return False


def _count(user: User, refusal: LoginRefusedError | None, now: datetime) -> None:
    if refusal is None:
        user.failed_logins, user.locked_until = 0, None
    elif not isinstance(refusal, LockedError):
        user.failed_logins += 1
        if user.failed_logins >= FAILURES_BEFORE_LOCK:
            user.failed_logins, user.locked_until = 0, now + LOCKED_FOR


def _action(refusal: LoginRefusedError | None) -> str:
    if refusal is None:
        return "login"
    return "login locked" if isinstance(refusal, LockedError) else "login refused"


def create_token(session: Session, name: str, role: Role, *, now: datetime) -> str:
    """Make a token and return it: the only time it can be seen."""
    if not name.strip():
        raise PeopleError("a token needs a name")
    if session.scalar(sa.select(Token).where(col(Token.name) == name)) is not None:
        raise PeopleError(f"there is already a token {name}")
    token = _TOKEN_PREFIX + secrets.token_urlsafe(32)
    session.add(Token(name=name, sha256=_digest(token), role=role, created_at=now))
    return token


def revoke_token(session: Session, name: str, *, now: datetime) -> None:
    row = session.scalar(sa.select(Token).where(col(Token.name) == name))
    if row is None:
        raise PeopleError(f"there is no token {name}")
    row.revoked_at = row.revoked_at or now
    session.add(row)


def find_token(store: Store, token: str, *, now: datetime) -> Token | None:
    """Find a token that is not revoked, and note its use to the minute."""
    query = sa.select(Token).where(col(Token.sha256) == _digest(token), col(Token.revoked_at).is_(None))
    with store.reading() as session:
        row = session.scalar(query)
    if row is None or (row.last_used_at and now - row.last_used_at < _USE_NOTED_EVERY):
        return row
    with store.transaction() as session:
        session.execute(sa.update(Token).where(col(Token.id) == row.id).values(last_used_at=now))
    return row


def _digest(token: str) -> str:
    # Tokens are long and random, so a fast digest hides them as well as a slow one.
    return hashlib.sha256(token.encode()).hexdigest()


def note(store: Store, who: str, action: str, subject: str, *, now: datetime) -> None:
    """Add to the trail of who did what."""
    with store.transaction() as session:
        session.add(AuditEntry(at=now, who=who, action=action, subject=subject))


def fingerprint(user: User) -> str:
    """Name a session's user so that a changed password ends the session."""
    return f"{user.id}.{_digest(user.password_hash)[:16]}"


def user_of_session(store: Store, key: str) -> User | None:
    number, _, _ = key.partition(".")
    if not (key.isascii() and number.isdigit()):
        return None
    with store.reading() as session:
        user = session.get(User, int(number))
    if user is None or user.disabled_at is not None or not secrets.compare_digest(fingerprint(user), key):
        return None
    return user
