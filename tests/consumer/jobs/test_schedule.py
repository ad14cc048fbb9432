"""Scheduled jobs: one run per tick with many workers, takeover after a death, local times on both clock changes."""

import threading
import time as time_module
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, time, timedelta

import pytest
from sqlmodel import select
from structlog.testing import capture_logs

from consumer.facts.store import Store
from consumer.facts.tables.jobs import Tick, TickState
from consumer.jobs import schedule, ticks
from consumer.jobs.schedule import Job, JobIncompleteError, JobStoppedError, TroubleFoundError, run_due

pytestmark = pytest.mark.both_databases

PLANNED = datetime(2026, 10, 5, 6, 15, tzinfo=UTC)
NOW = datetime(2026, 10, 5, 6, 15, 1, tzinfo=UTC)


def nightly(dates: list[date]) -> Job:
    def run(business_date: date) -> str:
        dates.append(business_date)
        return "complete"

    return Job("nightly:main", time(3, 15), "America/Santiago", run)


def test_eight_schedulers_run_a_tick_once(store: Store) -> None:
    """Eight workers with clocks minutes apart wake for the same night and one of them works."""
    dates: list[date] = []
    job = nightly(dates)

    def wake(number: int) -> bool:
        return run_due(job, store, worker=f"w{number}", clock=lambda: NOW + timedelta(minutes=number))

    with ThreadPoolExecutor(8) as pool:
        ran = list(pool.map(wake, range(8)))

    assert sum(ran) == 1
    assert dates == [date(2026, 10, 4)]
    with store.reading() as session:
        tick = session.exec(select(Tick)).one()
    assert (tick.planned_at, tick.state, tick.outcome) == (PLANNED, "complete", "complete")


def test_a_dead_workers_tick_is_taken_over_after_its_lease(store: Store) -> None:
    """Before the lease ends no other may take the tick; after it exactly the taker may finish it."""
    assert ticks.claim(store, "nightly:main", PLANNED, worker="dead", now=NOW)
    assert not ticks.claim(store, "nightly:main", PLANNED, worker="next", now=NOW + timedelta(minutes=1))
    assert ticks.claim(store, "nightly:main", PLANNED, worker="next", now=NOW + timedelta(minutes=16))

    now, ending = NOW + timedelta(minutes=17), (TickState.COMPLETE, "late")
    assert not ticks.finish(store, "nightly:main", PLANNED, worker="dead", now=now, ending=ending)
    assert ticks.finish(store, "nightly:main", PLANNED, worker="next", now=now, ending=ending)


def test_a_failed_job_is_written_down(store: Store) -> None:
    """A job that raises leaves a failed tick with its reason and does not run again that night."""

    def run(_on: date) -> str:
        raise RuntimeError("the provider is away")

    job = Job("nightly:main", time(3, 15), "America/Santiago", run)

    run_due(job, store, worker="w", clock=lambda: NOW)

    with store.reading() as session:
        tick = session.exec(select(Tick)).one()
    assert (tick.state, tick.outcome) == ("failed", "RuntimeError: the provider is away")


def test_an_incomplete_job_is_not_called_done(store: Store) -> None:
    """A job that did only a part leaves a tick that says what is left."""

    def run(_on: date) -> str:
        raise JobIncompleteError("main: the window of events stayed open")

    run_due(Job("nightly:main", time(3, 15), "America/Santiago", run), store, worker="w", clock=lambda: NOW)

    with store.reading() as session:
        tick = session.exec(select(Tick)).one()
    assert (tick.state, tick.outcome) == ("incomplete", "main: the window of events stayed open")


def test_what_a_look_noticed_is_left_to_the_alarms(store: Store) -> None:
    """A look that found something wrong is written down as incomplete and not logged again at every hour."""

    def run(_on: date) -> str:
        raise TroubleFoundError("main: webhook endpoint: disabled by the provider")

    with capture_logs() as logged:
        run_due(Job("endpoint:main", time(3, 15), "America/Santiago", run), store, worker="w", clock=lambda: NOW)

    with store.reading() as session:
        tick = session.exec(select(Tick)).one()
    assert (tick.state, tick.outcome) == ("incomplete", "main: webhook endpoint: disabled by the provider")
    assert logged == []


def test_work_that_was_stopped_may_be_taken_at_once(store: Store) -> None:
    """A tick given back by a worker that stops is no failure: the next one runs it, and only once."""

    def stop(_on: date) -> str:
        raise JobStoppedError

    dates: list[date] = []
    assert not run_due(Job("nightly:main", time(3, 15), "America/Santiago", stop), store, worker="a", clock=lambda: NOW)
    assert [run_due(nightly(dates), store, worker="b", clock=lambda: NOW) for _ in range(2)] == [True, False]
    with store.reading() as session:
        ended = [(tick.state, tick.worker) for tick in session.exec(select(Tick))]
    assert (len(dates), ended) == (1, [("complete", "b")])


def test_a_night_missed_by_too_much_is_left(store: Store) -> None:
    """A tick more than twenty hours old is not run as if it were last night's."""
    dates: list[date] = []

    assert not run_due(nightly(dates), store, worker="w", clock=lambda: PLANNED + timedelta(hours=21))
    assert dates == []


@pytest.mark.parametrize(
    ("now", "last", "following"),
    [
        (datetime(2026, 9, 6, 12, tzinfo=UTC), "2026-09-06T06:15:00", "2026-09-07T06:15:00"),
        (datetime(2026, 4, 5, 12, tzinfo=UTC), "2026-04-05T07:15:00", "2026-04-06T07:15:00"),
    ],
    ids=["the night the clock goes forward", "the night the clock goes back"],
)
def test_the_local_time_holds_on_clock_changes(now: datetime, last: str, following: str) -> None:
    """03:15 in Santiago happens once each night, whatever the clock does at midnight."""
    job = nightly([])

    assert job.last_planned(now) == datetime.fromisoformat(last).replace(tzinfo=UTC)
    assert job.next_planned(now) == datetime.fromisoformat(following).replace(tzinfo=UTC)


def test_the_scheduler_runs_a_missed_tick_at_the_start(store: Store) -> None:
    """A process that starts after the planned time runs the night that was missed, once."""
    ticks.claim(store, "nightly:main", PLANNED, worker="before", now=NOW)
    done: list[date] = []
    recent = (datetime.now(UTC) - timedelta(hours=1)).time().replace(microsecond=0)

    def run(on: date) -> str:
        done.append(on)
        return "complete"

    job = Job("nightly:main", recent, "UTC", run)

    scheduler = schedule.start([job], store, worker="w")
    try:
        for _ in range(9_000):
            if done:
                break
            time_module.sleep(0.02)
    finally:
        scheduler.shutdown()

    assert len(done) == 1


def test_a_new_installation_has_missed_nothing(store: Store) -> None:
    """The first start of all runs no night that was before it."""
    done: list[date] = []
    recent = (datetime.now(UTC) - timedelta(hours=1)).time().replace(microsecond=0)

    def run(on: date) -> str:
        done.append(on)
        return "complete"

    scheduler = schedule.start([Job("nightly:main", recent, "UTC", run)], store, worker="w")
    time_module.sleep(0.1)
    scheduler.shutdown()

    assert done == []


def test_a_cut_waits_for_no_night(store: Store) -> None:
    """With one heavy job of a kind at a time a cut and a night are at work together."""
    recent = (datetime.now(UTC) - timedelta(hours=1)).time().replace(microsecond=0)
    together, met, all_met = threading.Barrier(2), list[date](), threading.Event()

    def run(on: date) -> str:
        together.wait(20)
        met.append(on)
        if len(met) == 2:
            all_met.set()
        return "complete"

    names = ("nightly:main", "banking-cut:main")
    for name in names:
        ticks.claim(store, name, PLANNED, worker="before", now=NOW)
    jobs = [Job(name, recent, "UTC", run, is_heavy=True) for name in names]
    scheduler = schedule.start(jobs, store, worker="w", nights_at_once=1)
    try:
        assert all_met.wait(60)
    finally:
        scheduler.shutdown()


def test_heavy_jobs_wait_for_a_slot_and_others_do_not(store: Store) -> None:
    """With one night at a time the second begins when the first has ended; a light job runs meanwhile."""
    recent = (datetime.now(UTC) - timedelta(hours=1)).time().replace(microsecond=0)
    has_looked, all_done, done = threading.Event(), threading.Event(), list[str]()

    def build(name: str, *, is_heavy: bool) -> Job:
        def run(_on: date) -> str:
            done.append(f"{name} begins")
            if is_heavy:
                assert has_looked.wait(60)
                done.append(f"{name} ends")
            else:
                has_looked.set()
            if len(done) == 5:
                all_done.set()
            return "complete"

        ticks.claim(store, name, PLANNED, worker="before", now=NOW)
        return Job(name, recent, "UTC", run, is_heavy=is_heavy)

    jobs = [build("night:first", is_heavy=True), build("night:second", is_heavy=True), build("light", is_heavy=False)]
    scheduler = schedule.start(jobs, store, worker="w", nights_at_once=1)
    try:
        assert all_done.wait(60)
    finally:
        scheduler.shutdown()

    nights = [line for line in done if not line.startswith("light")]
    assert nights[0].split()[0] == nights[1].split()[0]
    assert nights[2].split()[0] == nights[3].split()[0]
    assert sorted(nights) == [
        "night:first begins", "night:first ends", "night:second begins", "night:second ends",
    ]  # fmt: skip
