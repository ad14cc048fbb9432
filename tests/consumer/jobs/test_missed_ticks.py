"""Ticks that were not run, workers that died, hourly looks, and both clock-change days."""

import time as time_module
from datetime import UTC, date, datetime, time, timedelta

import pytest
from sqlmodel import select

from consumer.facts.store import Store
from consumer.facts.tables.jobs import Tick, TickState
from consumer.jobs import schedule, ticks
from consumer.jobs.schedule import HourlyJob, Job, run_due

SANTIAGO = "America/Santiago"
FIFTH = datetime(2026, 10, 5, 6, 15, tzinfo=UTC)


def nightly(dates: list[date]) -> Job:
    def run(on: date) -> str:
        dates.append(on)
        return "complete"

    return Job("nightly:main", time(3, 15), SANTIAGO, run)


def log_of(store: Store) -> list[tuple[datetime, str, str | None]]:
    with store.reading() as session:
        found = session.exec(select(Tick)).all()
    return sorted((tick.planned_at, tick.state, tick.outcome) for tick in found)


def test_nights_nobody_ran_are_written_down(store: Store) -> None:
    """After three days without a worker the last night is caught up, and the two before it stand as missed."""
    dates: list[date] = []
    job = nightly(dates)
    assert run_due(job, store, worker="w", clock=lambda: FIFTH)
    assert run_due(job, store, worker="w", clock=lambda: FIFTH + timedelta(days=3, hours=7))
    assert dates == [date(2026, 10, 4), date(2026, 10, 7)]
    missed = "nothing ran at that time; cuadre nightly --date repeats a day"
    assert log_of(store) == [
        (FIFTH, "complete", "complete"),
        (FIFTH + timedelta(days=1), "missed", missed),
        (FIFTH + timedelta(days=2), "missed", missed),
        (FIFTH + timedelta(days=3), "complete", "complete"),
    ]


def test_a_tick_whose_worker_died_is_settled_by_the_next_night(store: Store) -> None:
    """A worker that was killed and never replaced leaves a failed tick, not one that runs for ever."""
    ticks.claim(store, "nightly:main", FIFTH, worker="dead", now=FIFTH)
    run_due(nightly([]), store, worker="w", clock=lambda: FIFTH + timedelta(days=1))
    assert log_of(store)[0] == (FIFTH, "failed", "note.worker_stopped")


def test_a_first_night_has_missed_nothing(store: Store) -> None:
    """An installation is not blamed for the time before it existed."""
    run_due(nightly([]), store, worker="w", clock=lambda: FIFTH)
    assert [state for _, state, _ in log_of(store)] == ["complete"]


def test_an_hourly_job_runs_each_hour_once_and_reports_no_hour_as_missed(store: Store) -> None:
    """Two wake-ups in one hour are one run; hours without a worker leave nothing behind."""
    done: list[date] = []

    def run(on: date) -> str:
        done.append(on)
        return ""

    job = HourlyJob("endpoint:main", time(0, 7), SANTIAGO, run)
    for minutes in (0, 20, 40, 65, 60 * 9):
        run_due(job, store, worker="w", clock=lambda minutes=minutes: FIFTH + timedelta(minutes=minutes))  # type: ignore[misc]
    assert [planned for planned, _, _ in log_of(store)] == [
        datetime(2026, 10, 5, 6, 7, tzinfo=UTC),
        datetime(2026, 10, 5, 7, 7, tzinfo=UTC),
        datetime(2026, 10, 5, 15, 7, tzinfo=UTC),
    ]
    assert len(done) == 3


@pytest.mark.parametrize(
    ("zone", "changes_on"),
    [(SANTIAGO, date(2026, 9, 6)), (SANTIAGO, date(2026, 4, 5)), ("America/New_York", date(2026, 3, 8))],
    ids=["midnight is skipped", "midnight comes twice", "two in the morning is skipped"],
)
@pytest.mark.parametrize("at", [time(0, 30), time(2, 30), time(3, 15), time(23, 30)])
@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
def test_a_job_at_any_hour_runs_once_a_day_over_a_clock_change(
    store: Store, zone: str, changes_on: date, at: time
) -> None:
    """Woken every ten minutes from two days before a change to three days after, each business date is done once."""
    dates: list[date] = []

    def run(on: date) -> str:
        dates.append(on)
        return ""

    job = Job("daily", at, zone, run)
    start = datetime.combine(changes_on - timedelta(days=2), time(), tzinfo=UTC)
    for step in range(0, 5 * 24 * 60, 10):
        run_due(job, store, worker="w", clock=lambda step=step: start + timedelta(minutes=step))  # type: ignore[misc]
    assert dates == sorted(set(dates))
    assert {changes_on - timedelta(days=days) for days in (2, 1, 0)} <= set(dates)


def test_a_scheduler_takes_over_from_a_dead_one_while_it_runs(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tick whose lease ended is found by the regular look around, without a restart."""
    monkeypatch.setattr(schedule, "AGAIN", timedelta(seconds=1))
    done: list[date] = []
    at = (datetime.now(UTC) - timedelta(hours=1)).replace(microsecond=0)

    def run(on: date) -> str:
        done.append(on)
        return ""

    job = Job("daily", at.time(), "UTC", run)
    long_ago = datetime.now(UTC) - ticks.LEASE + timedelta(seconds=1)
    ticks.claim(store, "daily", job.last_planned(datetime.now(UTC)), worker="dead", now=long_ago)
    scheduler = schedule.start([job], store, worker="w")
    try:
        for _ in range(9_000):
            if done:
                break
            time_module.sleep(0.02)
    finally:
        scheduler.shutdown()
    assert len(done) == 1


def test_old_hourly_ticks_go_and_the_newest_stays(store: Store) -> None:
    """The log of an hourly look is cut, other jobs keep theirs, and the job still counts as one that has run."""
    for hours in range(5):
        moment = FIFTH + timedelta(hours=hours)
        ticks.claim(store, "endpoint:main", moment, worker="w", now=moment)
        ticks.finish(store, "endpoint:main", moment, worker="w", now=moment, ending=(TickState.COMPLETE, ""))
    ticks.claim(store, "nightly:main", FIFTH, worker="w", now=FIFTH)
    ticks.forget(store, "endpoint:main", before=FIFTH + timedelta(days=30))
    with store.reading() as session:
        left = {(tick.job, tick.planned_at) for tick in session.exec(select(Tick))}
    assert left == {("endpoint:main", FIFTH + timedelta(hours=4)), ("nightly:main", FIFTH)}
