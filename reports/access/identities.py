"""Who a subject of the identity provider is here: by issuer and subject alone, with the role that its claims give."""

from collections.abc import Mapping
from datetime import datetime
from urllib.parse import urlsplit

import sqlalchemy as sa
from sqlmodel import Session, col

from consumer.facts.store import Store, Turn, take_turn
from reports.access import sessions
from reports.access.people import (
    PeopleError,
    Role,
    find_user,
    hash_password,
    new_password,
    note_in,
    require_user,
    set_password,
    to_email,
)
from reports.tables import Identity, User


class NoEntryError(PeopleError):
    """A subject whom the provider knows and who may not come in here."""


def find_role(claims: Mapping[str, object], path: str, roles: Mapping[str, str]) -> Role | None:
    """Return the highest role that the values of a claim give; a dot in its path leads into an object."""
    found: object = claims.get(path)
    if found is None:
        found = claims
        for name in path.split("."):
            found = found.get(name) if isinstance(found, Mapping) else None
    values = found if isinstance(found, list) else [found]
    given = {roles[value] for value in values if isinstance(value, str) and value in roles}
    return next((role for role in reversed(Role) if role in given), None)


def come_in(store: Store, claims: Mapping[str, object], role: Role | None, *, now: datetime, address: str) -> User:
    """Return the person of a subject, made at the first login. Raise NoEntryError if they may not come in.

    1. The role is that of this login; without one the sessions of the person end.
    2. A new person bears the address that the provider has verified, else a name made of subject and host.
    3. An address that is another person's here is no proof: an admin links the two.
    """
    # A password that no one knows: only the provider lets them in. Hashing takes too long for a transaction.
    password_hash = hash_password(new_password())
    issuer, subject = str(claims["iss"]), str(claims["sub"])
    with store.transaction() as session:
        take_turn(session, Turn.PEOPLE)
        user = _person_of(session, issuer, subject)
        name = user.email if user is not None else _name_of(claims)
        refusal = _find_refusal(session, user, name, role)
        action = "login" if refusal is None else "login refused"
        note_in(session, name, action, f"login {issuer} {subject}", now=now, address=address)
        if user is not None and role is None:
            sessions.end_sessions(session, user, now=now)
        if refusal is None and role is not None:
            user = user or User(email=name, password_hash=password_hash, role=role, created_at=now)
            user.role = role
            session.add(user)
            session.flush()
            _keep(session, user, issuer, subject, now=now)
    if refusal is not None:
        raise refusal
    assert user is not None
    return user


def _find_refusal(session: Session, user: User | None, name: str, role: Role | None) -> NoEntryError | None:
    if role is None:
        return NoEntryError("oidc.no_role")
    if user is None:
        return NoEntryError("oidc.name_taken") if find_user(session, name) is not None else None
    return NoEntryError("oidc.disabled") if user.disabled_at is not None else None


def link(session: Session, email: str, issuer: str, subject: str, *, password_hash: str, now: datetime) -> User:
    """Let a subject be a person known here, whose password is replaced; neither may be linked already."""
    user = require_user(session, email)
    linked = sa.select(Identity).where(col(Identity.person_id) == user.id)
    if _person_of(session, issuer, subject) is not None or session.scalar(linked) is not None:
        raise PeopleError("people.linked_already")
    set_password(session, user, password_hash, now=now)
    _keep(session, user, issuer, subject, now=now)
    return user


def _person_of(session: Session, issuer: str, subject: str) -> User | None:
    row = session.get(Identity, (issuer, subject))
    return None if row is None else session.get(User, row.person_id)


def _keep(session: Session, user: User, issuer: str, subject: str, *, now: datetime) -> None:
    assert user.id is not None
    if session.get(Identity, (issuer, subject)) is None:
        session.add(Identity(issuer=issuer, subject=subject, person_id=user.id, linked_at=now))


def _name_of(claims: Mapping[str, object]) -> str:
    if claims.get("email_verified") is True:
        try:
            return to_email(str(claims.get("email", "")))
        except PeopleError:
            pass
    return f"{claims['sub']}@{urlsplit(str(claims['iss'])).hostname}"
