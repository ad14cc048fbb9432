"""A backfill and a pull killed at page boundaries: the next run ends with the same rows and asks little again."""

import os
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlmodel import SQLModel

from consumer.facts.store import Store
from consumer.facts.tables.inbox import Event
from consumer.facts.tables.provider import Payout, PayoutItem
from consumer.facts.tables.sync import Window
from sandbox.serve import RunningSandbox
from tests.proof.killed_reader import read_apart

IS_FULL = os.environ.get("CUADRE_TEST_PROOF") == "1"
KILLED = -9
ROWS: dict[str, tuple[type[SQLModel], ...]] = {"events": (Event,), "payouts": (Payout, PayoutItem)}


@pytest.fixture(scope="module")
def running() -> Iterator[RunningSandbox]:
    """A month of trade that stands still while it is read."""
    with RunningSandbox("busy-month", scale=0.5) as running:
        yield running


class Place:
    """An empty installation in a folder of its own."""

    def __init__(self, template: Path, folder: Path, url: str) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        shutil.copy(template, folder / "cuadre.db")
        self.environ = {
            "CUADRE_PROVIDER_URL": url,
            "CUADRE_API_KEY": "sk_test_sandbox",
            "CUADRE_COUNTRY": "cl",
            "CUADRE_DATA_DIR": str(folder),
        }
        self._url = f"sqlite:///{folder / 'cuadre.db'}"

    def rows(self, what: str) -> set[tuple[str, ...]]:
        """Name every row by its key."""
        store = Store(self._url)
        with store.reading() as session:
            tables = [table.__table__ for table in ROWS[what]]  # type: ignore[attr-defined]
            found = {
                (table.name, *map(str, row))
                for table in tables
                for row in session.execute(sa.select(*table.primary_key))
            }
        store.close()
        return found

    def windows(self) -> list[str]:
        store = Store(self._url)
        with store.reading() as session:
            states = list(session.execute(sa.select(Window.state)).scalars())  # type: ignore[call-overload]
        store.close()
        return states


@pytest.mark.parametrize("what", ["events", "payouts"])
def test_a_reader_killed_at_a_page_boundary_is_finished_by_the_next(
    what: str, running: RunningSandbox, migrated_sqlite: Path, tmp_path: Path
) -> None:
    """SIGKILL before any request: same rows as unharmed, all windows closed, at most a page a window asked again."""
    unharmed = Place(migrated_sqlite, tmp_path / "unharmed", running.url)
    status, asked = read_apart(unharmed.environ, what)
    expected, windows = unharmed.rows(what), len(unharmed.windows())
    assert status == 0
    assert len(expected) > 20
    everywhere = range(2, len(asked) + 1)
    for kill_at in everywhere if IS_FULL else (len(asked) // 3, len(asked) - 1):
        place = Place(migrated_sqlite, tmp_path / "killed", running.url)
        killed, before = read_apart(place.environ, what, kill_at=kill_at)
        assert (killed, len(before)) == (KILLED, kill_at)
        finished, after = read_apart(place.environ, what)
        assert finished == 0, f"killed at request {kill_at}"
        assert place.rows(what) == expected, f"killed at request {kill_at}"
        assert set(place.windows()) == {"closed"}
        again = Counter(before) + Counter(after) - Counter(asked)
        pages = [address for address in again.elements() if "since" in address or "starting_after" in address]
        assert len(pages) <= windows + NEWS[what], (kill_at, pages)


# A finishing run also looks for what is new since the killed one: the overlap of events, the newest page of a list.
NEWS = {"events": 4, "payouts": 4}
