"""Writers of one process on SQLite begin in the order in which they came."""

import os
import threading
from collections.abc import Callable

import pytest
import sqlalchemy as sa

from consumer.facts import embedded
from consumer.facts.store import Store


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
def test_who_came_later_does_not_overtake(store: Store) -> None:
    """While one waits for the lock of the file, the next does not even ask for it."""
    happened: list[str] = []
    asks, comes = threading.Event(), threading.Event()

    def write(name: str, ready: threading.Event) -> Callable[[], None]:
        def run() -> None:
            ready.set()
            with store.connection():
                happened.append(f"{name} writes")

        return run

    @sa.event.listens_for(store.engine, "before_cursor_execute")
    def note(_connection: object, _cursor: object, statement: str, *_more: object) -> None:
        name = threading.current_thread().name
        if statement == "BEGIN IMMEDIATE" and name in {"first", "second"}:
            happened.append(f"{name} asks")
            asks.set()

    first = threading.Thread(target=write("first", threading.Event()), name="first")
    second = threading.Thread(target=write("second", comes), name="second")
    with store.connection():
        first.start()
        assert asks.wait(60)
        second.start()
        assert comes.wait(60)
    first.join()
    second.join()
    assert happened == ["first asks", "first writes", "second asks", "second writes"]


@pytest.mark.filterwarnings("ignore:This process")
@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
def test_a_child_does_not_wait_for_a_thread_of_its_parent(store: Store) -> None:
    """A process forked while a thread of its parent asks for the lock finds the turn free."""
    asks = threading.Event()

    def write() -> None:
        with store.connection():
            pass

    with store.connection():
        sa.event.listen(store.engine, "before_cursor_execute", lambda *_: asks.set())
        asking = threading.Thread(target=write)
        asking.start()
        assert asks.wait(60)
        assert any(turn.lock.locked() for turn in embedded._TURNS)
        child = os.fork()
        if child == 0:
            os._exit(int(any(turn.lock.locked() for turn in embedded._TURNS)))
        assert os.waitpid(child, 0)[1] == 0
    asking.join()
