"""Eight schedulers with skewed clocks over a year of both countries: each planned tick is run once."""

import os
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from random import Random

import pytest
from sqlmodel import select

from consumer.facts.store import Store
from consumer.facts.tables.jobs import Tick
from consumer.jobs.schedule import Job, run_due

IS_FULL = os.environ.get("CUADRE_TEST_PROOF") == "1"
SCHEDULERS = 8
# 2026: Chile changes its clock on 4 April and 5 September, Mexico's stands still all year.
YEAR = [date(2026, 1, 1) + timedelta(days=number) for number in range(365)]
AROUND_THE_CHANGES = [day for day in YEAR if day.month in {4, 9} and 3 <= day.day <= 7]
ZONES = ("America/Santiago", "America/Mexico_City")


@dataclass(frozen=True, slots=True)
class Scheduler:
    """A process whose clock is wrong by up to four minutes either way."""

    name: str
    skew: timedelta

    def wake(self, jobs: Sequence[Job], store: Store, at: datetime) -> None:
        for job in jobs:
            run_due(job, store, worker=self.name, clock=lambda: at + self.skew)


@pytest.mark.parametrize("at", [time(3, 15), time(0, 30)], ids=["03:15", "in the hour that Chile skips or repeats"])
def test_each_tick_of_a_year_is_run_once(store: Store, at: time) -> None:
    """Woken together again and again around every planned moment, eight schedulers run each business date once."""
    ran: Counter[tuple[str, date]] = Counter()
    jobs = [Job(f"nightly:{zone}", at, zone, _count(ran, zone)) for zone in ZONES]
    luck = Random(20_260_101)  # noqa: S311 - skews that are the same every time
    schedulers = [Scheduler(f"w{number}", timedelta(seconds=luck.randint(-240, 240))) for number in range(SCHEDULERS)]
    days = YEAR if IS_FULL else AROUND_THE_CHANGES
    with ThreadPoolExecutor(SCHEDULERS) as pool:
        for day in days:
            for moment in _moments(jobs, day):
                list(pool.map(lambda one, now=moment: one.wake(jobs, store, now), schedulers))
    assert set(ran) == {(zone, day - timedelta(days=1)) for zone in ZONES for day in days}
    assert {key for key, times in ran.items() if times != 1} == set()
    with store.reading() as session:
        states = Counter(session.exec(select(Tick.state)))
    assert states["complete"] == len(ran)
    assert states["running"] == states["failed"] == 0


def _count(ran: Counter[tuple[str, date]], zone: str) -> Callable[[date], str]:
    def run(on: date) -> str:
        ran[zone, on] += 1
        return "complete"

    return run


def _moments(jobs: Sequence[Job], day: date) -> list[datetime]:
    """Every scheduler wakes at each planned moment by its own clock, and once more ten minutes later."""
    planned = sorted(job.planned_on(day).astimezone(UTC) for job in jobs)
    return sorted(moment + timedelta(minutes=more) for moment in planned for more in (0, 10))
