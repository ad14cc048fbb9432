"""The worker: applies what waits in the inbox until it is stopped; a failure is logged and does not end it."""

import os
import socket
import threading
from collections.abc import Callable

import structlog

log = structlog.get_logger("cuadre.worker")

IDLE_SECONDS = 0.5
FAILED_SECONDS = 5.0


def worker_name() -> str:
    """Name this process so that a claim says who holds it."""
    return f"{socket.gethostname()}:{os.getpid()}:{threading.get_native_id()}"


def keep_at(work: Callable[[], float], *, until: threading.Event, pause: float = 0.0) -> None:
    """Repeat a piece of work until stopped; it returns how long to rest.

    A failure is logged when it begins, however often it repeats, and when it is over.
    """
    failing: type[Exception] | None = None
    thread = threading.current_thread().name
    while not until.wait(pause):
        try:
            pause = work()
        except Exception as error:  # whoever works must outlive a database that is away
            if type(error) is not failing:
                log.exception("the worker could not work", thread=thread)
            failing = type(error)
            pause = max(pause, FAILED_SECONDS)
        else:
            if failing is not None:
                log.info("the worker works again", thread=thread)
            failing = None


def repeat_in_background(
    work: Callable[[], float], name: str, *, until: threading.Event | None = None, pause: float = 0.0
) -> threading.Thread:
    """Repeat a piece of work from a thread of its own, as `keep_at` does."""
    given = {"until": until or threading.Event(), "pause": pause}
    thread = threading.Thread(target=keep_at, args=(work,), kwargs=given, name=name, daemon=True)
    thread.start()
    return thread


def keep_in_background(
    work: Callable[[], object], name: str, *, every: float, until: threading.Event | None = None, pause: float = 0.0
) -> threading.Thread:
    """Repeat a piece of work from a thread of its own, with a rest of so many seconds each time."""

    def work_and_rest() -> float:
        work()
        return every

    return repeat_in_background(work_and_rest, name, until=until, pause=pause)


class Worker:
    """Calls `drain` in a thread of its own; `drain` returns how many events it took."""

    def __init__(self, drain: Callable[[], int]) -> None:
        self._drain = drain
        self.stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="worker", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self.stopped.set()
        self._thread.join()

    def wait(self) -> None:
        self._thread.join()

    def _run(self) -> None:
        keep_at(lambda: 0.0 if self._drain() else IDLE_SECONDS, until=self.stopped)
