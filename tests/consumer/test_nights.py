"""Nights that a person asks for: as many at a time as is set, each among the jobs, and none stopped by another."""

import threading
from datetime import date
from pathlib import Path

import pytest
from sqlmodel import select

from consumer.facts.installation import Connection, Installation
from consumer.facts.settings import Settings
from consumer.facts.store import Store
from consumer.facts.tables.jobs import Tick, TickState
from consumer.facts.work import Completion
from consumer.jobs.processes import Answer
from consumer.jobs.schedule import JobFailedError
from consumer.nights import run_side_by_side
from tests.merchant import settings_of

DAY = date(2026, 10, 2)
NAMES = ("andes", "biobio", "copiapo")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    more = {name: {"api_key": "sk_test_more", "country": "cl"} for name in NAMES}
    return settings_of("http://127.0.0.1:9", tmp_path, overrides={"connections": more})


@pytest.fixture
def installation(settings: Settings, store: Store) -> Installation:
    return Installation(settings, store)


def test_two_nights_run_side_by_side_and_never_three(installation: Installation) -> None:
    """Each waits for a second one to run with it; answers come in the order of the connections."""
    together, running, most = threading.Barrier(2, timeout=180), set[str](), list[int]()

    def night(_installation: Installation, connection: Connection, on: date) -> Answer:
        running.add(connection.name)
        together.wait()
        most.append(len(running))
        together.wait()
        running.discard(connection.name)
        together.wait()
        return Answer(complete=True, lines=[f"{connection.name} {on}"])

    asked = [(one, DAY) for one in installation.settings.all_connections]
    answers = list(run_side_by_side(installation, asked, night, at_once=2))

    assert [one.lines for one in answers] == [[f"{name} 2026-10-02"] for name in ("main", *NAMES)]
    assert most == [2, 2, 2, 2]


def test_a_night_that_fails_ends_no_other_and_each_has_its_tick(installation: Installation) -> None:
    """The one whose process was killed says so; all others are whole."""

    def night(_installation: Installation, connection: Connection, _on: date) -> Answer:
        if connection.name == "andes":
            raise JobFailedError("its process was killed by signal 9 before the end")
        return Answer(complete=True, lines=["done"])

    asked = [(one, DAY) for one in installation.settings.all_connections]
    answers = list(run_side_by_side(installation, asked, night, at_once=3))

    assert [one.status for one in answers] == [
        Completion.DONE, Completion.NOTHING_DONE, Completion.DONE, Completion.DONE,
    ]  # fmt: skip
    assert answers[1].lines == ["andes: its process was killed by signal 9 before the end"]
    with installation.store.reading() as session:
        states = {tick.job: tick.state for tick in session.exec(select(Tick))}
    assert states == {f"nightly:{name} by hand": TickState.COMPLETE for name in ("main", *NAMES)} | {
        "nightly:andes by hand": TickState.FAILED
    }
