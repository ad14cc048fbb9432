"""How a run goes about memory: what is freed goes back to the machine, and what lives long is not looked through."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

import pyarrow as pa

# Findings live as long as their run: a search for cycles among them at each seven hundred took a tenth of its time.
_SELDOM = (100_000, 20, 20)
# What to go back to, for each run that lasts; only the first of them is what the process had before.
_earlier: list[tuple[tuple[int, int, int], pa.MemoryPool]] = []
_lock = Lock()


def release_arrow_memory() -> None:
    """Hand to the machine what was freed: the allocator keeps it in pieces that the next step does not fit into."""
    pa.default_memory_pool().release_unused()


@contextmanager
def low_memory() -> Iterator[None]:
    """Look for garbage seldom and not among what was there before, and have Arrow give back what it frees.

    Both are the whole process's: where runs overlap, the last to end puts things back.
    """
    with _lock:
        _earlier.append((gc.get_threshold(), pa.default_memory_pool()))
        pa.set_memory_pool(pa.system_memory_pool())
        gc.set_threshold(*_SELDOM)
        gc.freeze()
    try:
        yield
    finally:
        with _lock:
            threshold, pool = _earlier.pop()
            gc.set_threshold(*threshold)
            pa.set_memory_pool(pool)
            if not _earlier:
                gc.unfreeze()
