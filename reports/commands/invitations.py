"""The first admin: where nobody may log in yet, a link printed at the start makes one person, once."""

import secrets
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlmodel import Session, col

from consumer.commands.terminal import say
from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from consumer.facts.store import Store
from reports.people import PeopleError, Role, add_user, to_user
from reports.tables import Invitation, User
from reports.tokens import digest

LASTS = timedelta(hours=24)


class InvitationOverError(PeopleError):
    """The link was used, is too old, or somebody can log in already."""


def invite(store: Store, *, now: datetime) -> str | None:
    """Make the key of a link where there is no person yet; a link printed before stops working."""
    with store.transaction() as session:
        if _has_people(session):
            return None
        session.execute(sa.delete(Invitation))
        key = secrets.token_urlsafe(24)
        session.add(Invitation(sha256=digest(key), made_at=now, expires_at=now + LASTS))
    return key


def greet(installation: Installation, address: str) -> None:
    """Tell who starts the pages how the first person gets in; where somebody can already, say nothing."""
    key = invite(installation.store, now=utc_now())
    if key is not None:
        link = f"{installation.settings.public_url or address}/welcome/{key}"
        say(f"nobody can log in yet; this link makes the first admin, once, within 24 hours: {link}")


def is_open(store: Store, key: str, *, now: datetime) -> bool:
    with store.reading() as session:
        return _is_open(session, key, now)


def accept(store: Store, key: str, email: str, password: str, *, now: datetime) -> User:
    """Make the first admin and shut the link, both or neither."""
    if not is_open(store, key, now=now):
        raise InvitationOverError("this link has been used or is too old: cuadre users add")
    admin = to_user(email, password, Role.ADMIN, now=now)
    with store.transaction() as session:
        if not _is_open(session, key, now):
            raise InvitationOverError("this link has been used: cuadre users add")
        mine = (col(Invitation.sha256) == digest(key), col(Invitation.used_at).is_(None))
        used = session.execute(sa.update(Invitation).where(*mine).values(used_at=now))
        if used.rowcount != 1:  # type: ignore[attr-defined]
            raise InvitationOverError("this link has been used: cuadre users add")
        return add_user(session, admin)


def _is_open(session: Session, key: str, now: datetime) -> bool:
    row = session.get(Invitation, digest(key))
    return row is not None and row.used_at is None and row.expires_at > now and not _has_people(session)


def _has_people(session: Session) -> bool:
    return session.scalar(sa.select(col(User.id)).limit(1)) is not None
