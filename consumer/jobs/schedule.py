"""The scheduler: APScheduler wakes at each job's local time, a once-only tick row decides who runs it.

Every process may run a scheduler. A wake-up is only a hint: the planned moment is derived from the job's own time of
day, so two processes, a restart or a clock that changes at night lead to the same tick.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

import structlog
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.cron import CronTrigger

from consumer.facts.clock import local_date, local_instant, utc_now
from consumer.facts.store import Store
from consumer.jobs import ticks
from consumer.jobs.ticks import TickState

# A missed night is repeated until the next one is due.
GRACE = timedelta(hours=20)

log = structlog.get_logger("cuadre.jobs")


class JobIncomplete(Exception):  # noqa: N818 - says how a job ended
    """Some of the work was done and not all; the message says what is left, and the next night repeats it."""


@dataclass(frozen=True, slots=True)
class Job:
    """Something done once a day at a local time; `run` gets the business date before it and says how it went."""

    name: str
    at: time
    zone: str
    run: Callable[[date], str]

    def planned_on(self, on: date) -> datetime:
        return local_instant(on, self.at, self.zone)

    def last_planned(self, now: datetime) -> datetime:
        today = self.planned_on(local_date(now, self.zone))
        return today if today <= now else self.planned_on(local_date(now, self.zone) - timedelta(days=1))

    def next_planned(self, now: datetime) -> datetime:
        today = self.planned_on(local_date(now, self.zone))
        return today if today > now else self.planned_on(local_date(now, self.zone) + timedelta(days=1))


def run_due(job: Job, store: Store, *, worker: str, clock: Callable[[], datetime] = utc_now) -> bool:
    """Run a job's latest tick if it is ours to run.

    1. The planned moment is the job's last local time of day; one older than the grace is left as missed.
    2. Claim it; if another worker has it or it is done, nothing happens.
    3. Run it for the business date before, renewing the claim meanwhile.
    4. Write down the outcome. A failure is written down and logged, and the next night repeats the work.
    """
    now = clock()
    planned_at = job.last_planned(now)
    if now - planned_at > GRACE or not ticks.claim(store, job.name, planned_at, worker=worker, now=now):
        return False
    business_date = local_date(planned_at, job.zone) - timedelta(days=1)
    with ticks.kept(store, job.name, planned_at, worker=worker, clock=clock):
        try:
            ending = (TickState.DONE, job.run(business_date))
        except JobIncomplete as incomplete:
            log.warning("job incomplete", job=job.name, business_date=str(business_date), left=str(incomplete))
            ending = (TickState.INCOMPLETE, str(incomplete))
        except Exception as error:  # the job wrapper: whatever failed, the tick must say so
            log.exception("job failed", job=job.name, business_date=str(business_date))
            ending = (TickState.FAILED, f"{type(error).__name__}: {error}")
    return ticks.finish(store, job.name, planned_at, worker=worker, now=clock(), ending=ending)


def start(jobs: Sequence[Job], store: Store, *, worker: str) -> BackgroundScheduler:
    """Wake each job at its local time, and once at the start for a tick that was missed while nothing ran.

    An installation that has never run the job has missed nothing: its first night is the next one.
    """
    scheduler = BackgroundScheduler(timezone="UTC", job_defaults={"coalesce": True, "max_instances": 1})
    for job in jobs:
        call = {"func": run_due, "args": (job, store), "kwargs": {"worker": worker}}
        trigger = CronTrigger(hour=job.at.hour, minute=job.at.minute, second=job.at.second, timezone=job.zone)
        scheduler.add_job(trigger=trigger, id=job.name, misfire_grace_time=int(GRACE.total_seconds()), **call)
        if ticks.has_run(store, job.name):
            scheduler.add_job(id=f"{job.name} at the start", misfire_grace_time=None, **call)
    scheduler.start()
    return scheduler
