"""How a process that makes a run goes about memory: what is freed goes back to the machine."""

import gc

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
