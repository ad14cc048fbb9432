"""Who may see to an exception: people who see its connection and can log in."""

import sqlalchemy as sa
from sqlmodel import Session, col

from reconcile.desk.decisions import DecisionError
from reports.access.visibility import to_limit
from reports.tables import User


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
