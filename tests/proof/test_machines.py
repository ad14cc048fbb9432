"""Three machines on one PostgreSQL, behind a pooler: kills under load, and a standby that takes the server's place."""

import os
import random
import shutil
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from consumer.facts.clock import utc_now
from consumer.facts.settings import Settings
from consumer.facts.store import Store
from consumer.inbox.apply import drain
from tests.proof.cluster import Cluster
from tests.proof.pooler import Pooler, run_pooler
from tests.proof.test_kills import are_applied, facts_of, in_order, trade

MACHINES = 3
# Of load: kills all along, the failover in the middle.
MINUTES = float(os.environ.get("CUADRE_TEST_MACHINES_MINUTES", "1"))
BETWEEN_KILLS = 5.0

pytestmark = pytest.mark.proof


@pytest.fixture
def pooler(postgresql_programs: tuple[Path, str | None], cluster: Cluster, standby: Cluster) -> Iterator[Pooler]:
    """A pooler before a server that answers a commit when its standby has it too: a failover then loses none."""
    with closing(Store(cluster.url)) as store, store.engine.connect() as connection:
        outside = connection.execution_options(isolation_level="AUTOCOMMIT")
        outside.execute(sa.text("ALTER SYSTEM SET synchronous_standby_names = '*'"))
        outside.execute(sa.text("SELECT pg_reload_conf()"))
        while not outside.execute(sa.text("SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'")).first():
            assert standby.process is not None
            assert standby.process.poll() is None
            time.sleep(0.02)
    with run_pooler(cluster, postgresql_programs[1], size=12) as pooler:
        yield pooler


class Machines:
    """Three machines with a receiver and a worker each, of which any may die."""

    def __init__(self, machines: list[Any]) -> None:
        self.machines, self.kills = machines, 0
        self.chance = random.Random(717)  # noqa: S311 - repeatable

    def recover(self) -> bool:
        """Start what is dead; tells whether everything lives."""
        for machine in self.machines:
            for role in ("receive", "work"):
                process = machine.running.get(role)
                if process is None or process.poll() is not None:
                    machine.start(role)
        return all(machine.is_alive() for machine in self.machines)

    def kill_one(self) -> None:
        self.chance.choice(self.machines).kill(self.chance.choice(("receive", "work")))
        self.kills += 1


def test_nothing_is_lost_or_doubled_on_three_machines(  # noqa: PLR0917 - fixtures
    pooler: Pooler, cluster: Cluster, standby: Cluster, install: Callable[[str], Any], send: Callable[..., Any],
    migrated_sqlite: Path, settings: Settings, request: pytest.FixtureRequest,
) -> None:  # fmt: skip
    """Each event comes to all three; after kills and a failover every acknowledged one is there, and counts once."""
    field = Machines([install(pooler.url) for _ in range(MACHINES)])
    wait = field.machines[0].until
    wait(field.recover, "the machines live")
    senders = [send(machine.port, trade, count=4) for machine in field.machines]

    def load(minutes: float) -> None:
        ends = time.monotonic() + minutes * 60
        while time.monotonic() < ends:
            time.sleep(field.chance.uniform(0.1, BETWEEN_KILLS))
            field.kill_one()
            wait(field.recover, "the machines live again")

    load(MINUTES / 2)
    known = set[str]().union(*(each.acknowledged for each in senders))
    cluster.kill()
    standby.promote()
    pooler.move_to(standby)

    def counts() -> list[int]:
        return [len(each.acknowledged) for each in senders]

    before = counts()
    wait(
        lambda: field.recover() and all(now > then for now, then in zip(counts(), before, strict=True)),
        "each machine goes on",
    )
    load(MINUTES / 2)
    for each in senders:
        each.stop()
        wait(lambda: field.recover() and each.deliver_the_rest(), "everything is answered")  # noqa: B023 - called here
    for machine in field.machines:
        machine.kill("work")
    with closing(Store(standby.url)) as store:
        # What a dead worker had in hands is free once its lease has ended.
        drain(store, settings, worker="after", now=lambda: utc_now() + timedelta(hours=2))
        assert are_applied(store)
        facts = facts_of(store)
        with store.reading() as session:
            stored = set(session.execute(sa.text("SELECT id FROM event")).scalars())
    assert known <= stored
    assert set[str]().union(*(each.acknowledged for each in senders)) == stored
    assert set[int]().union(*(each.statuses for each in senders)) <= {0, 200, 503}
    orderly = Path(shutil.copy(migrated_sqlite, field.machines[0].folder / "orderly.db"))
    assert facts == in_order(orderly, settings, [trade(int(name.removeprefix("evt_"))) for name in stored])
    for server in (cluster, standby):
        assert "deadlock detected" not in (server.folder / "log").read_text(errors="replace")
    seconds = sorted(taken for each in senders for taken in each.seconds)
    cut = statistics.quantiles(seconds, n=100)
    terminal = request.config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None:
        terminal.write_line(
            f" {len(stored)} events, {field.kills} kills, {len(seconds)} answers: "
            f"median {cut[49] * 1000:.0f} ms, p99 {cut[98] * 1000:.0f} ms, longest {seconds[-1]:.1f} s"
        )
