"""Which runs keep their rows: weeks whole, months by their last run, and a summary for ever."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sqlmodel import col, select

from consumer.config import Connection
from consumer.facts.house import House
from reconcile import chunks, comparison, periods
from reconcile.retention import drop_inputs, find_droppable, prune
from reconcile.runs import run
from reconcile.tables import Period, Run

if TYPE_CHECKING:
    from tests.reconcile.conftest import World

TODAY = date(2026, 11, 30)
YEAR = timedelta(days=365)
AT = datetime(2026, 11, 30, 6, tzinfo=UTC)


def _of(number: int, on: date, **scope: Any) -> Run:
    return Run(
        connection="main", id=f"r{number}", as_of=on, complete=True, calendar="c", summary="{}", started_at=AT,
        finished_at=AT, number=number, **scope,
    )  # fmt: skip


def test_weeks_stay_whole_and_months_by_their_last_run() -> None:
    """Thirty-five days of runs stay, then the last whole run of each month for as long as asked, never a part."""
    runs = [
        _of(1, date(2025, 8, 31)),
        _of(2, date(2026, 8, 30)),
        _of(3, date(2026, 8, 31)),
        _of(4, date(2026, 8, 31), scope_payout="po_1"),
        _of(5, date(2026, 10, 25)),
        _of(6, date(2026, 10, 26), scope_from=date(2026, 10, 1)),
        _of(7, date(2026, 10, 31)),
        _of(8, date(2026, 11, 30)),
    ]
    dropped = find_droppable(runs, today=TODAY, months_until=YEAR)
    assert sorted(run.number for run in dropped) == [1, 2, 4, 5]


def test_the_only_run_stays_however_old() -> None:
    """What pages show is never dropped for its age."""
    assert find_droppable([_of(1, date(2020, 1, 1))], today=TODAY, months_until=YEAR) == []


@pytest.fixture
def small(world: "World") -> "World":
    world.payout("po_1", 984, ("payment_intent", "pi_1", 1000))
    world.payment("pi_1", 1000)
    world.invoice("7", 1000)
    return world


@pytest.mark.usefixtures("small")
def test_the_run_a_closed_period_stands_on_stays(
    house: House, main: Connection, tiny_rules: Callable[..., Any]
) -> None:
    """Its rows prove the closed figures; once the period is opened again they may go."""
    old = run(house, main, as_of=date(2026, 8, 30), rules=tiny_rules())
    run(house, main, as_of=date(2026, 11, 30), rules=tiny_rules())
    with house.store.transaction() as session:
        period = Period(
            connection="main", until=date(2026, 8, 29), ends_at=AT, run_id=old.run_id, reason="x", closed_by="ana",
            closed_at=AT,
        )  # fmt: skip
        session.add(period)
        session.flush()
        assert prune(session, "main", today=TODAY, months_until=timedelta(days=40), at=AT) == []
        periods.reopen(session, "main", author="ana", reason="x", at=AT)
        assert prune(session, "main", today=TODAY, months_until=timedelta(days=40), at=AT) == [old.run_id]


@pytest.mark.usefixtures("small")
def test_a_pruned_run_keeps_its_summary_and_may_come_again(
    house: House, main: Connection, tiny_rules: Callable[..., Any]
) -> None:
    """Rows and inputs go, the run stays in the list, a comparison refuses it, and the same content fills it again."""
    old = run(house, main, as_of=date(2026, 8, 30), rules=tiny_rules())
    new = run(house, main, as_of=date(2026, 11, 30), rules=tiny_rules())
    with house.store.transaction() as session:
        assert prune(session, "main", today=TODAY, months_until=timedelta(days=40), at=AT) == [old.run_id]
    folder = Path(house.settings.data_dir) / "runs" / "main"
    with house.store.reading() as session:
        drop_inputs(session, house.settings.data_dir, "main", at=AT)
        first, second = session.exec(select(Run).order_by(col(Run.number))).all()
        assert [first.id, second.id] == [old.run_id, new.run_id]
        assert (list(chunks.read_lines(session, first)), len(list(chunks.read_lines(session, second)))) == ([], 1)
        with pytest.raises(comparison.PrunedRun, match=r"the rows of run 1 .* were dropped on 2026-11-30"):
            comparison.diff(session, house.settings.data_dir, first, second)
    assert [path.name for path in folder.iterdir()] == [new.run_id]
    again = run(house, main, as_of=date(2026, 8, 30), rules=tiny_rules())
    assert (again.run_id, again.is_new) == (old.run_id, True)
    with house.store.reading() as session:
        published = session.get(Run, ("main", old.run_id))
        assert published is not None
        assert len(list(chunks.read_lines(session, published))) == 1
