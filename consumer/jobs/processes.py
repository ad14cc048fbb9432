"""A night in a process of its own: its memory ends with it, and no request waits for its interpreter.

The worker holds the other end of the child's standard input, so that its end tells the child that the worker died. On
its standard output the child says how it ended, as one line of JSON; its log goes where the worker's goes.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import date
from typing import NamedTuple, Protocol

import structlog

from consumer.facts.installation import Connection, Installation
from consumer.jobs import ticks
from consumer.jobs.schedule import JobFailedError, JobStoppedError

log = structlog.get_logger("cuadre.jobs")

# The folder the worker was started in may hold an app.py of the merchant's own, so it is not searched (-P).
_COMMAND = (sys.executable, "-P", "-c", "import app; app.work_for_parent()")
_STOPPING = {signal.SIGINT, signal.SIGTERM}
_ORPHANED = 1


class Task(NamedTuple):
    """What a child is asked on its command line."""

    work: str
    connection: str
    on: date


class Ended(Protocol):
    """How a piece of work ended: whole or not, and its lines for people."""

    @property
    def complete(self) -> bool: ...

    @property
    def lines(self) -> list[str]: ...


class Answer(NamedTuple):
    """How the work of a child ended, as the child says it."""

    complete: bool
    lines: list[str]
    failure: str = ""


class _Children:
    """The children of this process: none is begun once they were told to stop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._is_stopping = False

    def begin(self, task: Task) -> "subprocess.Popen[bytes]":
        with self._lock:
            if self._is_stopping:
                raise JobStoppedError
            command = [*_COMMAND, task.work, task.connection, task.on.isoformat()]
            # A group of its own: Ctrl-C in a terminal reaches the worker alone, which passes it on.
            child = subprocess.Popen(  # noqa: S603 - a fixed command
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0
            )
            self._running.add(child)
        return child

    def forget(self, child: "subprocess.Popen[bytes]") -> None:
        with self._lock:
            self._running.discard(child)

    def stop(self) -> None:
        with self._lock:
            self._is_stopping = True
            for child in self._running:
                child.terminate()


_children = _Children()
stop_children = _children.stop


def run_in_child(work: str) -> Callable[[Installation, Connection, date], Answer]:
    """Return what does a piece of work in a process of its own, with the settings of this one."""

    def run(_installation: Installation, connection: Connection, on: date) -> Answer:
        task = Task(work, connection.name, on)
        child = _children.begin(task)
        try:
            with child:
                assert child.stdout is not None
                said = child.stdout.read()
                # Its input is held open until it has ended, or it would take its parent for dead.
                child.wait()
        finally:
            _children.forget(child)
        return _answer_of(task, said, child.returncode)

    return run


def _answer_of(task: Task, said: bytes, status: int) -> Answer:
    """Return what a child said of its work; raise JobStoppedError or JobFailedError if it did not do it."""
    if -status in _STOPPING:
        raise JobStoppedError
    if status == 0 and said:
        # What a library printed while it was loaded stands before its line.
        answer = Answer(*json.loads(said.splitlines()[-1]))
        if not answer.failure:
            return answer
        raise JobFailedError(answer.failure)
    how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
    failure = f"its process {how} before the end: see the log, and whether memory ran out"
    log.error("job failed", job=f"{task.work}:{task.connection}", business_date=str(task.on), why=failure)
    raise JobFailedError(failure)


def work_for_parent(work: Callable[[Task], Ended]) -> None:
    """Do what the command line asks and say how it ended; end at once when told to stop, or when the parent has ended.

    Ending at once is as safe as being killed, which is allowed at any moment; threads that wait for a provider could
    hold back any other ending for minutes.
    """
    for number in _STOPPING:
        signal.signal(number, signal.SIG_DFL)
    # The thread that started this process may have blocked them.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPPING)
    threading.Thread(target=end_with, args=(sys.stdin.fileno(),), name="parent-watch", daemon=True).start()
    # What any library prints belongs to the log.
    answer = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    name, connection, on = sys.argv[1:]
    try:
        ended = work(Task(name, connection, date.fromisoformat(on)))
        said = Answer(ended.complete, ended.lines)
    except Exception as error:  # the wrapper of a job in its own process: its parent must learn what failed
        log.exception("job failed", job=f"{name}:{connection}", business_date=on)
        said = Answer(complete=False, lines=[], failure=ticks.failure(error)[1])
    with os.fdopen(answer, "w") as file:
        file.write(f"\n{json.dumps(said)}")


def end_with(alive: int) -> None:
    """End this process at once when the last process that holds the other end of a pipe has ended."""
    os.read(alive, 1)
    os._exit(_ORPHANED)
