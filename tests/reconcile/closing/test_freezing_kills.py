"""Freezing that is killed at each of its steps: no horizon or the old one stands, and the next run freezes on."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from signal import SIGKILL
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa
from sqlmodel import col

from consumer.facts.installation import Connection, Installation
from consumer.facts.store import Store
from reconcile.runs.run import run
from reconcile.tables.closing import FrozenRow, Horizon
from tests.merchant import start_apart
from tests.reconcile.closing.histories import History
from tests.thoroughness import for_run

if TYPE_CHECKING:
    from tests.reconcile.conftest import World

# Runs `cuadre reconcile`, and dies by its own hand in the transaction of that number, before that is committed.
DYING = """
import os, signal, sys
from contextlib import contextmanager
from reconcile.closing import freezing
import cuadre

place, freezing._ROWS_AT_ONCE, steps = int(sys.argv.pop(1)), 25, []
inner, begin = freezing._Freezing._step, freezing._Freezing.begin

@contextmanager
def step(self):
    with inner(self) as session:
        yield session
        session.flush()
        die()

def die():
    steps.append(1)
    if len(steps) == place:
        os.kill(os.getpid(), signal.SIGKILL)

def begin_and_die(self, seen_at):
    begin(self, seen_at)
    die()

freezing._Freezing._step, freezing._Freezing.begin = step, begin_and_die
sys.exit(cuadre.main())
"""


def _freeze(database_url: str, folder: Path, history: History, place: int) -> int:
    """Run the day's reconciliation, which dies in its step of that number; return how it ended."""
    command = ("-c", DYING, str(place), "reconcile", "--as-of", history.day.isoformat())
    return start_apart(*command, database_url=database_url, data_dir=folder).wait(timeout=300)


def _standing(store: Store) -> tuple[str, bool] | None:
    """Return the last day of the horizon that stands, and whether rows lie there that no run reads yet."""
    with store.reading() as session:
        horizon = session.scalars(sa.select(Horizon)).first()
        if horizon is None:
            return None
        lies = session.scalar(sa.select(sa.func.count()).where(col(FrozenRow.freezing) > horizon.freezing))
        return horizon.until.isoformat() if horizon.basis else "", bool(lies)


@pytest.mark.both_databases
def test_a_freezing_that_dies_anywhere_is_taken_up_again(
    world: "World", installation: Installation, main: Connection, migrated_url: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Killed after it said so, while it writes and before its last transaction: first without a horizon, then with one.

    The next errand goes on with it, be it of the same content. Bounded and whole runs agree after each kill.
    """
    monkeypatch.setenv("CUADRE_HORIZON", "true")
    bounded = replace(installation, settings=installation.settings.model_copy(update={"horizon": True}))
    history, folder = History(world, Random(3)), tmp_path / "data"  # noqa: S311 - repeatable trade
    world.complete(datetime(2026, 12, 1, 6, tzinfo=UTC))
    before = ""
    for _ in range(2):
        for _ in range(8):
            history.trade()
        until = history.day - timedelta(days=2)
        history.close(bounded, main, until)
        stands = None
        for place in for_run(short=[3], full=list(range(1, 100))):
            history.day += timedelta(days=1)
            if _freeze(migrated_url, folder, history, place) != -SIGKILL:
                break
            stands = _standing(world.store)
            assert stands is not None
            assert stands[0] == before
            found = run(bounded, main, as_of=history.day, dry_run=True)
            whole = run(bounded, main, as_of=history.day, dry_run=True, whole=True)
            assert (whole.run_id, whole.differs) == (found.run_id, False)
        else:
            # The same run again, which has no row to write but goes on with what it froze.
            assert stands == (before, True)
            assert _freeze(migrated_url, folder, history, 0) == 0
        before = until.isoformat()
        assert _standing(world.store) == (before, False)
        history.age()
    found = run(bounded, main, as_of=history.day, dry_run=True)
    assert found.result is not None
    assert len(found.result.lines) < len(history.payments)
