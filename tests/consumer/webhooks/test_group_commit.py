"""Group commit: no sender hears `stored` before the commit, none waits for ever, and one bad row harms no other."""

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlmodel import func, select

from consumer.facts.settings import Settings
from consumer.facts.store import Store
from consumer.facts.tables.inbox import Event
from consumer.inbox.record import Arrival, Verdict, read_arrival, record_all
from consumer.webhooks.group_commit import NotStoredError, Writer
from tests.thoroughness import for_run

pytestmark = pytest.mark.both_databases

NOW = datetime(2026, 10, 5, 12, tzinfo=UTC)
# Seconds that only a commit which never comes takes.
LONG = 120.0


@pytest.fixture
def arrive(settings: Settings) -> Callable[[str], Arrival]:
    """Make a minimal arrival with this id."""

    def make(event_id: str) -> Arrival:
        body = f'{{"id":"{event_id}"}}'.encode()
        return read_arrival(body, connection=settings.connection("main"), source="webhook", received_at=NOW)

    return make


@pytest.fixture
def write(store: Store) -> Iterator[Callable[..., Writer]]:
    """Make a writer on the test's store and close it afterwards."""
    made: list[Writer] = []

    def make(**options: Any) -> Writer:
        made.append(Writer(store, **{"patience": LONG} | options))
        return made[-1]

    yield make
    for writer in made:
        writer.close()


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LONG
    while not is_so():
        assert time.monotonic() < deadline, f"it did not happen in {LONG:.0f} seconds"
        time.sleep(0.002)


def count(store: Store) -> int:
    with store.reading() as session:
        return session.exec(select(func.count()).select_from(Event)).one()


def test_fifty_ids_by_thirty_two_senders(
    store: Store, write: Callable[..., Writer], arrive: Callable[[str], Arrival]
) -> None:
    """1,600 deliveries of 50 events through two writers: every one is answered, 50 rows, 50 times `stored`."""
    writers = [write(), write()]
    work = [(writers[(sender + number) % 2], f"evt_{number}") for sender in range(32) for number in range(50)]

    with ThreadPoolExecutor(32) as pool:
        verdicts = list(pool.map(lambda one: one[0].store(arrive(one[1])), work))

    assert sorted(verdicts) == ["duplicate"] * 1550 + ["stored"] * 50
    assert count(store) == 50


def test_many_arrivals_share_a_commit(write: Callable[..., Writer], arrive: Callable[[str], Arrival]) -> None:
    """What arrives while a commit runs is committed together by the next."""
    batches: list[int] = []
    held = threading.Event()

    def record(connection: Connection, arrivals: Sequence[Arrival]) -> list[Verdict]:
        held.wait(LONG)
        batches.append(len(arrivals))
        return record_all(connection, arrivals)

    writer = write(record=record)
    with ThreadPoolExecutor(20) as pool:
        answers = [pool.submit(writer.store, arrive("evt_first"))]
        wait_until(lambda: writer._thread is not None and not writer._waiting)
        answers += [pool.submit(writer.store, arrive(f"evt_{number}")) for number in range(19)]
        wait_until(lambda: len(writer._waiting) == 19)
        held.set()
        assert {answer.result() for answer in answers} == {Verdict.STORED}
    assert batches == [1, 19]


def test_no_commit_in_time_is_not_a_yes(
    store: Store, write: Callable[..., Writer], arrive: Callable[[str], Arrival]
) -> None:
    """A sender that waited long enough is told to come back; when the lock ends its row is there after all."""
    writer = write()
    writer.store(arrive("evt_0"))
    writer._patience = 0.2
    with store.connection() as connection:
        connection.execute(sa.text("UPDATE event SET error = 'locked'"))
        if not store.is_sqlite:
            connection.execute(sa.text("LOCK TABLE event"))
        with pytest.raises(NotStoredError, match="no_commit_in_time"):
            writer.store(arrive("evt_1"))
    wait_until(lambda: count(store) == 2)
    writer._patience = LONG
    assert writer.store(arrive("evt_1")) == "duplicate"


def test_a_store_that_is_down_says_so_at_once_and_recovers(
    store: Store, write: Callable[..., Writer], arrive: Callable[[str], Arrival]
) -> None:
    """While the database refuses, senders hear it without waiting; afterwards the same writer stores again."""
    down = [True]

    def record(connection: Connection, arrivals: Sequence[Arrival]) -> list[Verdict]:
        if down[0]:
            raise sa.exc.OperationalError("insert", {}, OSError("disk I/O error"))
        return record_all(connection, arrivals)

    writer = write(record=record)
    with pytest.raises(NotStoredError, match="store_down"):
        writer.store(arrive("evt_1"))
    down[0] = False
    assert writer.store(arrive("evt_1")) == "stored"
    assert count(store) == 1


def test_a_row_the_store_refuses_harms_no_other(
    store: Store, write: Callable[..., Writer], arrive: Callable[[str], Arrival]
) -> None:
    """A batch with one impossible row is committed one by one, and only that row's sender is refused."""
    held = threading.Event()

    def record(connection: Connection, arrivals: Sequence[Arrival]) -> list[Verdict]:
        held.wait(LONG)
        verdicts = record_all(connection, arrivals)
        if any(arrival.id == "evt_bad" for arrival in arrivals):
            raise sa.exc.DataError("insert", {}, ValueError("refused"))
        return verdicts

    writer = write(record=record)

    def send(event_id: str) -> str:
        try:
            return writer.store(arrive(event_id))
        except NotStoredError as problem:
            return problem.reason

    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(send, "evt_1")
        wait_until(lambda: writer._thread is not None and not writer._waiting)
        others = pool.map(send, ["evt_2", "evt_bad", "evt_3"])
        wait_until(lambda: len(writer._waiting) == 3)
        held.set()
        assert [first.result(), *others] == ["stored", "stored", "store_down", "stored"]
    assert count(store) == 3


def test_a_full_queue_refuses_at_once(
    write: Callable[..., Writer], arrive: Callable[[str], Arrival], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The queue is bounded: whoever comes when it is full is told to come back."""
    monkeypatch.setattr("consumer.webhooks.group_commit._MOST_WAITING", 2)
    held = threading.Event()

    def record(connection: Connection, arrivals: Sequence[Arrival]) -> list[Verdict]:
        held.wait(LONG)
        return record_all(connection, arrivals)

    writer = write(record=record)
    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(writer.store, arrive("evt_1"))
        wait_until(lambda: writer._thread is not None and not writer._waiting)
        others = [pool.submit(writer.store, arrive(f"evt_{number}")) for number in (2, 3)]
        wait_until(lambda: len(writer._waiting) == 2)
        with pytest.raises(NotStoredError, match="queue_full"):
            writer.store(arrive("evt_4"))
        held.set()
        assert [first.result(), *(other.result() for other in others)] == ["stored"] * 3


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_forked_process_starts_its_own_writer(write: Callable[..., Writer], arrive: Callable[[str], Arrival]) -> None:
    """After a fork the child commits with a thread and connections of its own."""
    writer = write()
    writer.store(arrive("evt_parent"))

    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if writer.store(arrive("evt_child")) == "stored" else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert writer.store(arrive("evt_child")) == "duplicate"


def test_a_commit_waits_for_the_disk(migrated_url: str) -> None:
    """SQLite synchronises fully; PostgreSQL commits synchronously even where the server is set to answer before."""
    url = sa.make_url(migrated_url)
    is_sqlite = url.get_backend_name() == "sqlite"
    careless = url if is_sqlite else url.update_query_dict({"options": "-c synchronous_commit=off"})
    store = Store(careless.render_as_string(hide_password=False))
    with store.connection() as connection:
        said = connection.exec_driver_sql("PRAGMA synchronous" if is_sqlite else "SHOW synchronous_commit").scalar_one()
    store.close()

    assert said == (2 if is_sqlite else "on")


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
def test_behind_a_commit_that_hangs_nobody_waits_long(
    write: Callable[..., Writer], arrive: Callable[[str], Arrival]
) -> None:
    """The first sender waits out the patience, those after it a twentieth, and what they brought is stored later."""
    held = threading.Event()

    def record(connection: Connection, arrivals: Sequence[Arrival]) -> list[Verdict]:
        held.wait(LONG)
        return record_all(connection, arrivals)

    writer = write(record=record, patience=4.0)
    waited = []
    for event_id in ("evt_1", "evt_2", "evt_3"):
        began = time.monotonic()
        with pytest.raises(NotStoredError, match="no_commit_in_time"):
            writer.store(arrive(event_id))
        waited.append(time.monotonic() - began)
    held.set()
    assert waited[0] >= 4.0
    # A fifth of a second each, and whatever a busy machine adds.
    assert max(waited[1:]) < for_run(short=3.9, full=1.0)

    def answer() -> str:
        try:
            return str(writer.store(arrive("evt_3")))
        except NotStoredError as problem:
            return problem.reason

    wait_until(lambda: answer() == "duplicate")
