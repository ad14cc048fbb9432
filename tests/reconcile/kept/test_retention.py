"""Which runs keep their rows: weeks whole, months by their last run, and a summary for ever."""

import os
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sqlmodel import col, select

from consumer.facts.installation import Installation
from consumer.facts.settings import Connection
from reconcile.closing import periods
from reconcile.desk.decisions import Signature
from reconcile.kept import chunks, snapshots
from reconcile.kept.retention import drop_inputs, find_droppable, prune
from reconcile.rules.inputs import Inputs, Result
from reconcile.runs import comparison
from reconcile.runs.run import run
from reconcile.tables.closing import Horizon, Period
from reconcile.tables.runs import ResultChunk, Run

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


def _touch(path: Path, at: datetime) -> None:
    os.utime(path, (at.timestamp(), at.timestamp()))


@pytest.fixture
def small(world: "World") -> "World":
    world.payout("po_1", 984, ("payment_intent", "pi_1", 1000))
    world.payment("pi_1", 1000)
    world.invoice("7", 1000)
    return world


@pytest.mark.usefixtures("small")
def test_the_run_a_closed_period_stands_on_stays(
    installation: Installation, main: Connection, tiny_rules: Callable[..., Any]
) -> None:
    """Its rows prove the closed figures; once the period is opened again they may go."""
    old = run(installation, main, as_of=date(2026, 8, 30), rules=tiny_rules())
    run(installation, main, as_of=date(2026, 11, 30), rules=tiny_rules())
    with installation.store.transaction() as session:
        period = Period(
            connection="main", until=date(2026, 8, 29), ends_at=AT, run_id=old.run_id, reason="x", closed_by="ana",
            closed_at=AT,
        )  # fmt: skip
        session.add(period)
        session.flush()
        assert prune(session, "main", today=TODAY, months_until=timedelta(days=40), at=AT) == []
        periods.reopen(session, "main", Signature("ana", "x", AT))
        assert prune(session, "main", today=TODAY, months_until=timedelta(days=40), at=AT) == [old.run_id]


@pytest.mark.usefixtures("small")
def test_a_pruned_run_keeps_its_summary_and_may_come_again(
    installation: Installation, main: Connection, tiny_rules: Callable[..., Any]
) -> None:
    """Rows and inputs go, the run stays in the list, a comparison refuses it, and the same content fills it again."""
    old = run(installation, main, as_of=date(2026, 8, 30), rules=tiny_rules())
    new = run(installation, main, as_of=date(2026, 11, 30), rules=tiny_rules())
    with installation.store.transaction() as session:
        assert prune(session, "main", today=TODAY, months_until=timedelta(days=40), at=AT) == [old.run_id]
    folder = Path(installation.settings.data_dir) / "runs" / "main"
    _touch(folder / old.run_id, AT - timedelta(days=90))
    with installation.store.reading() as session:
        drop_inputs(session, installation.settings.data_dir, "main", at=AT)
        first, second = session.exec(select(Run).order_by(col(Run.number))).all()
        assert [first.id, second.id] == [old.run_id, new.run_id]
        assert (list(chunks.read_lines(session, first)), len(list(chunks.read_lines(session, second)))) == ([], 1)
        with pytest.raises(comparison.PrunedRunError, match=r"the rows of run 1 .* were dropped on 2026-11-30"):
            comparison.diff(session, installation.settings.data_dir, first, second)
    assert [path.name for path in folder.iterdir()] == [new.run_id]
    again = run(installation, main, as_of=date(2026, 8, 30), rules=tiny_rules())
    assert (again.run_id, again.is_new) == (old.run_id, True)
    with installation.store.reading() as session:
        published = session.get(Run, ("main", old.run_id))
        assert published is not None
        assert len(list(chunks.read_lines(session, published))) == 1


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("held_by", ["the same content again", "a rerun from its inputs"])
def test_inputs_of_a_run_on_its_way_back_stay(
    installation: Installation, main: Connection, tiny_rules: Callable[..., Any], held_by: str
) -> None:
    """A night that falls while a dropped run is made again leaves what it is made from; the night after drops it."""
    old = run(installation, main, as_of=date(2026, 8, 30), rules=tiny_rules())
    run(installation, main, as_of=date(2026, 11, 30), rules=tiny_rules())
    with installation.store.transaction() as session:
        prune(session, "main", today=TODAY, months_until=timedelta(days=40), at=AT)
    data_dir = installation.settings.data_dir
    kept, today = data_dir / "runs" / "main" / old.run_id, datetime.now(UTC)
    _touch(kept, today - timedelta(days=90))

    def night(at: datetime) -> bool:
        with installation.store.reading() as session:
            drop_inputs(session, data_dir, "main", at=at)
        return kept.exists()

    if held_by == "a rerun from its inputs":
        snapshots.read(data_dir, "main", old.run_id)
        assert (night(today), night(today + timedelta(days=2))) == (True, False)
        return

    def at_night(inputs: Inputs) -> Result:
        assert night(today)
        result: Result = tiny_rules()(inputs)
        return result

    assert run(installation, main, as_of=date(2026, 8, 30), rules=at_night).is_new
    assert snapshots.read(data_dir, "main", old.run_id).run_id == old.run_id


def test_a_draft_that_a_killed_run_left_goes_after_a_day(installation: Installation, tmp_path: Path) -> None:
    """A younger one may belong to a run that still writes; what is no draft and no dropped run stays, however old."""
    ages = {"r1.abc.draft": timedelta(hours=24, seconds=1), "r1.abd.draft": timedelta(hours=23, minutes=59),
            "r1": timedelta(days=400)}  # fmt: skip
    folder = tmp_path / "runs" / "main"
    for name, age in ages.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "items.parquet").write_bytes(b"PAR1 cut here")
        at = (AT - age).timestamp()
        os.utime(folder / name, (at, at))
    with installation.store.reading() as session:
        drop_inputs(session, tmp_path, "main", at=AT)
        drop_inputs(session, tmp_path, "of-no-run-yet", at=AT)
    assert sorted(path.name for path in folder.iterdir()) == ["r1", "r1.abd.draft"]


@pytest.mark.both_databases
def test_a_layer_that_is_being_written_stays(world: "World", installation: Installation) -> None:
    """A night that prunes while another run freezes leaves its layer and the horizon's, and drops those of the dead."""
    horizon = Horizon(connection="main", run_id="r1", as_of=TODAY, until=TODAY, seen_at=AT, basis="b", freezing=1,
                      claimed_by="r3", layers="r1+1")  # fmt: skip
    for number in (1, 2, 3):
        world.keep(ResultChunk(connection="main", run_id=f"r{number}+{number}", kind="hidden", number=0, rows=0,
                               undated=0, with_balance=0, content=b""))  # fmt: skip
    world.keep(horizon)
    with installation.store.transaction() as session:
        prune(session, "main", today=TODAY, months_until=YEAR, at=AT)
    with installation.store.reading() as session:
        assert sorted(session.exec(select(ResultChunk.run_id)).all()) == ["r1+1", "r3+3"]
