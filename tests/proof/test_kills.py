"""Kill -9 of receiver, worker and database under load: what was acknowledged is stored, what is stored counts once."""

import json
import os
import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlmodel import col, select

from consumer.facts.clock import utc_now
from consumer.facts.settings import Settings
from consumer.facts.store import Store
from consumer.facts.tables.inbox import Event
from consumer.facts.tables.provider import Payout, Refund
from consumer.inbox.apply import drain
from consumer.inbox.record import read_arrival, record_all

pytestmark = pytest.mark.both_databases

# Half of them on each store.
KILLS = int(os.environ.get("CUADRE_TEST_KILLS", "8")) // 2
RECEIVED = datetime(2026, 10, 5, 12, tzinfo=UTC)
# What each object goes through; the minute of a stage is its number.
STAGES = {
    "refund": (("in_progress", "refund.in_progress"), ("succeeded", "refund.succeeded"), ("failed", "refund.failed")),
    "payout": (("in_progress", "payout.created"), ("succeeded", "payout.succeeded"), ("returned", "payout.returned")),
}
PREFIX = {"refund": "re", "payout": "po"}


def trade(number: int) -> dict[str, Any]:
    """Every third event begins a new object; refunds and payouts take turns."""
    place, stage = divmod(number, 3)
    kind = "refund" if place % 2 == 0 else "payout"
    status, name = STAGES[kind][stage]
    at = f"2026-10-05T11:0{stage}:00Z"
    return {
        "id": f"evt_{number}",
        "type": name,
        "mode": "test",
        "created_at": at,
        "data": {
            "id": f"{PREFIX[kind]}_{place}",
            "object": kind,
            "mode": "test",
            "amount": 5,
            "currency": "CLP",
            "status": status,
            "updated_at": at,
        },
    }


class Field:
    """The installation under fire, and what may die in it."""

    def __init__(self, installation: Any, cluster: Any | None) -> None:
        self.installation, self.cluster = installation, cluster
        self.roles = ("receive", "work") if cluster else ("receive", "work", "write")
        self.chance = random.Random(717)  # noqa: S311 - repeatable
        self.kills: Counter[str] = Counter()

    def recover(self) -> bool:
        """Start whatever is dead; tells whether everything lives."""
        if self.cluster is not None:
            self.cluster.start()
        for role in self.roles:
            process = self.installation.running.get(role)
            if process is None or process.poll() is not None:
                self.installation.start(role, processes=2 if self.cluster else 1)
        with suppress(sa.exc.OperationalError):
            self.stored: set[str] = self.installation.ids()
            return bool(self.installation.is_alive())
        return False

    def kill_one(self) -> None:
        victims: dict[str, Callable[[], None]] = {
            "server process": self._kill_server_process,
            "receiver": lambda: self.installation.kill("receive"),
            "worker": lambda: self.installation.kill("work"),
        }
        if self.cluster is None:
            victims["writing command"] = lambda: self.installation.kill("write")
        else:
            victims |= {"database": self.cluster.kill, "database process": self._kill_backend}
        name = self.chance.choice(sorted(victims))
        victims[name]()
        self.kills[name] += 1

    def _kill_server_process(self) -> None:
        self._kill(self.installation.children_of("receive"))

    def _kill_backend(self) -> None:
        self._kill(self.cluster.backends())  # type: ignore[union-attr]

    def _kill(self, pids: list[int]) -> None:
        with suppress(ProcessLookupError, IndexError):
            os.kill(self.chance.choice(pids), signal.SIGKILL)


def facts_of(store: Store) -> list[dict[str, Any]]:
    with store.reading() as session:
        refunds = [
            row.model_dump(exclude={"written_at"}) for row in session.exec(select(Refund).order_by(col(Refund.id)))
        ]
        return refunds + [row.model_dump() for row in session.exec(select(Payout).order_by(col(Payout.id)))]


def in_order(path: Path, settings: Settings, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The facts of a store that got each object's events once, in their order, and never died."""
    store = Store(f"sqlite:///{path}")
    for stage in range(3):
        bodies = [json.dumps(event).encode() for event in events if event["created_at"][15] == str(stage)]
        arrivals = [
            read_arrival(body, connection=settings.connection("main"), source="webhook", received_at=RECEIVED)
            for body in bodies
        ]
        with store.connection() as connection:
            record_all(connection, arrivals)
        drain(store, settings, worker="orderly")
    facts = facts_of(store)
    store.close()
    return facts


def are_applied(store: Store) -> bool:
    with store.reading() as session:
        left = sa.select(sa.func.count()).select_from(Event).where(col(Event.state) != "applied")
        return session.connection().execute(left).scalar_one() == 0


@pytest.fixture
def field(database_kind: str, own_url: str, install: Callable[[str], Any], request: pytest.FixtureRequest) -> Field:
    """An installation on a database of its own, of each kind."""
    return Field(install(own_url), request.getfixturevalue("cluster") if database_kind == "postgresql" else None)


def test_nothing_acknowledged_is_lost_and_nothing_counts_twice(
    field: Field, send: Callable[..., Any], migrated_sqlite: Path, settings: Settings, request: pytest.FixtureRequest
) -> None:
    """Whatever dies, and whenever: after each restart every acknowledged id is stored; at the end the facts agree."""
    installation = field.installation
    installation.until(field.recover, "everything lives")
    senders = send(installation.port, trade)
    for _ in range(KILLS):
        time.sleep(field.chance.uniform(0.05, 0.5))
        field.kill_one()
        installation.until(field.recover, "everything lives again")
        acknowledged = set(senders.acknowledged)
        installation.until(field.recover, "the store can be read")
        assert acknowledged <= field.stored
    senders.stop()
    installation.until(lambda: field.recover() and senders.deliver_the_rest(), "everything is answered")
    installation.kill("work")
    # What a dead worker had in hands is free once its lease has ended.
    drain(installation.store, settings, worker="after", now=lambda: utc_now() + timedelta(hours=2))
    assert are_applied(installation.store)

    stored = installation.ids()
    assert senders.acknowledged == stored
    assert senders.statuses <= {0, 200, 503}
    # There was a load to be killed under.
    assert len(stored) > 10 * KILLS
    orderly = Path(shutil.copy(migrated_sqlite, installation.folder / "orderly.db"))
    facts = facts_of(installation.store)
    assert facts == in_order(orderly, settings, [trade(int(name.removeprefix("evt_"))) for name in stored])
    assert {row["status"] for row in facts if f"evt_{int(row['id'][3:]) * 3 + 2}" in stored} == {"failed", "returned"}
    terminal = request.config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None:
        terminal.write_line(f" {len(stored)} events, killed {dict(field.kills)}")
