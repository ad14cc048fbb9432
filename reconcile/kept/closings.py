"""Which periods are closed now."""

from collections.abc import Sequence

from sqlmodel import Session, col, select

from reconcile.tables import Period


def closed(session: Session, connection: str) -> Sequence[Period]:
    """The periods that are closed now, oldest first."""
    mine = select(Period).where(Period.connection == connection, col(Period.reopened_at).is_(None))
    return session.exec(mine.order_by(col(Period.until))).all()


def last_closed(session: Session, connection: str) -> Period | None:
    found = closed(session, connection)
    return found[-1] if found else None
