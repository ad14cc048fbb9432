"""A second thread of a run, for work of libraries that leave the interpreter free: files, packing."""

from collections.abc import Iterable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Event
from typing import TypeVar

T = TypeVar("T")
_END = object()


@contextmanager
def background_thread() -> Iterator[Executor]:
    """Yield an executor of one thread, which has ended when the block has, however that ends."""
    pool = ThreadPoolExecutor(1, thread_name_prefix="run")
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def ahead(rows: Iterable[T]) -> Iterator[Iterator[T]]:
    """Make rows before they are taken; what fails in making them fails where they are taken.

    When the block ends early, the row that was begun is the last one made.
    """
    made: SimpleQueue[T | object] = SimpleQueue()
    stopped = Event()
    with background_thread() as pool:
        making = pool.submit(_make, rows, made, stopped)

        def taken() -> Iterator[T]:
            while (row := made.get()) is not _END:
                yield row  # type: ignore[misc]  # the end is the one other thing in the queue
            making.result()

        try:
            yield taken()
        finally:
            stopped.set()


def _make(rows: Iterable[T], made: "SimpleQueue[T | object]", stopped: Event) -> None:
    try:
        for row in rows:
            if stopped.is_set():
                return
            made.put(row)
    finally:
        made.put(_END)
