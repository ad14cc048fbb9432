"""Which connections a person or a token sees: all of them, unless an admin named some. Admins see all."""

from collections.abc import Collection, Sequence

import sqlalchemy as sa
from sqlmodel import Session, col

from reconcile.desk.decisions import DecisionError
from reports.people import PeopleError, Role
from reports.tables import Token, User


def to_limit(owner: User | Token) -> frozenset[str] | None:
    """Return the names of the connections that someone is limited to, None for no limit."""
    # An admin could take any limit off, so one that held would only seem to.
    is_free = owner.connections is None or Role(owner.role) is Role.ADMIN
    return None if owner.connections is None or is_free else frozenset(owner.connections.split())


def limit(session: Session, owner: User | Token, names: Sequence[str] | None, *, known: Collection[str]) -> None:
    """Let someone see these connections alone, which may be none; None takes the limit off."""
    if unknown := sorted(set(names or ()) - set(known)):
        raise PeopleError("people.unknown_connection", name=unknown[0], known=", ".join(sorted(known)))
    if names is not None and Role(owner.role) is Role.ADMIN:
        raise PeopleError("people.admins_see_all")
    owner.connections = None if names is None else " ".join(sorted(set(names)))
    session.add(owner)


def limit_token(session: Session, name: str, names: Sequence[str], *, known: Collection[str]) -> None:
    token = session.scalars(sa.select(Token).where(col(Token.name) == name.strip())).one()
    limit(session, token, names, known=known)


def find_owners(session: Session, connection: str) -> dict[str, bool]:
    """Return the logins of people who see a connection, each with whether it can still log in."""
    people = session.scalars(sa.select(User).order_by(col(User.email)))
    seeing = (user for user in people if (own := to_limit(user)) is None or connection in own)
    return {user.email: user.disabled_at is None for user in seeing}


def check_owner(session: Session, connection: str, owner: str, before: str = "") -> None:
    """Raise DecisionError if no one with this login can see to an exception of a connection.

    Empty takes the owner away, and the one it has may stay. Where no one has a login, any name will do.
    """
    owners = find_owners(session, connection)
    if not owner or owner == before or not owners:
        return
    if owner not in owners:
        raise DecisionError("desk.unknown_owner", owner=owner, known=", ".join(own for own in owners if owners[own]))
    if not owners[owner]:
        raise DecisionError("desk.owner_disabled", owner=owner)
