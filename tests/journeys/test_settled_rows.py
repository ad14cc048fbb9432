"""What closed days settled is read as if every run had judged it: files, pages, explanations, counts, differences."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest

from consumer.facts.installation import Connection, Installation
from consumer.facts.store import Store
from reconcile.kept.records import find_run
from reconcile.runs import comparison, reruns
from reconcile.runs.run import run
from reports.shapes.spans import Span
from tests.journeys.readings import read_everything
from tests.merchant import settings_of
from tests.reconcile.closing.histories import FIRST, HISTORIES
from tests.reconcile.conftest import World
from tests.thoroughness import IS_FULL

SEEDS = range(50) if IS_FULL else range(1)


@pytest.mark.both_databases
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("country", ["cl", "mx"])
def test_a_bounded_run_reads_as_a_whole_one(store: Store, tmp_path: Path, country: str, seed: int) -> None:
    """After any history all that can be read is the same whether closed days were judged or left out."""
    installation = Installation(settings_of("http://provider.test", tmp_path, country=country), store)
    main = installation.settings.connection("main")
    installation.settings.config_dir.joinpath("accounts.toml").write_text(f'chart = "{country}"\n', encoding="utf-8")
    on, off = (replace(installation, settings=installation.settings.model_copy(update={"horizon": is_on}))
               for is_on in (True, False))  # fmt: skip
    world = World(installation.store)
    history = HISTORIES[country](world, Random(seed), distinct=True)  # noqa: S311 - repeatable trade
    world.complete(datetime(2026, 12, 1, 6, tzinfo=UTC))
    left_out = 0
    for _ in range(3 if IS_FULL else 2):
        for _ in range(4):
            history.trade()
        history.close(on, main, history.day - timedelta(days=history.random.randrange(1, 4)))
        history.trade()
        run(on, main, as_of=history.day)
        history.age()
        for _ in range(history.random.randrange(1, 5)):
            history.happen()
        history.trade()
        span = Span(FIRST + timedelta(days=2), history.day - timedelta(days=4))
        about = [name for name, _ in history.payments[::9]] + history.documents[::9] + history.payouts[::4]
        bounded = run(on, main, as_of=history.day)
        found = read_everything(on, main, history.day, about, span)
        whole = run(off, main, as_of=history.day)
        wanted = read_everything(off, main, history.day, about, span)
        left_out += bounded.run_id != whole.run_id
        differing = [name for name in found.keys() | wanted.keys() if found.get(name) != wanted.get(name)]
        assert {name: (found.get(name), wanted.get(name)) for name in differing} == {}
        check_runs(installation, main, bounded.run_id, whole.run_id)
    assert left_out


def check_runs(installation: Installation, main: Connection, bounded: str, whole: str) -> None:
    """Hold two runs of the same facts, of which one left out closed days, to be the same, and that one made again."""
    folder = installation.settings.files_dir
    with installation.store.reading() as session:
        one, other = (find_run(session, main.name, name) for name in (bounded, whole))
        assert one is not None
        assert other is not None
        assert list(comparison.diff(session, folder, one, other)) == []
        held = list(reruns.compare(session, one, reruns.rerun(folder, one), most=3))
        assert [(kind.kind, kind.first) for kind in held if kind.differing and kind.kind != "summary"] == []
