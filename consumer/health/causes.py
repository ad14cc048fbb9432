"""What raises alarms: each minute a worker looks at everything the doctor can judge without asking the provider."""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import sqlalchemy as sa
import structlog
from sqlmodel import Session

from consumer.alarms import outbox, states
from consumer.alarms.outbound import NotSentError
from consumer.alarms.pings import ALARMS, Pings
from consumer.alarms.sending import send
from consumer.alarms.states import Change, Kind
from consumer.alarms.targets import read_targets
from consumer.alarms.wording import content_of
from consumer.facts.alarms import CAUSES, Severity, Signal, Signals, raises_none
from consumer.facts.clock import format_instant, utc_now
from consumer.facts.installation import Installation
from consumer.facts.settings import Settings
from consumer.facts.tables.alarms import Alarm, SignatureCount
from consumer.facts.tables.jobs import Tick, TickState
from consumer.facts.tables.sync import Window, WindowState
from consumer.facts.tables.types import core_of
from consumer.health import disk
from consumer.health.backup_age import check_backups
from consumer.health.capacity import check_space
from consumer.health.disk import Check, Verdict
from consumer.health.doctor import check_channels, check_inbox
from consumer.inbox.watch import endpoint_trouble
from consumer.jobs.worker import keep_in_background
from consumer.webhooks.blueprint import RefusalLog

log = structlog.get_logger("cuadre.alarms")

LOOK_SECONDS = 60.0
# A restart of the database takes less.
_AWAY = timedelta(minutes=2)
# A night each day, and the time that one takes.
_A_NIGHT = timedelta(hours=26)
# Judged by more than their last tick.
_WATCHED_APART = ("endpoint:", "nightly:")
_WINDOW, _FEWEST_FORGED, _MOST_FORGED_PERCENT = timedelta(minutes=10), 5, 5
_TICK, _GAP, _COUNT = core_of(Tick), core_of(Window), core_of(SignatureCount)


class Watch:
    """One worker's look at everything; `signals` is what the rooms above raise."""

    def __init__(
        self, installation: Installation, *, signals: Signals = raises_none, now: Callable[[], datetime] = utc_now
    ) -> None:
        self._installation = installation
        self._signals = signals
        self._now = now
        self._targets = read_targets(installation.settings)
        self._away_since: datetime | None = None
        self._sent_directly: set[tuple[str, str]] = set()

    def look(self) -> None:
        """Write what changed with the messages about it, in one transaction, then send what is due.

        A database that takes no rows cannot keep a message: after two minutes each worker sends that one directly.
        """
        now, store = self._now(), self._installation.store
        # A damaged file may answer no question any more.
        local = list(_to_signals([*disk.check_disk(store), *check_space(self._installation)]))
        try:
            with store.reading() as session:
                found = [*local, *_to_signals([disk.check_database(store)]), *self._find(session, now)]
            with store.transaction() as session:
                changes = states.update(session, found, now=now, is_quiet=is_quiet(self._installation.settings, now))
                if changes:
                    outbox.put_in(session, self._targets, content_of("alarm", changes), now=now)
                self._come_back(session, now)
            outbox.deliver(self._installation, self._targets, now=now)
        except sa.exc.SQLAlchemyError as error:
            # A connection opened while the file was read-only stays so for ever.
            store.close()
            away = Signal("", "away", CAUSES["away"], found=type(error).__name__)
            self._say_directly([away, *local], now)
        else:
            self._away_since, self._sent_directly = None, set()

    def _find(self, session: Session, now: datetime) -> Iterator[Signal]:
        yield from _to_signals(check_channels(session))
        if self._installation.settings.backup_dir is not None:
            yield from _to_signals(check_backups(session, is_nightly=True, now=now))
        yield from _job_signals(session, now)
        yield from _signature_signals(session, now)
        for connection in self._installation.settings.all_connections:
            yield from _to_signals(check_inbox(session, connection, now=now))
            yield from _endpoint_signals(session, connection.name)
            yield from _gap_signals(session, connection.name, now)
            yield from self._signals(session, connection, now)

    def _say_directly(self, signals: Sequence[Signal], now: datetime) -> None:
        if self._away_since is None:
            self._away_since = now
            for signal in signals:
                log.warning("alarm", connection="", cause=signal.cause, found=signal.found)
        if now - self._away_since < _AWAY:
            return
        for signal in signals:
            alarm = _to_alarm(signal, self._away_since, now)
            content = content_of("alarm", [Change(Kind.RAISED, alarm)])
            for name, target in self._targets.items():
                if (name, signal.cause) in self._sent_directly:
                    continue
                message_id = f"cuadre-{signal.cause}-{int(self._away_since.timestamp())}"
                try:
                    send(target, content, self._installation.settings, message_id=message_id, now=now)
                except NotSentError as error:
                    log.warning("alarm not sent", channel=name, why=str(error))
                else:
                    self._sent_directly.add((name, signal.cause))

    def _come_back(self, session: Session, now: datetime) -> None:
        """Store that the database is back for the channels that were sent that it was away."""
        if self._away_since is None:
            return
        log.info("alarm over", connection="", cause="away")
        alarm = _to_alarm(Signal("", "away", CAUSES["away"]), self._away_since, now)
        alarm.ended_at = now
        channels = [name for name, cause in self._sent_directly if cause == "away"]
        outbox.put_in(session, channels, content_of("alarm", [Change(Kind.RESOLVED, alarm)]), now=now)


def _to_alarm(signal: Signal, since: datetime, now: datetime) -> Alarm:
    return Alarm(
        connection="", cause=signal.cause, severity=signal.severity, since=since, seen_at=now, count=1, amounts="{}",
        found=signal.found,
    )  # fmt: skip


def is_quiet(settings: Settings, now: datetime) -> bool:
    """Return True in the hours in which only high alarms are sent, local to the first connection."""
    if settings.quiet_hours is None:
        return False
    begins, ends = settings.quiet_hours
    local = now.astimezone(ZoneInfo(settings.connection("main").country.zone)).time()
    return begins <= local < ends if begins <= ends else local >= begins or local < ends


def _to_signals(checks: Iterable[Check]) -> Iterator[Signal]:
    """Yield what is not well of checks that are causes of alarms."""
    for check in checks:
        cause = check.check.replace(" ", "_")
        kind = cause.partition(":")[0]
        if check.verdict is not Verdict.OK and kind in CAUSES:
            severity = Severity.HIGH if check.verdict is Verdict.FAILURE else CAUSES[kind]
            mark = f"{check.count:09}" if kind in {"quarantine", "conflicts"} else ""
            yield Signal(check.connection, cause, severity, check.count, found=check.found, mark=mark)


def _endpoint_signals(session: Session, name: str) -> Iterator[Signal]:
    """Yield what the last hourly look at the provider found wrong: the clock, or the endpoint."""
    trouble = endpoint_trouble(session, name)
    if trouble is not None:
        cause = "clock" if trouble.startswith(f"{name}: clock:") else "webhook_endpoint"
        yield Signal(name, cause, CAUSES[cause], found=trouble)


def _gap_signals(session: Session, name: str, now: datetime) -> Iterator[Signal]:
    """Yield windows that failed, or that are open for longer than a night takes."""
    is_stuck = sa.or_(_GAP.c.state == WindowState.FAILED, _GAP.c.opened_at < now - _A_NIGHT)
    asked = sa.select(sa.func.count()).where(_GAP.c.connection == name, _GAP.c.state != WindowState.CLOSED, is_stuck)
    count = session.connection().execute(asked).scalar_one()
    if count:
        yield Signal(name, "gaps", CAUSES["gaps"], count, found=f"{count} windows are not closed")


def _job_signals(session: Session, now: datetime) -> Iterator[Signal]:
    """Yield jobs whose last tick failed, was missed or died, and nights that are incomplete or missing."""
    newest = sa.select(_TICK.c.job, sa.func.max(_TICK.c.planned_at).label("at")).group_by(_TICK.c.job).subquery()
    joined = sa.and_(_TICK.c.job == newest.c.job, _TICK.c.planned_at == newest.c.at)
    for row in session.connection().execute(sa.select(_TICK).join(newest, joined)):
        is_dead = row.state == TickState.RUNNING and row.lease_until < now
        has_failed = is_dead or row.state in {TickState.FAILED, TickState.MISSED}
        name = row.job.partition(":")[2]
        if row.job.startswith("nightly:") and " " not in row.job:
            severity = Severity.HIGH if has_failed or now - row.planned_at > _A_NIGHT else Severity.MEDIUM
            if severity is Severity.HIGH or row.state == TickState.INCOMPLETE:
                found = f"the night of {format_instant(row.planned_at)}: {row.state}"
                yield Signal(name, "night", severity, found=found)
        elif has_failed and not row.job.startswith(_WATCHED_APART):
            yield Signal(name, f"job:{row.job}", CAUSES["job"], found=f"{row.job}: {row.state}")


def _signature_signals(session: Session, now: datetime) -> Iterator[Signal]:
    """Yield an alarm where one in twenty webhooks of all receivers bore a signature that proves nothing."""
    sums = (sa.func.sum(_COUNT.c.forged), sa.func.sum(_COUNT.c.judged))
    recent = sa.select(*(sa.func.coalesce(one, 0) for one in sums)).where(_COUNT.c.at > now - _WINDOW)
    forged, judged = map(int, session.connection().execute(recent).one())
    if forged >= _FEWEST_FORGED and forged * 100 >= judged * _MOST_FORGED_PERCENT:
        yield Signal("", "signatures", CAUSES["signatures"], forged, found=f"{forged} of {judged} in ten minutes")


class RefusalWatch:
    """Keeps how many signatures this process judged, and how many proved nothing, where the workers add them up."""

    def __init__(
        self, installation: Installation, refusals: RefusalLog, *, now: Callable[[], datetime] = utc_now
    ) -> None:
        self._store = installation.store
        self._refusals = refusals
        self._now = now
        self._kept = (0, 0)

    def look(self) -> None:
        now, (forged, judged) = self._now(), (self._refusals.forged, self._refusals.judged)
        if (forged, judged) == self._kept:
            return
        row = {"at": now, "forged": forged - self._kept[0], "judged": judged - self._kept[1]}
        with self._store.connection() as connection:
            connection.execute(_COUNT.delete().where(_COUNT.c.at <= now - _WINDOW))
            connection.execute(_COUNT.insert().values(row))
        self._kept = (forged, judged)


def start_alarms(
    installation: Installation, *, until: threading.Event, signals: Signals = raises_none
) -> threading.Thread:
    """Look every minute from a background thread of a worker; of several workers each change is sent by one."""
    watch, pings = Watch(installation, signals=signals), Pings(installation.settings.ping_urls)

    def look() -> None:
        watch.look()
        pings.ended(ALARMS, utc_now(), TickState.COMPLETE)

    return keep_in_background(look, "alarms", every=LOOK_SECONDS, until=until, pause=LOOK_SECONDS)


def start_refusal_watch(installation: Installation, refusals: RefusalLog, *, until: threading.Event) -> None:
    """Look every minute, from a background thread of a receiver, at what it refused."""
    look = RefusalWatch(installation, refusals).look
    keep_in_background(look, "refusals", every=LOOK_SECONDS, until=until, pause=LOOK_SECONDS)
