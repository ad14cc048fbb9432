"""The queries behind the pages of operation: runs, events, conflicts, gaps, jobs and the trail, newest first."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session, col

from consumer.facts.clock import utc_now
from consumer.facts.tables.inbox import CONFLICT_KEYS, EVENT_KEYS, Event, EventConflict
from consumer.facts.tables.jobs import Tick, is_in_state, to_shown
from consumer.facts.tables.sync import GAP_KEYS, Window, WindowState, to_gap
from consumer.facts.taxids import mask_accounts
from reconcile.tables import Run
from reports import bookkeeping, keeping, trail
from reports.build import Report, to_table
from reports.columns import Column, Kind
from reports.definitions import Definition
from reports.lists import PAGE_ROWS, Page
from reports.spans import WHOLE, Row

# Where a list has its page; one that is elsewhere is part of another page.
OPERATION, BOOKS, ELSEWHERE = "operation", "books", "elsewhere"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which rows of a list are asked for; `state` and `search` mean what the list says they mean."""

    connections: Sequence[str]
    state: str = ""
    search: str = ""
    number: int = 1
    size: int = PAGE_ROWS


@dataclass(frozen=True, slots=True)
class Listing:
    """One list: its keys as the commands print them, its query, and the states it can be filtered by."""

    name: str
    title: str
    keys: tuple[str, ...]
    query: Callable[[Wanted], sa.Select[Any]]
    to_row: Callable[[Any], Row]
    states: tuple[str, ...] = ()
    for_admins: bool = False
    place: str = OPERATION


def read(session: Session, listing: Listing, wanted: Wanted, *, skip: int | None = None) -> Page[Row]:
    """Read one page of a list; `skip` rows are left out where that is not a number of whole pages."""
    query = listing.query(wanted)
    skip = (wanted.number - 1) * wanted.size if skip is None else skip
    total = count(session, listing, wanted)
    rows = session.execute(query.limit(wanted.size).offset(skip))
    return Page([_to_row(listing, row) for row in rows], wanted.number, total, wanted.size)


def _to_row(listing: Listing, row: Any) -> Row:
    """Hand over the one object a query selects, or the row of several columns."""
    return listing.to_row(row[0] if len(row) == 1 else row)


def count(session: Session, listing: Listing, wanted: Wanted) -> int:
    query = listing.query(wanted).order_by(None).subquery()
    return session.scalar(sa.select(sa.func.count()).select_from(query)) or 0


def trouble(session: Session, connections: Sequence[str]) -> Sequence[tuple[str, str, int]]:
    """Say which events of these connections somebody must look at: list, state and how many."""
    asked = (("conflicts", "", _conflicts), ("events", "quarantined", _events))
    queries = [(name, state, query(Wanted(connections, state)).order_by(None)) for name, state, query in asked]
    counts = [session.scalar(sa.select(sa.func.count()).select_from(query.subquery())) or 0 for _, _, query in queries]
    return [(name, state, number) for (name, state, _), number in zip(queries, counts, strict=True) if number]


def _runs(wanted: Wanted) -> sa.Select[Any]:
    query = sa.select(Run).where(col(Run.connection).in_(wanted.connections))
    if wanted.state:
        query = query.where(col(Run.complete).is_(wanted.state == "complete"))
    if wanted.search:
        query = query.where(col(Run.id).contains(wanted.search, autoescape=True))
    return query.order_by(col(Run.finished_at).desc(), col(Run.connection), col(Run.number).desc())


def _run_row(run: Run) -> Row:
    summary = json.loads(run.summary)
    return {
        "number": f"r{run.number:04d}",
        "connection": run.connection,
        "id": run.id,
        "as_of": run.as_of,
        "state": "complete" if run.complete else "incomplete",
        "payouts": summary.get("payouts"),
        "payouts_closed": summary.get("payouts_closed"),
        "exceptions": sum(summary.get("exceptions", {}).values()),
        "started_at": run.started_at,
        "finished_at": run.finished_at,
        "calendar": run.calendar,
    }


def _events(wanted: Wanted) -> sa.Select[Any]:
    query = sa.select(Event).where(col(Event.connection).in_(wanted.connections))
    if wanted.state:
        query = query.where(col(Event.state) == wanted.state)
    if wanted.search:
        # Whole ids and beginnings only: a search inside would read the whole log.
        starts = [field.startswith(wanted.search, autoescape=True) for field in (col(Event.id), col(Event.type))]
        query = query.where(sa.or_(*starts, col(Event.resource_id) == wanted.search))
    return query.order_by(col(Event.created_at).desc().nulls_last(), col(Event.connection), col(Event.id).desc())


def _event_row(event: Event) -> Row:
    return {key: getattr(event, key) for key in EVENT_KEYS}


def _conflicts(wanted: Wanted) -> sa.Select[Any]:
    query = sa.select(EventConflict).where(col(EventConflict.connection).in_(wanted.connections))
    if wanted.search:
        query = query.where(col(EventConflict.id).startswith(wanted.search, autoescape=True))
    return query.order_by(col(EventConflict.seen_at).desc(), col(EventConflict.id), col(EventConflict.other_sha256))


def _conflict_row(conflict: EventConflict) -> Row:
    return {key: getattr(conflict, key) for key in CONFLICT_KEYS}


def _gaps(wanted: Wanted) -> sa.Select[Any]:
    query = sa.select(Window).where(
        col(Window.connection).in_(wanted.connections), col(Window.state) != WindowState.CLOSED
    )
    if wanted.state:
        query = query.where(col(Window.state) == wanted.state)
    if wanted.search:
        query = query.where(col(Window.stream).contains(wanted.search, autoescape=True))
    return query.order_by(col(Window.until).desc(), col(Window.id).desc())


def _jobs(wanted: Wanted) -> sa.Select[Any]:
    query = sa.select(Tick)
    if wanted.state:
        query = query.where(is_in_state(wanted.state, now=utc_now()))
    if wanted.search:
        query = query.where(col(Tick.job).contains(wanted.search, autoescape=True))
    return query.order_by(col(Tick.planned_at).desc(), col(Tick.job))


JOB_KEYS = ("job", "planned_at", "state", "started_at", "finished_at", "outcome")
JOB_STATES = ("running", "complete", "incomplete", "failed", "missed", "dead")


def _job_row(tick: Tick) -> Row:
    shown = to_shown(tick, now=utc_now())
    return {key: shown[key] for key in JOB_KEYS}


def _trail(wanted: Wanted) -> sa.Select[Any]:
    return trail.entries(wanted.search)


def _trail_row(row: Any) -> Row:
    return dict(zip(trail.KEYS, row, strict=True))


AskedQuery = Callable[[Sequence[str], str, str], Any]


def _listed(  # noqa: PLR0913 - the columns of the tables of lists
    name: str, title: str, keys: tuple[str, ...], query: AskedQuery, to_row: Callable[[Any], Row], *,
    states: tuple[str, ...] = (), for_admins: bool = False, place: str,
) -> Listing:  # fmt: skip
    def asked(wanted: Wanted) -> sa.Select[Any]:
        asked_for: sa.Select[Any] = query(wanted.connections, wanted.state, wanted.search)
        return asked_for

    return Listing(name, title, keys, asked, to_row, states, for_admins, place)


RUN_KEYS = ("number", "connection", "id", "as_of", "state", "payouts", "payouts_closed", "exceptions", "finished_at")

LISTINGS = {
    listing.name: listing
    for listing in (
        Listing("runs", "Runs", RUN_KEYS, _runs, _run_row, ("complete", "incomplete")),
        Listing(
            "events",
            "Events",
            EVENT_KEYS,
            _events,
            _event_row,
            ("waiting", "applied", "ignored", "failed", "quarantined"),
        ),
        Listing("conflicts", "Conflicts", CONFLICT_KEYS, _conflicts, _conflict_row),
        Listing("gaps", "Gaps", GAP_KEYS, _gaps, to_gap, ("open", "failed")),
        Listing("jobs", "Jobs", JOB_KEYS, _jobs, _job_row, JOB_STATES),
        Listing("trail", "Trail", trail.KEYS, _trail, _trail_row, for_admins=True),
        *(_listed(*one, states=states, place=BOOKS) for *one, states in bookkeeping.LISTS),
        *(_listed(*one, for_admins=for_admins, place=ELSEWHERE) for *one, for_admins in keeping.LISTS),
    )
}


COUNTS = {
    "attempts", "times", "pages", "events", "payouts", "payouts_closed", "exceptions", "rows", "added", "changed",
    "adjustments", "period", "decision",
}  # fmt: skip
_DAYS = {"as_of", "since", "until", "booked_on"}
_IDS = {"id", "resource_id", "doc_key", "run_id", "account_last4"}
_AMOUNTS = {"opening", "closing", "amount"}
NUMBERS = COUNTS | _AMOUNTS
# A list is for looking; who wants millions of rows reads the API page by page.
MOST_ROWS = 100_000


class TooLongError(ValueError):
    """A list with more rows than a file of it may hold."""


def kind_of(key: str) -> Kind:
    """Say what the cells under a key of a list hold."""
    if key in COUNTS:
        return Kind.INT
    if key in {"at", "from", "to"} or key.endswith("_at"):
        return Kind.INSTANT
    if key in _DAYS:
        return Kind.DATE
    if key in _AMOUNTS:
        return Kind.DECIMAL
    return Kind.ID if key in _IDS or key.endswith("sha256") else Kind.TEXT


def to_report(
    session: Session, listing: Listing, wanted: Wanted, *, label: Callable[[str, str], str], as_of: date
) -> Report:
    """Give a whole list as a report, so that it becomes a file like any other."""
    if (total := count(session, listing, wanted)) > MOST_ROWS:
        raise TooLongError(f"{listing.name} has {total} rows; a file holds {MOST_ROWS}: narrow it, or page the API")
    columns = tuple(
        Column(key, kind_of(key), label(key, "es-CL"), label(key, "es-MX"), label(key, "en")) for key in listing.keys
    )
    titles = (label(f"title:{listing.title}", language) for language in ("es-CL", "en"))
    definition = Definition(listing.name, columns, (), *titles)
    rows = read(session, listing, replace(wanted, number=1, size=MOST_ROWS)).rows
    table = to_table(definition, rows, currency=lambda _row: "")
    facts = {"runs": "", "run_numbers": "", "countries": "", "incomplete": "", "missing": ""}
    return Report(definition, table, WHOLE, as_of, facts=facts | {"connections": "-".join(wanted.connections)})


def gaps_open(session: Session, connections: Sequence[str]) -> int:
    return count(session, LISTINGS["gaps"], Wanted(connections))


def received_since(session: Session, connections: Sequence[str], since: datetime) -> int:
    query = sa.select(sa.func.count()).select_from(Event)
    return session.scalar(query.where(col(Event.connection).in_(connections), col(Event.received_at) >= since)) or 0


def find_event(session: Session, connection: str, event_id: str) -> Row | None:
    """Find one event with its first body as text to read, which retention may have dropped."""
    event = session.get(Event, (connection, event_id))
    if event is None:
        return None
    body = None if event.body is None else _to_shown(event.body.decode("utf-8", errors="replace"))
    return {**_event_row(event), "arrivals": event.arrivals, "raw_sha256": event.raw_sha256, "body": body}


def _to_shown(body: str) -> str:
    """Lay a body out to be read, its account numbers masked; one that is no JSON object cannot name an account."""
    try:
        return json.dumps(mask_accounts(json.loads(body)), ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        return body
