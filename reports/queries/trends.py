"""What people look at over time: match rate and value at risk by run, events and gaps by hour."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta

import sqlalchemy as sa
from sqlmodel import Session, col

from consumer.facts.tables.inbox import Event
from consumer.facts.tables.sync import Window, WindowState
from reconcile.kept import records
from reconcile.rules.at_risk import Total
from reconcile.rules.outcomes import APPLIED, Outcome
from reconcile.tables.runs import Run
from reports.queries import run_history

RUNS = 30
HOURS = 48
EVENTS = "events"
_HOUR = timedelta(hours=1)
# They need no document, so they are no measure of matching.
_NO_MATCH_NEEDED = {Outcome.REFUND, Outcome.ADJUSTMENT}


@dataclass(frozen=True, slots=True)
class Day:
    """The last run of one day in figures; `at_risk` is what it left open, by currency.

    Where it was not `complete` no item was called missing, so that less seems to be at risk.
    """

    as_of: date
    number: int
    payouts: int
    payouts_closed: int
    items: int
    matched: int
    at_risk: Mapping[str, Total]
    complete: bool

    @property
    def rate_bps(self) -> int | None:
        """Matched items in hundredths of a percent of those that need a document."""
        return None if not self.items else self.matched * 10_000 // self.items

    def at_risk_in(self, currency: str) -> int:
        """Return the total of one currency, 0 where none of it is open."""
        return self.at_risk[currency].amount if currency in self.at_risk else 0


@dataclass(frozen=True, slots=True)
class Hour:
    """What is known of one hour of the provider's log; in a gap the count is only what came so far."""

    start: datetime
    events: int
    in_gap: bool


def by_run(session: Session, connection: str, today: date) -> list[Day]:
    """Sum up the last run of each of the latest days, oldest first; runs of part of the books are left out."""
    whole = (col(Run.scope_from).is_(None), col(Run.scope_to).is_(None), col(Run.scope_payout).is_(None))
    newest = sa.select(Run).where(col(Run.connection) == connection, *whole)
    known = newest.where(col(Run.as_of) <= today)
    order = (col(Run.as_of).desc(), col(Run.finished_at).desc(), col(Run.number).desc())
    # More than are shown, since a day may have several.
    found = session.scalars(known.order_by(*order).limit(4 * RUNS)).all()
    found = found or session.scalars(newest.order_by(*order).limit(4 * RUNS)).all()
    last: dict[date, Run] = {}
    for run in found:
        last.setdefault(run.as_of, run)
    return [_to_day(run, records.read_summary(run)) for run in reversed(list(last.values())[:RUNS])]


def _to_day(run: Run, summary: records.Summary) -> Day:
    outcomes = summary["items_by_outcome"]
    return Day(
        as_of=run.as_of,
        number=run.number,
        payouts=summary["payouts"],
        payouts_closed=summary["payouts_closed"],
        items=sum(count for word, count in outcomes.items() if word not in _NO_MATCH_NEEDED),
        matched=sum(count for word, count in outcomes.items() if word in APPLIED),
        at_risk=run_history.at_risk(summary),
        complete=run.complete,
    )


def by_hour(session: Session, connection: str) -> list[Hour]:
    """Count events by the hour they were made, up to the newest one; a demo's hours are not this machine's."""
    mine = col(Event.connection) == connection
    newest = session.scalar(sa.select(sa.func.max(Event.created_at)).where(mine))
    if newest is None:
        return []
    end = newest.replace(minute=0, second=0, microsecond=0) + _HOUR
    gaps = _gaps(session, connection, end - HOURS * _HOUR)
    inside = (col(Event.created_at) >= sa.bindparam("start"), col(Event.created_at) < sa.bindparam("end"))
    counted = sa.select(sa.func.count()).select_from(Event).where(mine, *inside)
    hours = []
    for back in range(HOURS, 0, -1):
        start = end - back * _HOUR
        count = session.scalar(counted, {"start": start, "end": start + _HOUR}) or 0
        in_gap = any((since is None or since < start + _HOUR) and until > start for since, until in gaps)
        hours.append(Hour(start, count, in_gap))
    return hours


def _gaps(session: Session, connection: str, since: datetime) -> list[tuple[datetime | None, datetime]]:
    query = sa.select(col(Window.since), col(Window.until)).where(
        col(Window.connection) == connection,
        col(Window.stream) == EVENTS,
        col(Window.state) != WindowState.CLOSED,
        col(Window.until) > since,
    )
    return [(row[0], row[1]) for row in session.execute(query)]
