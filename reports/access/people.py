"""People who may look: passwords, roles, logins that slow down after failures, and the audit trail."""

import secrets
from collections.abc import Callable, Mapping
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
from consumer.facts.store import Store, Turn, take_turn
from reports.access import attempts, second_factor, sessions
from reports.tables import AuditEntry, Invitation, User

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
    return User(email=to_email(email), password_hash=hash_password(password), role=role, created_at=now)


def hash_password(password: str) -> str:
    check_password(password)
    return _hasher.hash(password)


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


def require_user(session: Session, email: str) -> User:
    user = find_user(session, to_email(email))
    if user is None:
        raise PeopleError("people.unknown_user", email=email)
    return user


def state_of_user(user: User) -> str:
    if user.disabled_at is not None:
        return "disabled"
    return "active" if user.password_hash else "invited"


def invite_user(session: Session, email: str, role: Role, *, now: datetime) -> User:
    """Add a person without a password, who comes in by a link alone."""
    user = add_user(session, User(email=to_email(email), password_hash="", role=role, created_at=now))
    session.flush()
    return user


def set_password(session: Session, user: User, password_hash: str, *, now: datetime) -> None:
    """Give a person another password: what was opened with the old one ends, and waiting does too."""
    user.password_hash = password_hash
    session.add(user)
    drop_links(session, user)
    _shut_out(session, user, now=now)
    attempts.unlock(session, attempts.account_of(user.email))


def drop_links(session: Session, user: User) -> None:
    session.execute(sa.delete(Invitation).where(col(Invitation.person_id) == user.id))


def _shut_out(session: Session, user: User, *, now: datetime) -> None:
    sessions.end_sessions(session, user, now=now)
    attempts.forget_devices(session, id_of(user))


def disable_user(session: Session, user: User, *, now: datetime) -> None:
    """Shut a person out, also where they are logged in and by links they have."""
    _check_admin_left(session, user)
    user.disabled_at = user.disabled_at or now
    session.add(user)
    drop_links(session, user)
    _shut_out(session, user, now=now)


def enable_user(session: Session, user: User) -> None:
    user.disabled_at = None
    session.add(user)


def change_role(session: Session, user: User, role: Role, *, now: datetime) -> None:
    """Give a person another role; a lower one ends their sessions."""
    if role.may(Role(user.role)):
        user.role = role
    else:
        _check_admin_left(session, user)
        user.role = role
        sessions.end_sessions(session, user, now=now)
    session.add(user)


def _check_admin_left(session: Session, user: User) -> None:
    """Refuse to take away the last admin who can log in."""
    take_turn(session, Turn.PEOPLE)
    is_admin = (col(User.role) == Role.ADMIN, col(User.disabled_at).is_(None), col(User.id) != user.id)
    if user.role == Role.ADMIN and session.scalar(sa.select(col(User.id)).where(*is_admin).limit(1)) is None:
        raise PeopleError("people.last_admin", email=user.email)


def reset_second_factor(session: Session, user: User, *, now: datetime) -> None:
    """Let a person whose device is lost log in with the password alone."""
    second_factor.turn_off(session, id_of(user))
    _shut_out(session, user, now=now)


Change = Callable[[Session, User, datetime], None]
# What an admin changes of a person without saying more, on their page or by a command.
CHANGES: Mapping[str, Change] = {
    "disable": lambda session, user, now: disable_user(session, user, now=now),
    "enable": lambda session, user, _now: enable_user(session, user),
    "unlock": lambda session, user, _now: unlock_user(session, user),
    "totp-reset": lambda session, user, now: reset_second_factor(session, user, now=now),
}


@dataclass(frozen=True, slots=True)
class Visitor:
    """Where a login comes from: a network address, and the key of a device; empty where it is unknown."""

    address: str = ""
    device: str = ""


def login(
    store: Store, email: str, password: str, *, now: datetime, visitor: Visitor = Visitor(), purpose: str = "login"
) -> User:
    """Return the person whose password is right. Raise SlowedError where it must wait, else LoginRefusedError.

    1. A known device is never made to wait. Others wait as their account, their network and both demand.
    2. An attempt is counted before its password is hashed, and taken back if it is right.
    3. An unknown name takes the same steps in the same time.

    With a second factor `finish_login` must follow, and earlier failures stay counted until then.
    """
    email = email.strip().lower()
    origin = attempts.origin_of(email, visitor.address)
    with store.transaction() as session:
        user = find_user(session, email)
        is_known = _begin(session, origin, user, visitor, now=now)
    # Hashing takes a tenth of a second, too long to hold the one write lock of SQLite.
    is_right = _is_right((user.password_hash if user else "") or _OF_UNKNOWN, password)
    may_enter = user is not None and user.password_hash != "" and user.disabled_at is None and is_right
    with store.transaction() as session:
        is_half = may_enter and user is not None and second_factor.is_on(session, id_of(user))
        if may_enter and not is_known:
            (attempts.take_back if is_half else attempts.forgive)(session, origin)
        elif is_known and user is not None and not is_right:
            attempts.count_wrong(session, visitor.device, id_of(user))
        if not may_enter:
            who = user.email if user else "unknown"
            action = "login refused" if purpose == "login" else "password refused"
            note_in(session, who, action, "login", now=now, address=visitor.address)
        elif user is not None and purpose == "login" and not is_half:
            note_in(session, user.email, "login", "login", now=now, address=visitor.address)
    if user is None or not may_enter:
        raise LoginRefusedError
    return user


def hold(session: Session, proven: User) -> User:
    """Return the person as they are, locked; raise LoginRefusedError if the password that was proven is another now."""
    user = session.get_one(User, id_of(proven), with_for_update=True)
    if user.password_hash != proven.password_hash or user.disabled_at is not None:
        raise LoginRefusedError
    return user


def _begin(session: Session, origin: attempts.Origin, user: User | None, visitor: Visitor, *, now: datetime) -> bool:
    """Count an attempt and return whether it comes from a known device, which neither waits nor counts."""
    if attempts.is_known(session, visitor.device, _NO_PERSON if user is None else id_of(user), now=now):
        return True
    until = attempts.wait_until(session, origin, now=now)
    if until is not None:
        raise SlowedError(until)
    attempts.count_attempt(session, origin, now=now)
    return False


def finish_login(installation: Installation, user: User, code: str, *, now: datetime, visitor: Visitor) -> None:
    """Take the code of a person whose password was right; codes are slowed down as passwords are, and longer."""
    origin = attempts.origin_of(user.email, visitor.address, for_codes=True)
    with installation.store.transaction() as session:
        is_known = _begin(session, origin, user, visitor, now=now)
    with installation.store.transaction() as session:
        is_right = second_factor.accept(session, installation.settings, id_of(user), code, now=now)
        if is_right and not is_known:
            attempts.forgive(session, origin)
        elif is_known and not is_right:
            attempts.count_wrong(session, visitor.device, id_of(user))
        action = "login" if is_right else "code refused"
        note_in(session, user.email, action, "login", now=now, address=visitor.address)
    if not is_right:
        raise LoginRefusedError


def id_of(user: User) -> int:
    assert user.id is not None
    return user.id


def _is_right(password_hash: str, password: str) -> bool:
    try:
        return _hasher.verify(password_hash, password)
    except (VerificationError, InvalidHashError):
        return False


def unlock_user(session: Session, user: User) -> None:
    """Let a person try again at once, from everywhere."""
    attempts.unlock(session, attempts.account_of(user.email))


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
