"""The trail: who logged in, downloaded, decided or set something going, newest first, from wherever it is written."""

from datetime import datetime

import sqlalchemy as sa
from sqlmodel import Session, col

from consumer.facts.store import Store
from consumer.facts.tables.inbox import EventReplay
from reconcile.tables import Decision, ExceptionChange
from reports.tables import AuditEntry

KEYS = ("at", "who", "action", "subject")


def note(store: Store, who: str, action: str, subject: str, *, now: datetime) -> None:
    """Add what has no record of its own, such as a download; decisions are written by those who take them."""
    with store.transaction() as session:
        note_in(session, who, action, subject, now=now)


def note_in(session: Session, who: str, action: str, subject: str, *, now: datetime) -> None:
    session.add(AuditEntry(at=now, who=who, action=action, subject=subject))


def entries(search: str = "") -> sa.Select[tuple[datetime, str, str, str]]:
    """Join the trail of the pages with decisions, changes of exceptions and replays, whoever made them and from where.

    What runs change of an exception is no person's doing and is left out.
    """
    space = sa.literal(" ")
    own = sa.select(col(AuditEntry.at), col(AuditEntry.who), col(AuditEntry.action), col(AuditEntry.subject))
    pair = col(Decision.connection) + space + col(Decision.resource_id) + space + col(Decision.doc_key)
    decided = sa.select(col(Decision.at), col(Decision.author), col(Decision.kind), pair)
    about = sa.literal("exception ") + col(ExceptionChange.connection) + space + col(ExceptionChange.exception_id)
    changed = sa.select(
        col(ExceptionChange.at), col(ExceptionChange.author), sa.literal("change ") + col(ExceptionChange.change), about
    ).where(~col(ExceptionChange.author).startswith("run "))
    event = sa.literal("event ") + col(EventReplay.connection) + space + col(EventReplay.event_id)
    replayed = sa.select(col(EventReplay.replayed_at), col(EventReplay.replayed_by), sa.literal("replay"), event)
    named = [query.with_only_columns(*(c.label(k) for c, k in zip(query.selected_columns, KEYS, strict=True)))
             for query in (own, decided, changed, replayed)]  # fmt: skip
    whole = sa.union_all(*named).subquery()
    query = sa.select(*(whole.c[key] for key in KEYS))
    if search:
        columns = (whole.c.who, whole.c.action, whole.c.subject)
        query = query.where(sa.or_(*(column.contains(search, autoescape=True) for column in columns)))
    return query.order_by(whole.c.at.desc(), whole.c.subject)
