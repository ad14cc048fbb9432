"""Which connections a person or a token sees: all of them, unless an admin named some. Admins see all."""

from collections.abc import Collection, Sequence

import sqlalchemy as sa
from sqlmodel import Session, col

from reports.access.people import PeopleError, Role
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
