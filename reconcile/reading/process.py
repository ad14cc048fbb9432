"""What a run asks of its process: freed memory given back, and a second thread for work that needs no interpreter."""

import gc
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Event
from typing import TypeVar

import pyarrow as pa

# Findings live as long as their run: a search for cycles among them at each seven hundred took a tenth of its time.
_SELDOM = (100_000, 20, 20)


def save_memory() -> None:
    """Have Arrow give back what it frees, and look for garbage seldom; for processes that end with their run."""
    pa.set_memory_pool(pa.system_memory_pool())
    gc.set_threshold(*_SELDOM)


def release_arrow_memory() -> None:
    """Hand to the machine what was freed: the allocator keeps it in pieces that the next step does not fit into."""
    pa.default_memory_pool().release_unused()


T = TypeVar("T")


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
    # Each row in a tuple of its own; None is the end.
    made: SimpleQueue[tuple[T] | None] = SimpleQueue()
    stopped = Event()
    with background_thread() as pool:
        making = pool.submit(_make, rows, made, stopped)

        def take_rows() -> Iterator[T]:
            while (row := made.get()) is not None:
                yield row[0]
            making.result()

        try:
            yield take_rows()
        finally:
            stopped.set()


def _make(rows: Iterable[T], made: "SimpleQueue[tuple[T] | None]", stopped: Event) -> None:
    try:
        for row in rows:
            if stopped.is_set():
                return
            made.put((row,))
    finally:
        made.put(None)
