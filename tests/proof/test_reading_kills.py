"""A backfill and a pull killed at page boundaries: the next run ends with the same rows and asks a page again."""

import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from urllib.parse import parse_qs, urlsplit

import pytest
import sqlalchemy as sa
from sqlmodel import SQLModel, select

from consumer.facts.clock import to_instant
from consumer.facts.store import Store
from consumer.facts.tables.inbox import Event
from consumer.facts.tables.provider import Payout, PayoutItem
from consumer.facts.tables.sync import Window
from consumer.facts.tables.types import core_of
from sandbox.serve import RunningSandbox
from tests.databases import make_database
from tests.proof.killed_reader import PAGE_SIZE, read_apart
from tests.thoroughness import for_run

KILLED = -9
SINCE = datetime(2026, 9, 1, 3, tzinfo=UTC)
ROWS: dict[str, tuple[type[SQLModel], ...]] = {"events": (Event,), "payouts": (Payout, PayoutItem)}


@pytest.fixture(scope="module")
def running() -> Iterator[RunningSandbox]:
    """A month of trade that stands still while it is read."""
    with RunningSandbox("busy-month", scale=0.5) as running:
        yield running


class Place:
    """An empty installation in a folder and a database of its own."""

    def __init__(self, folder: Path, database_url: str, provider_url: str) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        self.environ = {
            "CUADRE_PROVIDER_URL": provider_url,
            "CUADRE_API_KEY": "sk_test_sandbox",
            "CUADRE_COUNTRY": "cl",
            "CUADRE_DATA_DIR": str(folder),
            "CUADRE_DATABASE_URL": database_url,
            "CUADRE_SECRET_KEY": "a key that only tests know",
        }
        self._url = database_url

    def rows(self, what: str) -> set[tuple[str, ...]]:
        """Name every row by its key."""
        store = Store(self._url)
        with store.reading() as session:
            tables = [core_of(table) for table in ROWS[what]]
            found = {
                (table.name, *map(str, row))
                for table in tables
                for row in session.execute(sa.select(*table.primary_key))
            }
        store.close()
        return found

    def windows(self) -> list[Window]:
        store = Store(self._url)
        with store.reading() as session:
            found = list(session.exec(select(Window)))
        store.close()
        return found

    def kept(self) -> Counter[str]:
        """Count the pages that the ledger has of the windows that end at each moment."""
        found: Counter[str] = Counter()
        for window in self.windows():
            found[_asked_until(window.until)] += window.pages
        return found


MakePlace = Callable[[str], Place]


@pytest.fixture
def make_place(
    database_kind: str, request: pytest.FixtureRequest, running: RunningSandbox, tmp_path: Path
) -> Iterator[MakePlace]:
    """Make empty installations, on SQLite and on PostgreSQL."""
    with ExitStack() as made:

        def make(name: str) -> Place:
            if database_kind == "sqlite":
                database = tmp_path / f"{name}.db"
                for old in tmp_path.glob(f"{name}.db*"):
                    old.unlink()
                shutil.copy(request.getfixturevalue("migrated_sqlite"), database)
                return Place(tmp_path / name, f"sqlite:///{database}", running.url)
            databases = request.getfixturevalue("postgresql_databases")
            url = made.enter_context(make_database(databases.server, template=databases.template))
            return Place(tmp_path / name, url, running.url)

        yield make


@pytest.mark.both_databases
def test_a_backfill_killed_at_any_request_is_finished_by_the_next(make_place: MakePlace) -> None:
    """SIGKILL before any request: same rows as unharmed, and of each window one page at most is asked again."""
    unharmed = make_place("unharmed")
    status, asked = read_apart(unharmed.environ, "events")
    expected = unharmed.rows("events")
    assert status == 0
    assert len(expected) > 20
    assert _pages(asked) == unharmed.kept()
    for kill_at in _boundaries(len(asked)):
        place = make_place("killed")
        killed, before = read_apart(place.environ, "events", kill_at=kill_at)
        assert (killed, len(before)) == (KILLED, kill_at)
        kept = place.kept()
        begun = Counter(_asked_until(window.until) for window in place.windows())
        assert _pages(before) <= kept + begun, f"killed at request {kill_at}"
        finished, after = read_apart(place.environ, "events")
        assert finished == 0, f"killed at request {kill_at}"
        assert place.rows("events") == expected, f"killed at request {kill_at}"
        assert {window.state for window in place.windows()} == {"closed"}
        assert _pages(after) == place.kept() - kept, f"killed at request {kill_at}"


def test_a_backfill_of_a_range_killed_twice_goes_on_where_it_was(make_place: MakePlace) -> None:
    """SIGKILL twice before any requests: same rows as unharmed, no window is laid anew, each is asked a page more."""
    unharmed = make_place("unharmed")
    status, asked = read_apart(unharmed.environ, "events", since=SINCE)
    expected = unharmed.rows("events")
    assert status == 0
    assert len(expected) > 20
    windows = len(unharmed.windows())
    for first, second in _pairs(len(asked)):
        place, lost, before = make_place("killed"), 0, 0
        for kill_at in (first, second):
            known = place.kept()
            killed, some = read_apart(place.environ, "events", kill_at=kill_at, since=SINCE)
            assert killed == KILLED
            before += len(some) - 1
            lost += (_pages(some) - (place.kept() - known)).total()
            assert {window.state for window in place.windows()} <= {"open", "closed"}
        finished, after = read_apart(place.environ, "events", since=SINCE)
        assert finished == 0, f"killed at {first} and {second}"
        assert place.rows("events") == expected
        assert [window.state for window in place.windows()] == ["closed"] * windows
        assert before + len(after) - 1 - lost == len(asked) - 1, f"killed at {first} and {second}"
        assert lost <= 2 * windows


def test_a_pull_killed_at_any_request_is_finished_by_the_next(make_place: MakePlace) -> None:
    """SIGKILL before any request: same rows as unharmed; only that request and the newest page are asked again."""
    unharmed = make_place("unharmed")
    status, asked = read_apart(unharmed.environ, "payouts")
    expected = unharmed.rows("payouts")
    assert status == 0
    assert len(expected) > 20
    for kill_at in _boundaries(len(asked)):
        place = make_place("killed")
        killed, before = read_apart(place.environ, "payouts", kill_at=kill_at)
        assert (killed, len(before)) == (KILLED, kill_at)
        finished, after = read_apart(place.environ, "payouts")
        assert finished == 0, f"killed at request {kill_at}"
        assert place.rows("payouts") == expected, f"killed at request {kill_at}"
        assert {window.state for window in place.windows()} == {"closed"}
        again = Counter(before) + Counter(after) - Counter(asked)
        # A finishing pull also looks whether there is news since the killed one.
        news = [address for address in after if "since" in address]
        assert again == Counter([before[-1], *news]), f"killed at request {kill_at}"
        assert len(news) == 1, f"killed at request {kill_at}"


def _boundaries(requests: int) -> Sequence[int]:
    return for_run(short=(requests // 3, requests - 1), full=range(2, requests + 1))


def _pairs(requests: int) -> Sequence[tuple[int, int]]:
    """Choose where to kill, twice: before a third and another third of what a whole reading asks, and at chance."""
    chance = Random(13)  # noqa: S311 - the same places in every run
    third = requests // 3
    drawn = [(chance.randint(2, third), chance.randint(2, third)) for _ in range(20)]
    return for_run(short=((third, third),), full=((third, third), *drawn))


def _asked_until(until: datetime) -> str:
    """Say what a window's requests name as their end: a second more than its own."""
    return (until + timedelta(seconds=1)).isoformat()


def _pages(asked: Sequence[str]) -> Counter[str]:
    """Count the pages of windows that were asked for, by the end they name; a look of one event is no page."""
    queries = [parse_qs(urlsplit(address).query) for address in asked]
    ends = [query["until"][0] for query in queries if query["limit"] == [PAGE_SIZE]]
    return Counter(to_instant(end).isoformat() for end in ends)
