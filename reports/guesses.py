"""Failed logins of one network address: past a number the address waits, whatever names it tries."""

from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlmodel import Session, col

from consumer.facts.store import insert_once
from reports.tables import LoginAddress

# An office behind one address mistypes a few times a morning; a machine that guesses needs thousands.
MOST_FAILURES = 30
WINDOW = timedelta(minutes=15)


def is_shut(session: Session, address: str, *, now: datetime) -> bool:
    """Tell whether an address has to wait; without an address there is nobody to hold back."""
    if not address:
        return False
    row = session.get(LoginAddress, address)
    return row is not None and row.failures >= MOST_FAILURES and now - row.since < WINDOW


def count(session: Session, address: str, *, now: datetime) -> None:
    """Count one failure in the caller's transaction; what is older than a window is forgotten."""
    if not address:
        return
    session.execute(sa.delete(LoginAddress).where(col(LoginAddress.since) <= now - WINDOW))
    insert_once(
        session.connection(), LoginAddress, [{"address": address, "failures": 0, "since": now}], keys=["address"]
    )
    one_more = sa.update(LoginAddress).where(col(LoginAddress.address) == address)
    session.execute(one_more.values(failures=LoginAddress.failures + 1))
