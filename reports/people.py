"""People who may look: passwords, roles, logins that slow down after failures, and the audit trail."""

import secrets
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import sqlalchemy as sa
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from sqlmodel import Session, col

from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from consumer.facts.messages import RefusalError
from consumer.facts.store import Store
from reports import attempts
from reports.tables import AuditEntry, User

SHORTEST_PASSWORD = 12

_hasher = PasswordHasher()
# Verified when the name is unknown, so that the time taken does not show which names exist.
_OF_UNKNOWN = "$argon2id$v=19$m=65536,t=3,p=4$/MUcRA+hU5TauPgnFiAIdw$+r8R5dKEE2edxutZuFGqYGFjSKXhfC23+Q+uo7UZ7kg"

_NO_PERSON = 0
_LATEST = 20


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


class SlowedError(LoginRefusedError):
    """Too many failures; no password is looked at before `until`."""

    def __init__(self, until: datetime) -> None:
        super().__init__("slowed")
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
        attempts.unlock(session, attempts.account_of(user.email))
        session.add(user)


def find_user(session: Session, email: str) -> User | None:
    return session.scalar(sa.select(User).where(col(User.email) == email))


def _require_user(session: Session, email: str) -> User:
    user = find_user(session, to_email(email))
    if user is None:
        raise PeopleError("people.unknown_user", email=email)
    return user


def disable_user(session: Session, email: str, *, now: datetime) -> None:
    """Shut a person out, also where they are logged in: a session asks for its person every time."""
    user = _require_user(session, email)
    user.disabled_at = user.disabled_at or now
    session.add(user)


@dataclass(frozen=True, slots=True)
class Visitor:
    """Where a login comes from: a network address, and the key of a device; empty where it is unknown."""

    address: str = ""
    device: str = ""


def login(store: Store, email: str, password: str, *, now: datetime, visitor: Visitor = Visitor()) -> User:
    """Return the person whose password is right. Raise SlowedError where it must wait, else LoginRefusedError.

    1. A known device is never made to wait. Others wait as their account, their network and both demand.
    2. An attempt is counted before its password is hashed, and taken back if it is right.
    3. An unknown name takes the same steps in the same time.
    """
    email = email.strip().lower()
    origin = attempts.origin_of(email, visitor.address)
    with store.transaction() as session:
        user = find_user(session, email)
        is_known = attempts.is_known(session, visitor.device, _NO_PERSON if user is None else _id_of(user), now=now)
        until = None if is_known else attempts.wait_until(session, origin, now=now)
        if until is not None:
            raise SlowedError(until)
        if not is_known:
            attempts.count_attempt(session, origin, now=now)
    # Hashing takes a tenth of a second, too long to hold the one write lock of SQLite.
    is_right = _is_right(user.password_hash if user else _OF_UNKNOWN, password)
    may_enter = user is not None and user.disabled_at is None and is_right
    with store.transaction() as session:
        if may_enter and not is_known:
            attempts.forgive(session, origin)
        elif is_known and user is not None and not is_right:
            attempts.count_wrong(session, visitor.device, _id_of(user))
        action = "login" if may_enter else "login refused"
        note_in(session, user.email if user else "unknown", action, "login", now=now, address=visitor.address)
    if user is None or not may_enter:
        raise LoginRefusedError
    return user


def _id_of(user: User) -> int:
    assert user.id is not None
    return user.id


def _is_right(password_hash: str, password: str) -> bool:
    try:
        return _hasher.verify(password_hash, password)
    except (VerificationError, InvalidHashError):
        return False


def unlock_user(session: Session, email: str) -> User:
    """Let a person try again at once, from everywhere."""
    user = _require_user(session, email)
    attempts.unlock(session, attempts.account_of(user.email))
    return user


def note(store: Store, who: str, action: str, subject: str, *, now: datetime, address: str = "") -> None:
    """Add what has no record of its own, such as a download; decisions are written by those who take them."""
    with store.transaction() as session:
        note_in(session, who, action, subject, now=now, address=address)


def note_in(session: Session, who: str, action: str, subject: str, *, now: datetime, address: str = "") -> None:
    session.add(AuditEntry(at=now, who=who, action=action, subject=subject, address=address))


def latest_addresses(installation: Installation) -> list[str]:
    """List from where people last logged in or tried to, newest first."""
    entry = (col(AuditEntry.subject) == "login", col(AuditEntry.address) != "")
    newest = sa.select(col(AuditEntry.address)).where(*entry).order_by(col(AuditEntry.id).desc()).limit(_LATEST)
    with installation.store.reading() as session:
        return list(session.scalars(newest))
