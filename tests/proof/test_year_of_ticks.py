"""Eight schedulers with skewed clocks over a year of both countries, on the product's own table of jobs."""

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from random import Random
from typing import NoReturn

import pytest
from sqlmodel import select

from consumer.facts.installation import Installation
from consumer.facts.settings import Settings
from consumer.facts.store import Store
from consumer.facts.tables.jobs import Tick
from consumer.job_table import job_table
from consumer.jobs.schedule import HourlyJob, Job, run_due
from tests.merchant import settings_of
from tests.thoroughness import for_run

SCHEDULERS = 8
# 2026: Chile changes its clock on 4 April and 5 September, Mexico's stands still all year.
YEAR = [date(2026, 1, 1) + timedelta(days=number) for number in range(365)]
# The Chilean clock goes back at 03:00 UTC of the one day and forward at 04:00 of the other.
CHANGES = [date(2026, 4, 5), date(2026, 9, 6)]
AROUND_THE_CHANGES = [day for day in YEAR if day.month in {4, 9} and 3 <= day.day <= 7]
CHILEAN_HOLIDAYS = {
    date(2026, month, day)
    for month, day in [
        (1, 1),
        (4, 3),
        (5, 1),
        (5, 21),
        (6, 29),
        (7, 16),
        (9, 18),
        (10, 12),
        (12, 8),
        (12, 25),
        (12, 31),
    ]
}
SATURDAY, MONDAY = 5, 0


@dataclass(frozen=True, slots=True)
class Scheduler:
    """A process whose clock is wrong by up to four minutes either way."""

    name: str
    skew: timedelta

    def wake(self, jobs: Sequence[Job], store: Store, at: datetime) -> None:
        for job in jobs:
            run_due(job, store, worker=self.name, clock=lambda: at + self.skew)


@pytest.fixture
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """A merchant in Chile, with fiscal links, and in Mexico, whose nights begin when the test says."""
    mexico = {"mx": {"api_key": "sk_test_mexico", "country": "mx"}}
    return settings_of(
        "http://127.0.0.1:9",
        tmp_path,
        link_tokens="link_a_token_b",
        nightly_at=request.param,
        overrides={"connections": mexico},
    )


class Log:
    """Counts how often each job ran for each business date."""

    def __init__(self) -> None:
        self.ran: Counter[tuple[str, date]] = Counter()
        self._counting = threading.Lock()

    def watch(self, job: Job) -> Job:
        """Keep all of a job but its work."""

        def run(on: date) -> str:
            with self._counting:
                self.ran[job.name, on] += 1
            return "complete"

        return replace(job, run=run)


@pytest.mark.both_databases
@pytest.mark.parametrize(
    "settings",
    ["03:15", "00:30"],
    ids=["03:15", "in the hour that Chile skips or repeats"],
    indirect=True,
)
def test_each_tick_of_a_year_is_run_once(installation: Installation) -> None:
    """Woken together again and again around every planned moment, eight schedulers run each tick of each job once."""
    log = Log()
    jobs = [log.watch(job) for job in job_table(installation, night=_not_run, cut=_not_run, backup=_not_run)]
    luck = Random(20_260_101)  # noqa: S311 - skews that are the same every time
    schedulers = [Scheduler(f"w{number}", timedelta(seconds=luck.randint(-240, 240))) for number in range(SCHEDULERS)]
    days = for_run(short=AROUND_THE_CHANGES, full=YEAR)
    with ThreadPoolExecutor(SCHEDULERS) as pool:
        for moment, woken in sorted(_moments(jobs, days).items()):
            list(pool.map(lambda one, at=moment, woken=woken: one.wake(woken, installation.store, at), schedulers))
    by_day = {key: times for key, times in log.ran.items() if not key[0].startswith("endpoint:")}
    assert by_day == dict.fromkeys(_due(days), 1)
    hourly = {key: times for key, times in log.ran.items() if key[0].startswith("endpoint:")}
    assert hourly == HOURS
    with installation.store.reading() as session:
        states = Counter(session.exec(select(Tick.state)))
    assert states["complete"] == log.ran.total()
    assert states["running"] == states["failed"] == 0


# Looks from 00:07 to 07:07 UTC around each change, and one before the first since some clocks are behind.
HOURS = {
    ("endpoint:main", date(2026, 4, 4)): 5,
    ("endpoint:main", date(2026, 4, 5)): 4,
    ("endpoint:main", date(2026, 9, 5)): 5,
    ("endpoint:main", date(2026, 9, 6)): 4,
    ("endpoint:mx", date(2026, 4, 4)): 7,
    ("endpoint:mx", date(2026, 4, 5)): 2,
    ("endpoint:mx", date(2026, 9, 5)): 7,
    ("endpoint:mx", date(2026, 9, 6)): 2,
}


def _due(days: Sequence[date]) -> Iterator[tuple[str, date]]:
    """Every run of a day that there must be, by the business date it is for."""
    for day in days:
        before = day - timedelta(days=1)
        yield from (("nightly:main", before), ("nightly:mx", before), ("retention", before))
        if day.weekday() < SATURDAY and day not in CHILEAN_HOLIDAYS:
            yield "banking-cut:main", day
        if day.day <= 28 or day.weekday() == MONDAY:
            yield "fiscal:main", day


def _moments(jobs: Sequence[Job], days: Sequence[date]) -> dict[datetime, list[Job]]:
    """Every scheduler wakes for a job at its planned moment by its own clock, and once more ten minutes later."""
    woken: dict[datetime, list[Job]] = {}
    for job in jobs:
        if isinstance(job, HourlyJob):
            planned = [
                datetime(day.year, day.month, day.day, hour, 7, tzinfo=UTC) for day in CHANGES for hour in range(8)
            ]
        else:
            planned = [job.planned_on(day) for day in days if job.is_due_on(day)]
        for moment in planned:
            for more in (0, 10):
                woken.setdefault(moment + timedelta(minutes=more), []).append(job)
    return woken


def _not_run(*_given: object) -> NoReturn:
    raise AssertionError("the recording stands in its place")
