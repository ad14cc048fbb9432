"""Readings of one merchant, remembered or whole, as tests of remembered tables compare them."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date

import pyarrow as pa
import pytest
import sqlalchemy as sa

from consumer.config import Connection
from consumer.facts import changes
from consumer.facts.house import House
from consumer.facts.store import Store
from reconcile.kept.snapshots import Scope, Snapshot
from reconcile.reading.large_tables import LARGE, LargeTables
from reconcile.reading.memories import Memory, remembering
from reconcile.runs import take_snapshot
from reconcile.tables import ProviderFee
from reconcile.threads import second_thread

AS_OF = date(2026, 9, 11)
EVERYTHING = sorted(LARGE)


def read(house: House, main: Connection, memory: Memory | None = None) -> Snapshot:
    with house.store.reading() as session:
        return take_snapshot(session, house, main, as_of=AS_OF, scope=Scope(), memory=memory)


def remember(house: House, main: Connection) -> list[str]:
    """Read everything and remember it; gives the tables that were remembered wrong."""
    with second_thread() as beside, remembering(house, main, beside, is_full=True) as memory:
        read(house, main, memory)
    return memory.differing


@contextmanager
def whole_tables(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Give the names of the large tables that are read whole."""
    names: list[str] = []
    real = LargeTables.read

    def noted(tables: LargeTables, name: str) -> pa.Table:
        names.append(name)
        return real(tables, name)

    with monkeypatch.context() as patched:
        patched.setattr(LargeTables, "read", noted)
        yield names


def compare(house: House, main: Connection, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Read with what is remembered and without: it must be one run; gives what the first one read whole."""
    with whole_tables(monkeypatch) as names:
        recalled = read(house, main)
    doubting = Memory(is_full=True)
    everything = read(house, main, doubting)
    assert doubting.differing == []
    assert recalled.manifest["frames"] == everything.manifest["frames"]
    assert recalled.run_id == everything.run_id
    return names


def write(store: Store, statement: str) -> None:
    with store.connection() as database:
        database.execute(sa.text(statement))


def add_fee(store: Store, payout: str) -> None:
    with store.transaction() as session:
        session.add(ProviderFee(connection="main", payout_id=payout, resource_id="pi_1", fee_total=3))


def folders(house: House) -> list[str]:
    folder = house.settings.data_dir / "remembered" / "main"
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def token_of(house: House) -> str | None:
    with house.store.reading() as session:
        return changes.read_token(session.connection(), "main")
