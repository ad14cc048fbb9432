"""The scheduler: APScheduler wakes for each job, and a tick row decides which process runs it.

Every process may run a scheduler. A wake-up is only a hint: the planned moment is derived from the job's own time of
day, so two processes, a restart or a clock that changes at night lead to the same tick.
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from itertools import islice
from threading import BoundedSemaphore
from typing import Protocol

import structlog
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.cron import CronTrigger
from apscheduler.triggers.interval import IntervalTrigger

from consumer.facts.clock import local_date, local_instant, utc_now
from consumer.facts.messages import Message
from consumer.facts.store import Store
from consumer.facts.tables.jobs import TickState
from consumer.jobs import ticks

# A missed night is repeated until the next one is due.
GRACE = timedelta(hours=20)
# How soon another worker finds a tick whose worker died, or one for which no process woke.
AGAIN = timedelta(minutes=5)
_DAY = timedelta(days=1)
_HOUR = timedelta(hours=1)
# As many jobs as run at a time, without those that wait for others of their kind.
_THREADS = 10
# No job pauses longer.
_FARTHEST = timedelta(days=400)

log = structlog.get_logger("cuadre.jobs")


class JobIncompleteError(Exception):
    """Some of the work was done; the message says what is left, and the next night repeats it."""


class TroubleFoundError(JobIncompleteError):
    """An hourly check found something wrong; the tick says what, and the alarms say it once."""


class JobFailedError(Exception):
    """Work failed in a child process, which has logged why; `stored` is for the tick, a sentence in any language."""

    def __init__(self, failure: Message | str) -> None:
        super().__init__(str(failure))
        self.stored = failure.to_text() if isinstance(failure, Message) else failure


class JobStoppedError(Exception):
    """Work was interrupted because its worker stops; another worker or the next start begins it again."""


def every_day(_on: date) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Job:
    """Work done at a local time on the days it is due.

    `run` gets a business date, which lies `days_back` before the planned day, and says how it went. A tick that was
    missed is caught up within the grace and written down as missed after it.
    """

    name: str
    at: time
    zone: str
    run: Callable[[date], str]
    is_due_on: Callable[[date], bool] = every_day
    days_back: int = 1
    grace: timedelta = GRACE
    # One that takes the memory of a run: so many of its kind at a time as the engine says.
    is_heavy: bool = False

    @property
    def kind(self) -> str:
        return self.name.partition(":")[0]

    def planned_on(self, on: date) -> datetime:
        return local_instant(on, self.at, self.zone)

    def business_date(self, planned_at: datetime) -> date:
        return local_date(planned_at, self.zone) - self.days_back * _DAY

    def planned_before(self, now: datetime) -> Iterator[datetime]:
        """Yield every planned moment up to now, newest first."""
        on = local_date(now, self.zone)
        for days in range(_FARTHEST.days):
            day = on - days * _DAY
            if self.is_due_on(day) and (planned_at := self.planned_on(day)) <= now:
                yield planned_at

    def last_planned(self, now: datetime) -> datetime:
        return next(self.planned_before(now))

    def next_planned(self, now: datetime) -> datetime:
        on = local_date(now, self.zone)
        days = (on + days * _DAY for days in range(_FARTHEST.days))
        return next(at for at in (self.planned_on(day) for day in days if self.is_due_on(day)) if at > now)

    def missed_before(self, now: datetime) -> Iterator[datetime]:
        """Yield the planned moments before the last one, each of which needs a tick."""
        return islice(self.planned_before(now), 1, None)

    def trigger(self) -> CronTrigger:
        return CronTrigger(hour=self.at.hour, minute=self.at.minute, second=self.at.second, timezone=self.zone)


@dataclass(frozen=True, slots=True)
class HourlyJob(Job):
    """A job of every hour at the minute of `at`; an hour without it is no loss, since the next one looks again."""

    days_back: int = 0
    grace: timedelta = _HOUR

    def planned_before(self, now: datetime) -> Iterator[datetime]:
        newest = now.replace(minute=self.at.minute, second=self.at.second, microsecond=0)
        newest -= _HOUR if newest > now else timedelta()
        return (newest - hours * _HOUR for hours in range(24 * _FARTHEST.days))

    def next_planned(self, now: datetime) -> datetime:
        return self.last_planned(now) + _HOUR

    def missed_before(self, _now: datetime) -> Iterator[datetime]:
        return iter(())

    def trigger(self) -> CronTrigger:
        return CronTrigger(minute=self.at.minute, second=self.at.second, timezone="UTC")


class Pings(Protocol):
    """Who is called when a job starts, and when its result is stored."""

    def started(self, job: str, at: datetime) -> None: ...
    def ended(self, job: str, at: datetime, state: TickState) -> None: ...


class NoPings:
    """Calls no one."""

    def started(self, _job: str, _at: datetime) -> None:
        return

    def ended(self, _job: str, _at: datetime, _state: TickState) -> None:
        return


def run_due(
    job: Job, store: Store, *, worker: str, clock: Callable[[], datetime] = utc_now, pings: Pings | None = None
) -> bool:
    """Run a job's latest tick if it is ours to run.

    1. The planned moment is the job's last local time of day; one older than the grace is left as missed.
    2. Claim it; return if another worker has it or it is done.
    3. Write down the ticks before it that were missed or that died with their worker.
    4. Run it for its business date, renewing the claim meanwhile.
    5. Write down the outcome. A failure is written down and logged, and the next night repeats the work; work that
       was stopped is given back, for another worker or the next start to begin again.
    """
    now = clock()
    pings = pings or NoPings()
    planned_at = job.last_planned(now)
    if now - planned_at > job.grace or not ticks.claim(store, job.name, planned_at, worker=worker, now=now):
        return False
    missed = ticks.settle(store, job.name, before=planned_at, planned=job.missed_before(now), now=now)
    if missed:
        log.warning("ticks missed", job=job.name, count=missed)
    on = job.business_date(planned_at)
    ending: tuple[TickState, str] | None
    with ticks.renew_lease(store, job.name, planned_at, worker=worker, clock=clock):
        pings.started(job.name, planned_at)
        try:
            ending = (TickState.COMPLETE, job.run(on))
        except JobIncompleteError as incomplete:
            if not isinstance(incomplete, TroubleFoundError):
                log.warning("job incomplete", job=job.name, business_date=str(on), left=str(incomplete))
            ending = (TickState.INCOMPLETE, str(incomplete))
        except JobFailedError as failed:
            ending = (TickState.FAILED, failed.stored)
        except JobStoppedError:
            ending = None
        except Exception as error:  # the job wrapper: the tick must say what failed
            log.exception("job failed", job=job.name, business_date=str(on))
            ending = ticks.failure(error)
    if ending is None:
        ticks.release(store, job.name, planned_at, worker=worker, now=clock())
        return False
    is_stored = ticks.finish(store, job.name, planned_at, worker=worker, now=clock(), ending=ending)
    if is_stored:
        pings.ended(job.name, planned_at, ending[0])
    return is_stored


class _Alarm:
    """Wakes one job in this process, and never runs it twice at a time, even when its lease was lost."""

    def __init__(
        self, job: Job, store: Store, *, worker: str, pings: Pings | None, slots: AbstractContextManager[object]
    ) -> None:
        self._slots = slots
        self._job = job
        self._pings = pings
        self._store = store
        self._worker = worker
        self._at_work = threading.Lock()

    def on_time(self) -> None:
        if self._at_work.acquire(blocking=False):
            try:
                # The tick is free meanwhile: a worker of another machine that has room may take it.
                with self._slots:
                    run_due(self._job, self._store, worker=self._worker, pings=self._pings)
            finally:
                self._at_work.release()

    def catch_up(self) -> None:
        """Look for a tick that was missed or whose worker died.

        An installation that has never run the job has missed no tick: its first time is the next one.
        """
        if ticks.has_run(self._store, self._job.name):
            self.on_time()


def start(
    jobs: Sequence[Job], store: Store, *, worker: str, pings: Pings | None = None, nights_at_once: int | None = None
) -> BackgroundScheduler:
    """Start waking each job at its time, now and every few minutes for what was missed.

    Heavy jobs of a kind run so many at a time as `nights_at_once` says, so that a cut never waits for a night; each
    that waits has a thread, so that it holds up no other job. Without a number they run as they fall due.
    """
    defaults = {"coalesce": True, "max_instances": 1, "misfire_grace_time": None}
    waiting = 0 if nights_at_once is None else sum(job.is_heavy for job in jobs)
    scheduler = BackgroundScheduler(
        timezone="UTC", job_defaults=defaults, executors={"default": ThreadPoolExecutor(_THREADS + waiting)}
    )
    slots = defaultdict[str, BoundedSemaphore](lambda: BoundedSemaphore(nights_at_once or 1))
    for job in jobs:
        own = slots[job.kind] if job.is_heavy and nights_at_once else nullcontext()
        alarm = _Alarm(job, store, worker=worker, pings=pings, slots=own)
        scheduler.add_job(alarm.on_time, job.trigger(), id=job.name)
        again = IntervalTrigger(seconds=int(AGAIN.total_seconds()))
        scheduler.add_job(alarm.catch_up, again, id=f"{job.name} again", next_run_time=utc_now())
    scheduler.start()
    return scheduler
