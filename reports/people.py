"""People who may look: passwords, roles, the lock after failures of an account or an address, and the audit trail."""

import secrets
from datetime import datetime, timedelta
from enum import StrEnum

import sqlalchemy as sa
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from sqlmodel import Session, col

from consumer.facts.clock import utc_now
from consumer.facts.messages import RefusalError
from consumer.facts.store import Store, insert_once
from reports.tables import AuditEntry, LoginAddress, User

SHORTEST_PASSWORD = 12
FAILURES_BEFORE_LOCK = 5
LOCKED_FOR = timedelta(minutes=15)

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


class PeopleError(RefusalError):
    """A person or token that cannot be made or found; the message says why."""


class LoginRefusedError(Exception):
    """Wrong name or password; which of the two is not said."""


class AddressShutError(LoginRefusedError):
    """Too many failures from one address, whatever the names; nobody's account is locked by it."""


class LockedError(LoginRefusedError):
    """Too many failures; the door stays shut until `until`, whatever the password."""

    def __init__(self, until: datetime) -> None:
        super().__init__("locked")
        self.until = until


def check_password(password: str) -> None:
    if len(password) < SHORTEST_PASSWORD:
        raise PeopleError("people.password_too_short", least=SHORTEST_PASSWORD)


def new_password() -> str:
    return secrets.token_urlsafe(15)


def to_email(text: str) -> str:
    email = text.strip().lower()
    name, at, host = email.partition("@")
    if not (name and at and host) or any(c.isspace() for c in email) or "@" in host:
        raise PeopleError("people.no_email", text=text)
    return email


def to_user(email: str, password: str, role: Role, *, now: datetime) -> User:
    """Hash the password outside any transaction: it takes too long to hold the one write lock of SQLite."""
    email = to_email(email)
    check_password(password)
    return User(email=email, password_hash=_hasher.hash(password), role=role, created_at=now)


def add_user(session: Session, user: User) -> User:
    if find_user(session, user.email) is not None:
        raise PeopleError("people.known_user", email=user.email)
    session.add(user)
    return user


def ensure_user(store: Store, email: str, password: str, role: Role | str) -> None:
    """Make the user, or give an existing one this password and role: for the demo, which starts again and again."""
    wanted = to_user(email, password, Role(role), now=utc_now())
    with store.transaction() as session:
        user = find_user(session, wanted.email)
        if user is None:
            add_user(session, wanted)
            return
        user.password_hash, user.role, user.disabled_at = wanted.password_hash, wanted.role, None
        user.failed_logins, user.locked_until = 0, None
        session.add(user)


def find_user(session: Session, email: str) -> User | None:
    return session.scalar(sa.select(User).where(col(User.email) == email))


def disable_user(session: Session, email: str, *, now: datetime) -> None:
    """Shut a person out, also where they are logged in: a session asks for its person every time."""
    user = find_user(session, to_email(email))
    if user is None:
        raise PeopleError("people.unknown_user", email=email)
    user.disabled_at = user.disabled_at or now
    session.add(user)


def login(store: Store, email: str, password: str, *, now: datetime, address: str = "") -> User:
    """Check a password and count failures of the account and the address, kept even though the login is refused."""
    email = email.strip().lower()
    with store.reading() as session:
        # Hashing takes a tenth of a second, too long to hold the one write lock of SQLite.
        if is_address_shut(session, address, now=now):
            raise AddressShutError
        refusal = _refusal(find_user(session, email), password, now)
    with store.transaction() as session:
        # Guesses made side by side all hashed before the first of them was counted.
        if is_address_shut(session, address, now=now):
            raise AddressShutError
        user = session.scalar(sa.select(User).where(col(User.email) == email).with_for_update())
        if user is not None:
            refusal = _lock_of(user, now) or refusal
            _count(user, refusal, now)
            session.add(user)
        if refusal is not None:
            count_failure(session, address, now=now)
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


# An office behind one address mistypes a few times a morning; a machine that guesses needs thousands.
MOST_FAILURES_OF_AN_ADDRESS = 30
FAILURES_LAST = timedelta(minutes=15)


def is_address_shut(session: Session, address: str, *, now: datetime) -> bool:
    """Return True if an address has to wait; an unknown address, which is empty, never has to."""
    if not address:
        return False
    row = session.get(LoginAddress, address)
    return row is not None and row.failures >= MOST_FAILURES_OF_AN_ADDRESS and now - row.since < FAILURES_LAST


def count_failure(session: Session, address: str, *, now: datetime) -> None:
    """Count one failure of an address in the caller's transaction, and forget failures older than a window."""
    if not address:
        return
    session.execute(sa.delete(LoginAddress).where(col(LoginAddress.since) <= now - FAILURES_LAST))
    insert_once(
        session.connection(), LoginAddress, [{"address": address, "failures": 0, "since": now}], keys=["address"]
    )
    one_more = sa.update(LoginAddress).where(col(LoginAddress.address) == address)
    session.execute(one_more.values(failures=LoginAddress.failures + 1))


def note(store: Store, who: str, action: str, subject: str, *, now: datetime) -> None:
    """Add what has no record of its own, such as a download; decisions are written by those who take them."""
    with store.transaction() as session:
        note_in(session, who, action, subject, now=now)


def note_in(session: Session, who: str, action: str, subject: str, *, now: datetime) -> None:
    session.add(AuditEntry(at=now, who=who, action=action, subject=subject))
