"""What of staff goes by its age: addresses, sessions, devices, the trail; and files that no exception has."""

from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlmodel import col

from consumer.facts.installation import Installation
from reconcile.desk.archive import FILES
from reports.tables import AuditEntry, KnownDevice, LoginFailure, LoginSession

# What a process that was killed left in the archive is no file that is being added.
_A_DAY = timedelta(days=1)


def forget_old(installation: Installation, *, now: datetime) -> str:
    """Delete what its class does not keep any longer, and say how much; 0 days keep a class for ever."""
    settings, store = installation.settings, installation.store
    access = now - timedelta(days=settings.retention_access_days)
    old: list[tuple[str, sa.ColumnElement[bool]]] = [
        (LoginSession.__tablename__, col(LoginSession.expires_at) < access),
        (LoginFailure.__tablename__, col(LoginFailure.last_at) < access),
        (KnownDevice.__tablename__, col(KnownDevice.seen_at) < access),
    ]  # fmt: skip
    if settings.retention_trail_days:
        before = now - timedelta(days=settings.retention_trail_days)
        old.append((AuditEntry.__tablename__, col(AuditEntry.at) < before))
    with store.connection() as connection:
        rows = sum(connection.execute(sa.delete(AuditEntry.metadata.tables[name]).where(is_old)).rowcount
                   for name, is_old in old)  # fmt: skip
    FILES.sweep(installation, before=now - _A_DAY)
    return f"{rows} entries of staff"
