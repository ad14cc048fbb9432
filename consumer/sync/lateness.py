"""How late events come: webhooks behind the event's own time, the list behind what was complete; and the overlap.

Kept as counts for each day in steps of seconds, so that a month of any trade is a few hundred rows.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

import sqlalchemy as sa
from sqlmodel import Session

from consumer.facts.completeness import Way, percentiles
from consumer.facts.store import Row, insert_into
from consumer.facts.tables.inbox import Event, Source
from consumer.facts.tables.sync import Lateness
from consumer.facts.tables.types import core_of
from consumer.inbox.record import Arrival, Verdict, mark_listed

STEPS = (0, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400, 172_800, 604_800)
BEYOND = 2**31 - 1
# Twice what was measured leaves room for worse than was seen; beyond two days the list is not late but broken.
FACTOR = 2
MOST_OVERLAP = timedelta(days=2)
# A webhook that was tried again for longer is no measure of the provider any more.
_DAYS_MEASURED = 3
_TABLE = core_of(Lateness)
_EVENT = core_of(Event)


@dataclass(frozen=True, slots=True)
class Sightings:
    """When the list first showed each event, held against `frontier`: what was complete when a run began."""

    connection: str
    frontier: datetime | None
    # Before marks were kept, an event may have been listed long ago.
    is_marked: bool

    def note(self, connection: sa.Connection, judged: Sequence[tuple[Arrival, Verdict]], *, now: datetime) -> None:
        shown = [arrival for arrival, verdict in judged if verdict is Verdict.STORED]
        others = [arrival for arrival, verdict in judged if verdict is not Verdict.STORED]
        first = mark_listed(connection, others)
        if self.frontier is None:
            return
        if self.is_marked:
            shown += [arrival for arrival in others if arrival.key in first]
        dates = [arrival.created_at for arrival in shown if arrival.created_at is not None]
        late = [max(0, int((self.frontier - at).total_seconds())) for at in dates]
        record_list_lateness(connection, self.connection, late, on=now.date())


def record_list_lateness(connection: sa.Connection, name: str, seconds: Iterable[int], *, on: date) -> None:
    """Add how far behind what was complete the list showed events; in the transaction that keeps them."""
    steps: dict[int, list[int]] = {}
    for late in seconds:
        steps.setdefault(_to_step(late), []).append(late)
    rows = [_to_row(name, Way.LIST, on, (step, len(some), max(some))) for step, some in sorted(steps.items())]
    if not rows:
        return
    statement = insert_into(connection, _TABLE).values(rows)
    more, column = statement.excluded, _TABLE.c
    worst = sa.case((column.worst_seconds < more.worst_seconds, more.worst_seconds), else_=column.worst_seconds)
    added = {"events": column.events + more.events, "worst_seconds": worst}
    connection.execute(statement.on_conflict_do_update(index_elements=list(_TABLE.primary_key), set_=added))


def measure_webhooks(connection: sa.Connection, name: str, *, now: datetime) -> None:
    """Count anew how late the webhooks of the last days came; days before them keep what was counted then."""
    seconds = _seconds(connection, _EVENT.c.received_at) - _seconds(connection, _EVENT.c.created_at)
    step = sa.case(*((seconds <= bound, bound) for bound in STEPS), else_=BEYOND).label("step")
    for days in range(_DAYS_MEASURED):
        on = (now - timedelta(days=days)).date()
        first = datetime.combine(on, time(), tzinfo=UTC)
        of_the_day = sa.and_(
            _EVENT.c.connection == name,
            _EVENT.c.created_at >= first,
            _EVENT.c.created_at < first + timedelta(days=1),
            _EVENT.c.source == Source.WEBHOOK.value,
        )
        counted = connection.execute(
            sa.select(step, sa.func.count(), sa.func.max(seconds)).where(of_the_day).group_by(step)
        )
        rows = [_to_row(name, Way.WEBHOOK, on, (row[0], row[1], row[2])) for row in counted]
        is_old = (_TABLE.c.connection == name) & (_TABLE.c.way == Way.WEBHOOK.value) & (_TABLE.c.on == on)
        connection.execute(_TABLE.delete().where(is_old))
        if rows:
            connection.execute(_TABLE.insert(), rows)


def overlap(session: Session, name: str, *, floor: timedelta, now: datetime) -> timedelta:
    """Return how far back the next run reads what was complete already."""
    measured = [found.p999 for way in Way if (found := percentiles(session, name, way, now=now))]
    wanted = timedelta(seconds=max(measured, default=0) * FACTOR)
    return max(floor, min(wanted, MOST_OVERLAP))


def _to_step(seconds: int) -> int:
    place = bisect_left(STEPS, seconds)
    return STEPS[place] if place < len(STEPS) else BEYOND


def _to_row(name: str, way: Way, on: date, counted: tuple[int, int, int]) -> Row:
    step, events, worst = counted
    named = {"connection": name, "way": way.value, "on": on}
    return {**named, "step_seconds": step, "events": events, "worst_seconds": worst}


def _seconds(connection: sa.Connection, moment: sa.ColumnElement[datetime]) -> sa.ColumnElement[int]:
    if connection.dialect.name == "sqlite":
        return sa.cast(sa.func.strftime("%s", moment), sa.Integer)
    return sa.cast(sa.func.floor(sa.extract("epoch", moment)), sa.Integer)
