"""Watching the inbox: the oldest unapplied event, quarantine, types that fell silent, endpoints in trouble."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import sqlalchemy as sa
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from sqlmodel import Session

from consumer.facts.bankdays import calendar_of
from consumer.facts.clock import local_instant, utc_now
from consumer.facts.installation import Connection, Installation
from consumer.facts.messages import say_stored
from consumer.facts.patience import NoAnswerError, Patience
from consumer.facts.tables.inbox import Event, EventConflict, EventState, Source
from consumer.facts.tables.jobs import Tick, TickState
from consumer.facts.tables.types import core_of

_EVENT = core_of(Event)
_CONFLICT = core_of(EventConflict)
_TICK = core_of(Tick)
# How the hourly look at the endpoint ends when something is wrong.
_TROUBLED = (TickState.INCOMPLETE, TickState.FAILED)
_WEEKS = 4
_SHORTEST_SILENCE = timedelta(minutes=15)
_TIMES, _AROUND = 3, timedelta(hours=1)
# So many in two hours show what is usual.
_MOST_READ = 2_000
_SATURDAY = 5


@dataclass(frozen=True, slots=True)
class Inbox:
    """One connection's inbox at a moment; `endpoint_trouble` is what the last hourly look at it found wrong."""

    connection: str
    oldest_waiting_at: datetime | None
    waiting: int
    failed: int
    quarantined: int
    conflicts: int
    silent_for: timedelta | None
    endpoint_trouble: str | None

    def lag(self, now: datetime) -> timedelta:
        return timedelta() if self.oldest_waiting_at is None else max(timedelta(), now - self.oldest_waiting_at)


def look(session: Session, connection: Connection, *, now: datetime) -> Inbox:
    """Measure one connection's inbox; only unsettled events are counted, so the size of the table does not matter."""
    name = connection.name
    unsettled = [EventState.WAITING.value, EventState.FAILED.value, EventState.QUARANTINED.value]
    counted = (
        sa.select(_EVENT.c.state, sa.func.count(), sa.func.min(_EVENT.c.received_at))
        .where(_EVENT.c.connection == name, _EVENT.c.state.in_(unsettled))
        .group_by(_EVENT.c.state)
    )
    found = {state: (count, oldest) for state, count, oldest in session.connection().execute(counted)}
    pending = [found[state][1] for state in unsettled[:2] if state in found]
    conflicts = sa.select(sa.func.count()).where(_CONFLICT.c.connection == name)
    return Inbox(
        connection=name,
        oldest_waiting_at=min(pending, default=None),
        waiting=found.get(unsettled[0], (0, None))[0],
        failed=found.get(unsettled[1], (0, None))[0],
        quarantined=found.get(unsettled[2], (0, None))[0],
        conflicts=session.connection().execute(conflicts).scalar_one(),
        silent_for=silence(session, connection, now=now),
        endpoint_trouble=endpoint_trouble(session, name),
    )


def endpoint_trouble(session: Session, connection: str) -> str | None:
    """Return what the last finished hourly look at the webhook endpoint found wrong, or None."""
    ended = _TICK.c.job == f"endpoint:{connection}", _TICK.c.finished_at.is_not(None)
    newest = sa.select(_TICK.c.state, _TICK.c.outcome).where(*ended).order_by(_TICK.c.planned_at.desc()).limit(1)
    row = session.connection().execute(newest).one_or_none()
    return say_stored(row.outcome or row.state) if row is not None and row.state in _TROUBLED else None


def silence(session: Session, connection: Connection, *, now: datetime) -> timedelta | None:
    """Return for how long no webhook came, if that is unusual for this hour of the week, else None.

    Unusual is three times the longest silence within an hour of this local time in each of the last four weeks, and a
    quarter of an hour at least. A holiday is compared with Sundays as well. Without four weeks of history there is no
    finding.
    """
    last = _nearest(session, connection.name, _EVENT.c.created_at <= now, _EVENT.c.created_at.desc())
    if last is None or now - last < _SHORTEST_SILENCE:
        return None
    for moment in _same_hour_before(now, connection):
        longest = _longest_silence(session, connection.name, moment)
        if longest is None or now - last <= _TIMES * longest:
            return None
    return now - last


def _same_hour_before(now: datetime, connection: Connection) -> Iterator[datetime]:
    """Yield this local time of the last four weeks, and of as many Sundays where today is a holiday."""
    zone = connection.country.zone
    local = now.astimezone(ZoneInfo(zone))
    is_holiday = local.weekday() < _SATURDAY and not calendar_of(connection.country_code).is_bank_day(local.date())
    sunday = local.date() - timedelta(days=local.weekday() + 1)
    for day in (local.date() - timedelta(weeks=1), sunday) if is_holiday else (local.date() - timedelta(weeks=1),):
        yield from (local_instant(day - timedelta(weeks=week), local.time(), zone) for week in range(_WEEKS))


def _longest_silence(session: Session, name: str, moment: datetime) -> timedelta | None:
    """Return the longest time without a webhook that touches the hours around a moment; None before the first one."""
    since, until = moment - _AROUND, moment + _AROUND
    before = _nearest(session, name, _EVENT.c.created_at <= since, _EVENT.c.created_at.desc())
    after = _nearest(session, name, _EVENT.c.created_at > until, _EVENT.c.created_at)
    if before is None or after is None:
        return None
    within = (_came_by_webhook(name), _EVENT.c.created_at > since, _EVENT.c.created_at <= until)
    newest = sa.select(_EVENT.c.created_at).where(*within).order_by(_EVENT.c.created_at.desc()).limit(_MOST_READ)
    times = [after, *session.connection().execute(newest).scalars()]
    if len(times) <= _MOST_READ:
        times.append(before)
    longest: timedelta = max(later - earlier for later, earlier in pairwise(times))
    return longest


def _nearest(
    session: Session, name: str, condition: sa.ColumnElement[bool], order: sa.ColumnElement[datetime]
) -> datetime | None:
    asked = sa.select(_EVENT.c.created_at).where(_came_by_webhook(name), condition).order_by(order).limit(1)
    found: datetime | None = session.connection().execute(asked).scalar_one_or_none()
    return found


def _came_by_webhook(name: str) -> sa.ColumnElement[bool]:
    return sa.and_(_EVENT.c.connection == name, _EVENT.c.source == Source.WEBHOOK.value)


class InboxGauges(Collector):
    """Gauges read from the database when they are asked for, so that any number of processes agrees."""

    def __init__(self, installation: Installation) -> None:
        self.installation = installation
        self._patience = Patience[list[Inbox]]()

    def describe(self) -> Iterator[Metric]:
        yield from ()

    def collect(self) -> Iterator[Metric]:
        now = utc_now()
        try:
            found = self._patience.ask(lambda: self._look(now))
        except NoAnswerError:
            found = []
        yield _gauge("lag_seconds", "Age of the oldest event that is not applied.", found, now)
        for name in ("waiting", "failed", "quarantined", "conflicts"):
            yield _gauge(name, f"Events of the inbox: {name}.", found, now)
        yield _gauge("silent_seconds", "How long no webhook came, where that is unusual; else 0.", found, now)
        text = "1 when the last hourly look found the webhook endpoint disabled, unsubscribed or out of reach; else 0."
        yield _gauge("endpoint_trouble", text, found, now)

    def _look(self, now: datetime) -> list[Inbox]:
        """Measure every connection; without its database the process still has counters to show."""
        try:
            with self.installation.store.reading() as session:
                return [look(session, one, now=now) for one in self.installation.settings.all_connections]
        except sa.exc.SQLAlchemyError:
            return []


def _gauge(name: str, text: str, found: list[Inbox], now: datetime) -> GaugeMetricFamily:
    gauge = GaugeMetricFamily(f"cuadre_inbox_{name}", text, labels=["connection"])
    for inbox in found:
        gauge.add_metric([inbox.connection], _value(inbox, name, now))
    return gauge


def _value(inbox: Inbox, name: str, now: datetime) -> float:
    if name == "lag_seconds":
        return inbox.lag(now).total_seconds()
    if name == "silent_seconds":
        return 0 if inbox.silent_for is None else inbox.silent_for.total_seconds()
    if name == "endpoint_trouble":
        return float(inbox.endpoint_trouble is not None)
    return float(getattr(inbox, name))
