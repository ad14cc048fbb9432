"""The queries behind the pages of operation: runs, events, conflicts, gaps, jobs and the trail, newest first."""

import json
from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa
from sqlmodel import Session, col

from consumer.facts.clock import utc_now
from consumer.facts.columns import Kind, to_columns
from consumer.facts.tables.inbox import CONFLICT_KEYS, EVENT_KEYS, Event, EventConflict
from consumer.facts.tables.jobs import Tick, TickState, is_in_state, is_job_of, to_shown
from consumer.facts.tables.sync import GAP_KEYS, Window, WindowState, to_gap
from consumer.facts.taxids import mask_accounts
from reconcile.kept.records import read_summary
from reconcile.tables.runs import Run
from reports.access.trail import IDENTITY, TRAIL_KEYS, identity_of, trail_parts
from reports.queries.listing import Listing, Statement, Wanted, count, search, select_from
from reports.shapes.spans import Row


def trouble(session: Session, connections: Sequence[str]) -> Sequence[tuple[str, str, int]]:
    """Return the events of these connections that need a person: list, state and count."""
    asked = (("conflicts", "", _conflicts), ("events", "quarantined", _events))
    queries = [(name, state, query(Wanted(connections, state)).order_by(None)) for name, state, query in asked]
    counts = [session.scalar(sa.select(sa.func.count()).select_from(query.subquery())) or 0 for _, _, query in queries]
    return [(name, state, number) for (name, state, _), number in zip(queries, counts, strict=True) if number]


def _runs(wanted: Wanted) -> Statement:
    query = select_from(Run, wanted, Run.id)
    if wanted.state:
        query = query.where(col(Run.complete).is_(wanted.state == "complete"))
    return query.order_by(col(Run.finished_at).desc(), col(Run.connection), col(Run.number).desc())


def _show_run(run: Run) -> Row:
    summary = read_summary(run)
    return {
        **summary,
        "number": f"r{run.number:04d}",
        "state": "complete" if run.complete else "incomplete",
        "exceptions": sum(summary["exceptions"].values()),
    }


def _events(wanted: Wanted) -> Statement:
    query = sa.select(Event).where(col(Event.connection).in_(wanted.connections))
    if wanted.state:
        query = query.where(col(Event.state) == wanted.state)
    if wanted.search:
        # Whole ids and beginnings only: a search inside would read the whole log.
        starts = [field.startswith(wanted.search, autoescape=True) for field in (col(Event.id), col(Event.type))]
        query = query.where(sa.or_(*starts, col(Event.resource_id) == wanted.search))
    return query.order_by(col(Event.created_at).desc().nulls_last(), col(Event.connection), col(Event.id).desc())


def _conflicts(wanted: Wanted) -> Statement:
    query = sa.select(EventConflict).where(col(EventConflict.connection).in_(wanted.connections))
    if wanted.search:
        query = query.where(col(EventConflict.id).startswith(wanted.search, autoescape=True))
    return query.order_by(col(EventConflict.seen_at).desc(), col(EventConflict.id), col(EventConflict.other_sha256))


def _gaps(wanted: Wanted) -> Statement:
    query = select_from(Window, wanted, Window.stream).where(col(Window.state) != WindowState.CLOSED)
    if wanted.state:
        query = query.where(col(Window.state) == wanted.state)
    return query.order_by(col(Window.until).desc(), col(Window.id).desc())


def _jobs(wanted: Wanted) -> Statement:
    query = search(sa.select(Tick), wanted, Tick.job)
    if not wanted.is_whole:
        query = query.where(sa.or_(*map(is_job_of, wanted.connections)))
    if wanted.state:
        query = query.where(is_in_state(wanted.state, now=utc_now()))
    return query.order_by(col(Tick.planned_at).desc(), col(Tick.job))


def _show_job(tick: Tick) -> Row:
    return dict(to_shown(tick, now=utc_now()))


def _trail(wanted: Wanted) -> Statement:
    """Join the parts of the trail, whether made on pages or by commands."""
    whole = sa.union_all(*(part.with_only_columns(*(part.selected_columns[key] for key in TRAIL_KEYS))
                           for part in trail_parts().values())).subquery()  # fmt: skip
    query = sa.select(*(whole.c[key] for key in TRAIL_KEYS), identity_of(whole.c.who))
    found = search(query, wanted, whole.c.who, whole.c.action, whole.c.subject, whole.c.address)
    return found.order_by(whole.c.at.desc(), whole.c.subject)


def _show_entry(found: tuple[datetime, str, str, str, str, str | None]) -> Row:
    return dict(zip((*TRAIL_KEYS, IDENTITY), found, strict=True))


# A dead tick is one whose row still says that it runs.
_TICK_ORDER = (TickState.DEAD, *(state for state in TickState if state is not TickState.DEAD))
_EVENT_STATES = ("waiting", "applied", "ignored", "failed", "quarantined")
_OPEN = Listing(
    "gaps", to_columns(GAP_KEYS), _gaps, to_gap, ("open", "failed"), by={"from": Window.since, "to": Window.until}
)
LISTS = (
    Listing(
        "runs",
        to_columns(
            "number connection id as_of state payouts payouts_closed payouts_no_bank exceptions finished_at",
            number=Kind.TEXT,
            payouts=Kind.INT,
        ),
        _runs,
        _show_run,
        ("complete", "incomplete"),
        by={"state": sa.case((col(Run.complete), "complete"), else_="incomplete")},
    ),
    Listing("events", to_columns(EVENT_KEYS), _events, states=_EVENT_STATES),
    Listing("conflicts", to_columns(CONFLICT_KEYS), _conflicts),
    _OPEN,
    Listing(
        "jobs",
        to_columns("job planned_at state started_at finished_at outcome"),
        _jobs,
        _show_job,
        tuple(state.value for state in TickState),
        by={"state": lambda: sa.case(*((is_in_state(one, now=utc_now()), one.value) for one in _TICK_ORDER))},
    ),
    Listing("trail", to_columns((*TRAIL_KEYS, IDENTITY)), _trail, _show_entry, for_admins=True),
)


def gaps_open(session: Session, connections: Sequence[str]) -> int:
    return count(session, _OPEN, Wanted(connections))


def count_recent(session: Session, connections: Sequence[str], since: datetime) -> int:
    """Count what happened since a moment: an index has the events by the time they were made, none by their arrival."""
    query = sa.select(sa.func.count()).select_from(Event)
    return session.scalar(query.where(col(Event.connection).in_(connections), col(Event.created_at) >= since)) or 0


def find_event(session: Session, connection: str, event_id: str) -> Row | None:
    """Find one event with its first body as text to read, which retention may have dropped."""
    event = session.get(Event, (connection, event_id))
    if event is None:
        return None
    own = {key: getattr(event, key) for key in EVENT_KEYS}
    body = None if event.body is None else _to_shown(event.body.decode("utf-8", errors="replace"))
    return {**own, "arrivals": event.arrivals, "raw_sha256": event.raw_sha256, "body": body}


def _to_shown(body: str) -> str:
    """Lay a body out to be read, its account numbers masked; one that is no JSON object cannot name an account."""
    try:
        return json.dumps(mask_accounts(json.loads(body)), ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        return body
