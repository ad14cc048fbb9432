"""The night's procedure: every step runs, and the outcome is the worst of them."""

from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

import pytest
from sqlmodel import select

from consumer.facts.installation import Installation
from consumer.facts.settings import Connection
from consumer.facts.work import Completion, WorkError
from reconcile.runs.nightly import Step, Steps, join, nightly
from reconcile.tables.runs import Run

if TYPE_CHECKING:
    from tests.reconcile.conftest import World

ON = date(2026, 9, 11)


@dataclass(slots=True)
class Answer:
    status: Completion = Completion.DONE
    lines: list[str] = field(default_factory=list)


def _steps(called: list[str], **answers: Completion) -> Steps:
    def step(name: str) -> Step:
        def take(connection: Connection) -> Answer:
            called.append(name)
            return Answer(answers.get(name, Completion.DONE), [f"{connection.name}: 3 streams complete"])

        return take

    def report(connection: Connection, on: date) -> Answer:
        called.append("report")
        return Answer(lines=[f"{connection.name}: reports of {on}"])

    def disk(_connection: Connection, _on: date) -> Answer:
        status = answers.get("disk", Completion.DONE)
        return Answer(status, [] if status is Completion.DONE else ["cuadre.db is damaged: restore it"])

    return Steps(disk=disk, backfill=step("backfill"), pull=step("pull"), drift=step("drift"), report=report)


def test_a_search_that_was_not_filled_is_a_line_of_a_complete_night(
    world: "World", installation: Installation, main: Connection
) -> None:
    """The books are reconciled and reported; what people find is an hour behind."""
    world.complete(datetime(2026, 9, 12, 6, tzinfo=UTC))
    steps = replace(_steps([]), search=lambda _: "main: search: not filled")
    outcome = nightly(installation, main, on=ON, steps=steps)
    assert (outcome.complete, outcome.lines[-1]) == (True, "main: search: not filled")


def test_a_good_night_runs_every_step_in_order(world: "World", installation: Installation, main: Connection) -> None:
    """Everything comes in, is reconciled as of the day and reported; the same night again finds the same run."""
    world.complete(datetime(2026, 9, 12, 6, tzinfo=UTC))
    called: list[str] = []
    outcome = nightly(installation, main, on=ON, steps=_steps(called))
    assert called == ["backfill", "pull", "drift", "report"]
    assert (outcome.status, outcome.complete) == (Completion.DONE, True)
    shown = ["main: backfill: 3 streams complete", "main: pull: 3 streams complete", "main: drift: 3 streams complete"]
    assert outcome.lines[:3] == shown
    assert outcome.lines[-1] == "main: reports of 2026-09-11"
    assert outcome.run is not None
    again = nightly(installation, main, on=ON, steps=_steps([])).run
    assert again is not None
    assert (again.run_id, again.is_new) == (outcome.run.run_id, False)


def test_a_failed_step_does_not_stop_the_night(world: "World", installation: Installation, main: Connection) -> None:
    """What is there is reconciled and reported all the same, and the night says it is incomplete."""
    world.complete(datetime(2026, 9, 12, 6, tzinfo=UTC))
    called: list[str] = []
    outcome = nightly(installation, main, on=ON, steps=_steps(called, pull=Completion.NOTHING_DONE))
    assert called == ["backfill", "pull", "drift", "report"]
    assert outcome.status is Completion.PARTLY_DONE
    assert outcome.lines[-1] == "main: the night of 2026-09-11 is incomplete: pull"


def test_the_night_of_a_day_that_still_runs_is_incomplete(
    world: "World", installation: Installation, main: Connection
) -> None:
    """Read at local midnight a day has only begun; the run after its banking cut claims no whole day."""
    world.complete(datetime(2026, 9, 11, 3, tzinfo=UTC))
    outcome = nightly(installation, main, on=ON, steps=_steps([]))
    assert outcome.status is Completion.PARTLY_DONE
    assert outcome.lines[-2:] == [
        "main: 2026-09-11 is not over at the provider: repeat its night once it is",
        "main: the night of 2026-09-11 is incomplete: day",
    ]
    assert nightly(installation, main, on=ON, steps=_steps([]), is_cut=True).complete


def test_nothing_is_made_of_a_damaged_database(world: "World", installation: Installation, main: Connection) -> None:
    """Where the check of the file fails the night ends: nothing is read, no run is published, no report is made."""
    world.complete(datetime(2026, 9, 12, 6, tzinfo=UTC))
    called: list[str] = []
    outcome = nightly(installation, main, on=ON, steps=_steps(called, disk=Completion.PARTLY_DONE))
    assert (called, outcome.run) == ([], None)
    with installation.store.reading() as session:
        assert session.exec(select(Run)).all() == []
    assert (outcome.status, outcome.complete) == (Completion.PARTLY_DONE, False)
    assert outcome.lines == [
        "main: disk: cuadre.db is damaged: restore it",
        "main: the night of 2026-09-11 was not run: its database is damaged",
    ]


def test_incomplete_data_makes_the_night_incomplete(installation: Installation, main: Connection) -> None:
    """Streams that were never read are gaps, so the run is incomplete and so is the night."""
    outcome = nightly(installation, main, on=ON, steps=_steps([]))
    assert outcome.status is Completion.PARTLY_DONE
    assert outcome.run is not None
    assert outcome.run.summary["exceptions"] == {"DATA_GAP": 6}
    assert any("INCOMPLETE" in line for line in outcome.lines)


def test_a_refusal_is_an_outcome_not_a_crash(installation: Installation, main: Connection) -> None:
    """A step that refuses, as a backfill without a provider does, is one line of the night."""

    def refuse(_: Connection) -> Answer:
        raise WorkError("the provider does not answer")

    steps = _steps([])
    outcome = nightly(installation, main, on=ON, steps=replace(steps, backfill=refuse))
    assert outcome.lines[0] == "main: backfill: the provider does not answer"
    assert outcome.statuses["backfill"] is Completion.NOTHING_DONE


@pytest.mark.parametrize(
    ("statuses", "joined"),
    [
        ([], Completion.DONE),
        ([Completion.DONE, Completion.DONE], Completion.DONE),
        ([Completion.DONE, Completion.PARTLY_DONE], Completion.PARTLY_DONE),
        ([Completion.DONE, Completion.NOTHING_DONE], Completion.PARTLY_DONE),
        ([Completion.NOTHING_DONE, Completion.NOTHING_DONE], Completion.NOTHING_DONE),
    ],
)
def test_statuses_join_into_the_worst(statuses: list[Completion], joined: Completion) -> None:
    """Nothing done only where nothing at all was done."""
    assert join(statuses) is joined


def test_the_orders_are_asked_for_before_the_run(world: "World", installation: Installation, main: Connection) -> None:
    """The step stands between the comparison and the run, and one that fails leaves the night incomplete."""
    world.complete(datetime(2026, 9, 12, 6, tzinfo=UTC))
    called: list[str] = []

    def ask(_connection: Connection, on: date) -> Answer:
        called.append("orders")
        return Answer(Completion.PARTLY_DONE, [f"main: orders: 0 answers, as of {on}: no answer"])

    outcome = nightly(installation, main, on=ON, steps=replace(_steps(called), orders=ask))
    assert called == ["backfill", "pull", "drift", "orders", "report"]
    assert "main: orders: 0 answers, as of 2026-09-11: no answer" in outcome.lines
    assert outcome.lines[-1] == "main: the night of 2026-09-11 is incomplete: orders"
