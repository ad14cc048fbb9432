"""Lines of the log that join an event with the run that read it, written where the log's level is debug."""

import logging
from datetime import datetime

import sqlalchemy as sa
from sqlmodel import col

from consumer.facts.store import Store
from consumer.facts.tables.inbox import Event
from reconcile.tables.runs import Run

_LOG = logging.getLogger("cuadre.events")


def log_events(store: Store, connection: str, run_id: str, *, started_at: datetime) -> None:
    """Name each event that was settled after the last run of the connection began and before this one did."""
    if not _LOG.isEnabledFor(logging.DEBUG):
        return
    before = sa.select(sa.func.max(col(Run.started_at))).where(
        col(Run.connection) == connection, col(Run.started_at) < started_at
    )
    with store.reading() as session:
        last = session.scalar(before)
        is_new = [col(Event.connection) == connection, col(Event.settled_at) < started_at]
        is_new += [] if last is None else [col(Event.settled_at) >= last]
        for name in session.scalars(sa.select(col(Event.id)).where(*is_new).order_by(col(Event.id))):
            _LOG.debug("event in run", extra={"connection": connection, "event_id": name, "run_id": run_id})
