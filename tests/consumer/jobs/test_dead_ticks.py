"""A tick whose worker was killed is shown as dead as soon as its lease is over, and not when it is next asked for."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from click.testing import CliRunner
from sqlmodel import select

from consumer.commands.operating import jobs
from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from consumer.facts.store import Store
from consumer.facts.tables.jobs import Tick, is_in_state, to_shown
from consumer.jobs import ticks

BEGUN = datetime(2026, 10, 5, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("minutes", "state", "outcome"),
    [(14, "running", None), (16, "dead", "note.worker_stopped")],
    ids=["within its lease", "lease over"],
)
def test_a_running_tick_is_dead_when_its_lease_is_over(
    store: Store, minutes: int, state: str, outcome: str | None
) -> None:
    """The row still says running; what is shown and what is asked for by state say what it is."""
    assert ticks.claim_alone(store, "nightly:main by hand", worker="w", now=BEGUN)
    now = BEGUN + timedelta(minutes=minutes)
    with store.reading() as session:
        shown = to_shown(session.exec(select(Tick)).one(), now=now)
        found = {
            one: session.exec(select(Tick.job).where(is_in_state(one, now=now))).all()
            for one in ("running", "dead", "failed")
        }
    assert (shown["state"], shown["outcome"]) == (state, outcome)
    assert found == {"running": [], "dead": [], "failed": []} | {state: ["nightly:main by hand"]}


def test_the_list_of_jobs_says_dead(installation: Installation) -> None:
    """`cuadre jobs` shows a tick begun an hour ago and never renewed as dead."""
    ticks.claim_alone(installation.store, "nightly:main by hand", worker="w", now=utc_now() - timedelta(hours=1))
    shown = CliRunner().invoke(jobs, ["--json"], obj=lambda: installation)
    assert shown.exit_code == 0, shown.output
    rows = [json.loads(line) for line in shown.stdout.splitlines()]
    assert [row["state"] for row in rows if row["job"] == "nightly:main by hand"] == ["dead"]
