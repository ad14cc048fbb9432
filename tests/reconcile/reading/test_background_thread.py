"""Work in a thread beside a run: what fails there is not lost, and nothing goes on after the run has ended."""

import threading
from collections.abc import Iterator

import pytest

from reconcile.reading.process import ahead, background_thread


def test_rows_come_in_their_order() -> None:
    """What another thread makes is taken as it was given, empty rows too."""
    with ahead(iter(["a", "", None, "b"])) as rows:
        assert list(rows) == ["a", "", None, "b"]


def test_rows_are_made_before_they_are_asked_for() -> None:
    """The other thread does not wait until its first row is taken."""
    made = threading.Event()

    def rows() -> Iterator[int]:
        yield 1
        made.set()

    with ahead(rows()) as taken:
        assert made.wait(120)
        assert list(taken) == [1]


def test_what_fails_beside_a_run_fails_the_run() -> None:
    """The rows before it are taken, and then its own error comes up."""

    def rows() -> Iterator[int]:
        yield 1
        raise ArithmeticError("no such chunk")

    taken: list[int] = []
    with pytest.raises(ArithmeticError, match="no such chunk"), ahead(rows()) as made:
        taken.extend(made)
    assert taken == [1]


def test_a_run_that_is_broken_off_stops_the_thread() -> None:
    """The row that was begun is the last one, and the thread has ended when the block has."""
    broken_off = threading.Event()
    made: list[int] = []

    def rows() -> Iterator[int]:
        for number in range(1_000_000):
            made.append(number)
            yield number
            broken_off.wait(120)

    def break_off() -> None:
        with ahead(rows()):
            # By then the thread waits in its first row or has not begun.
            threading.Timer(1.0, broken_off.set).start()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        break_off()
    assert len(made) <= 2
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("run")]


def test_a_task_that_has_not_begun_is_dropped() -> None:
    """Who ends early waits only for the task that runs."""
    going = threading.Event()
    done: list[str] = []

    def leave() -> None:
        with background_thread() as worker:
            worker.submit(going.wait, 120)
            worker.submit(done.append, "second")
            threading.Timer(1.0, going.set).start()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        leave()
    assert done == []
