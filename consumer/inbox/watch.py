"""Watching the inbox: the oldest unapplied event, quarantine, types that fell silent, endpoints in trouble."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from sqlmodel import Session

from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from consumer.facts.messages import say_stored
from consumer.facts.patience import NoAnswerError, Patience
from consumer.facts.tables.columns import core_of
from consumer.facts.tables.inbox import Event, EventConflict, EventState, Source
from consumer.facts.tables.jobs import Tick, TickState

_EVENT = core_of(Event)
_CONFLICT = core_of(EventConflict)
_TICK = core_of(Tick)
# How the hourly look at the endpoint ends when something is wrong.
_TROUBLED = (TickState.INCOMPLETE, TickState.FAILED)
_WEEKS = 4
_SHORTEST_SILENCE = timedelta(hours=1)


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


def look(session: Session, connection: str, *, now: datetime) -> Inbox:
    """Measure one connection's inbox; only unsettled events are counted, so the size of the table does not matter."""
    unsettled = [EventState.WAITING.value, EventState.FAILED.value, EventState.QUARANTINED.value]
    counted = (
        sa.select(_EVENT.c.state, sa.func.count(), sa.func.min(_EVENT.c.received_at))
        .where(_EVENT.c.connection == connection, _EVENT.c.state.in_(unsettled))
        .group_by(_EVENT.c.state)
    )
    found = {state: (count, oldest) for state, count, oldest in session.connection().execute(counted)}
    pending = [found[state][1] for state in unsettled[:2] if state in found]
    conflicts = sa.select(sa.func.count()).where(_CONFLICT.c.connection == connection)
    return Inbox(
        connection=connection,
        oldest_waiting_at=min(pending, default=None),
        waiting=found.get(unsettled[0], (0, None))[0],
        failed=found.get(unsettled[1], (0, None))[0],
        quarantined=found.get(unsettled[2], (0, None))[0],
        conflicts=session.connection().execute(conflicts).scalar_one(),
        silent_for=silence(session, connection, now=now),
        endpoint_trouble=endpoint_trouble(session, connection),
    )


def endpoint_trouble(session: Session, connection: str) -> str | None:
    """Return what the last finished hourly look at the webhook endpoint found wrong, or None."""
    ended = _TICK.c.job == f"endpoint:{connection}", _TICK.c.finished_at.is_not(None)
    newest = sa.select(_TICK.c.state, _TICK.c.outcome).where(*ended).order_by(_TICK.c.planned_at.desc()).limit(1)
    row = session.connection().execute(newest).one_or_none()
    return say_stored(row.outcome or row.state) if row is not None and row.state in _TROUBLED else None


def silence(session: Session, connection: str, *, now: datetime) -> timedelta | None:
    """Return for how long no webhook came, if that is unusual for this hour of the week, else None.

    Unusual is more than an hour and more than twice the longest silence at this moment of the last four weeks.
    Return no finding without four weeks of history, which say what is usual.
    """
    current = _silent_at(session, connection, now)
    usual = [_silent_at(session, connection, now - timedelta(weeks=week)) for week in range(1, _WEEKS + 1)]
    known = [one for one in usual if one is not None]
    if current is None or len(known) < _WEEKS or current <= _SHORTEST_SILENCE:
        return None
    return current if current > 2 * max(known) else None


def _silent_at(session: Session, connection: str, moment: datetime) -> timedelta | None:
    newest = (
        sa.select(_EVENT.c.created_at)
        .where(
            _EVENT.c.connection == connection,
            _EVENT.c.created_at <= moment,
            _EVENT.c.source == Source.WEBHOOK.value,
        )
        .order_by(_EVENT.c.created_at.desc())
        .limit(1)
    )
    last = session.connection().execute(newest).scalar_one_or_none()
    return None if last is None else moment - last


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
                return [look(session, one.name, now=now) for one in self.installation.settings.all_connections]
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
