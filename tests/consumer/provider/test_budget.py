"""The request budget: strict over processes and threads, and nearly all of it usable."""

import json
import subprocess
import sys
from datetime import UTC, datetime

import pytest
import sqlalchemy as sa
from sqlmodel import select

from consumer.facts.store import Store
from consumer.facts.tables.sync import RateSlot
from consumer.provider.budget import HOLD_SECONDS, Budget
from tests.thoroughness import for_run

pytestmark = pytest.mark.both_databases

# Asks as fast as the budget allows, each request arriving late by a different time, and prints the arrivals.
ASKER = """
import json, sys, time
from consumer.facts.store import Store
from consumer.provider.budget import Budget

url, rate, count = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
budget, arrivals = Budget(Store(url), rate), []
while len(arrivals) < count:
    with budget.spend():
        time.sleep(len(arrivals) % 5 * 0.004)
        arrivals.append(time.time())
budget.close()
print(json.dumps(arrivals))
"""


def busiest_second(arrivals: list[float]) -> int:
    """Count the arrivals in the fullest second, wherever it begins."""
    moments = sorted(arrivals)
    return max(sum(first <= moment < first + 1 for moment in moments) for first in moments)


def test_several_processes_never_exceed_the_rate_in_any_second(store: Store) -> None:
    """Four processes with eighteen requests each, of uneven time, stay within 20 in every second and come to an end."""
    url = store.url.render_as_string(hide_password=False)
    command = [sys.executable, "-c", ASKER, url, "20", "18"]
    askers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    arrivals: list[float] = [moment for asker in askers for moment in json.loads(asker.communicate(timeout=300)[0])]
    assert busiest_second(arrivals) <= 20
    assert len(arrivals) == 72


def test_a_rate_below_one_leaves_that_long_between_requests(store: Store) -> None:
    """At four requests in a thousand seconds the second request waits 250 seconds."""
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        with store.transaction() as session:
            session.execute(sa.update(RateSlot).values(free_at=datetime(2000, 1, 1, tzinfo=UTC)))

    budget = Budget(store, 0.004, sleep=pause)
    for _ in range(2):
        with budget.spend():
            pass
    assert len(pauses) == 1
    assert 230 < pauses[0] <= 250


def test_a_wide_budget_lets_one_process_run_without_a_transaction_for_each_request(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the budget lifted, a thousand requests need few writes."""
    # A slow machine does not start them within the tenth of a second that a place is held.
    monkeypatch.setattr("consumer.provider.budget.HOLD_SECONDS", for_run(short=60.0, full=HOLD_SECONDS))
    budget = Budget(store, 100_000)
    writes = 0

    def count(*_: object) -> None:
        nonlocal writes
        writes += 1

    sa.event.listen(store.engine, "commit", count)
    for _ in range(1000):
        with budget.spend():
            pass
    sa.event.remove(store.engine, "commit", count)
    assert writes < 30


def test_a_place_held_by_a_killed_process_comes_back(store: Store) -> None:
    """A place whose lease has ended may be taken again, and one from a clock set back is not waited for."""
    budget = Budget(store, 1)
    with budget.spend():
        pass
    far = datetime(2999, 1, 1, tzinfo=UTC)
    with store.transaction() as session:
        session.execute(sa.update(RateSlot).values(free_at=far))
    with budget.spend(), store.reading() as session:
        assert session.exec(select(RateSlot)).one().free_at < far
