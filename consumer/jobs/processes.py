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
import time
from collections.abc import Callable, Sequence
from datetime import date, datetime
from typing import NamedTuple, Protocol

import sqlalchemy as sa
import structlog
from sqlmodel import Session

from consumer.facts.installation import Connection, Installation
from consumer.facts.messages import Message, parse_message
from consumer.facts.store import Store
from consumer.facts.work import Completion
from consumer.jobs import ticks
from consumer.jobs.schedule import JobFailedError, JobStoppedError

log = structlog.get_logger("cuadre.jobs")

# The folder the worker was started in may hold an app.py of the merchant's own, so it is not searched (-P). No
# garbage is looked for in modules, which stay.
_BEGIN = "import gc; gc.disable(); import app; gc.freeze(); gc.enable(); app.work_for_parent()"
_COMMAND = (sys.executable, "-P", "-c", _BEGIN)
STOPPING = {signal.SIGINT, signal.SIGTERM}
_ORPHANED = 1
_CANCELED = 3
# Below the ten seconds that jobs have when the command is stopped.
_GRACE_SECONDS = 5


class Task(NamedTuple):
    """What a child process is asked to do, on its command line."""

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
    """How the work of a child ended, as the child reports it."""

    complete: bool
    lines: list[str]
    failure: str = ""

    @property
    def status(self) -> Completion:
        if self.complete:
            return Completion.DONE
        return Completion.NOTHING_DONE if self.failure else Completion.PARTLY_DONE


class Ending(NamedTuple):
    """What a child wrote and its exit status, and whether it took longer than it may."""

    said: bytes
    status: int
    is_late: bool


class Children:
    """The children of this process: none begins once they are to stop, and none outlives that by more than `grace`."""

    def __init__(self, command: Sequence[str], *, grace: float) -> None:
        self._command = command
        self._grace = grace
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._is_stopping = False

    def run(self, task: Task, *, limit: float) -> Ending:
        """Run one child to its end, or kill it after `limit` seconds; raise JobStoppedError if it was stopped."""
        child = self._begin(task)
        is_late = threading.Event()

        def end_late() -> None:
            is_late.set()
            child.kill()

        timer = threading.Timer(limit, end_late)
        timer.daemon = True
        timer.start()
        try:
            with child:
                assert child.stdout is not None
                said = child.stdout.read()
                # Its input is held open until it has ended, or it would take its parent for dead.
                child.wait()
        finally:
            timer.cancel()
            with self._lock:
                self._running.discard(child)
        if -child.returncode in STOPPING or (child.returncode < 0 and self._is_stopping):
            raise JobStoppedError
        return Ending(said, child.returncode, is_late.is_set())

    def _begin(self, task: Task) -> "subprocess.Popen[bytes]":
        with self._lock:
            if self._is_stopping:
                raise JobStoppedError
            command = [*self._command, task.work, task.connection, task.on.isoformat()]
            # A group of its own: Ctrl-C in a terminal reaches the worker alone, which passes it on.
            child = subprocess.Popen(  # noqa: S603 - a fixed command
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0
            )
            self._running.add(child)
        return child

    def stop(self) -> None:
        """Ask every child to end, and kill what still runs after the grace: a suspended process hears no request."""
        with self._lock:
            self._is_stopping = True
            for child in self._running:
                child.terminate()
        timer = threading.Timer(self._grace, self._kill)
        timer.daemon = True
        timer.start()

    def _kill(self) -> None:
        with self._lock:
            for child in self._running:
                child.kill()


_children = Children(_COMMAND, grace=_GRACE_SECONDS)
stop_children = _children.stop


def run_in_child(work: str) -> Callable[[Installation, Connection, date], Answer]:
    """Return what does a piece of work in a process of its own, with the settings of this one."""

    def run(installation: Installation, connection: Connection, on: date) -> Answer:
        task = Task(work, connection.name, on)
        hours = installation.settings.night_hours
        return answer_of(task, _children.run(task, limit=hours * 3600), hours)

    return run


def answer_of(task: Task, ending: Ending, hours: float) -> Answer:
    """Return what a child said of its work; raise JobFailedError if it did not do it."""
    said, status, is_late = ending
    if status == 0 and said:
        # What a library printed while it was loaded stands before its line.
        answer = Answer(*json.loads(said.splitlines()[-1]))
        if not answer.failure:
            return answer
        raise JobFailedError(parse_message(answer.failure) or answer.failure)
    if status == _CANCELED:
        # Who ended the job has said so, in its tick and in the log.
        return Answer(complete=False, lines=[])
    if is_late:
        failure = Message("jobs.too_long", {"hours": f"{hours:g}"})
    elif status < 0:
        failure = Message("jobs.killed", {"signal": -status})
    else:
        failure = Message("jobs.ended_early", {"status": status})
    log.error("job failed", job=f"{task.work}:{task.connection}", business_date=str(task.on), why=str(failure))
    raise JobFailedError(failure)


def work_for_parent(work: Callable[[Task], Ended]) -> None:
    """Do what the command line asks and say how it ended; end at once on a request to stop or with the parent.

    Ending at once is as safe as being killed, which is allowed at any moment; threads that wait for a provider could
    hold back any other ending for minutes.
    """
    for number in STOPPING:
        signal.signal(number, signal.SIG_DFL)
    # The thread that started this process may have blocked them.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
    threading.Thread(target=end_with, args=(sys.stdin.fileno(),), name="parent-watch", daemon=True).start()
    # What any library prints belongs to the log.
    answer = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    name, connection, on = sys.argv[1:]
    try:
        ended = work(Task(name, connection, date.fromisoformat(on)))
        said = Answer(ended.complete, ended.lines)
    except ticks.CanceledError:
        os._exit(_CANCELED)
    except Exception as error:  # the wrapper of a job in its own process: its parent must learn what failed
        log.exception("job failed", job=f"{name}:{connection}", business_date=on)
        said = Answer(complete=False, lines=[], failure=ticks.failure(error)[1])
    with os.fdopen(answer, "w") as file:
        file.write(f"\n{json.dumps(said)}")


def end_if_canceled(store: Store, job: str, *, look_every: float = 0.5) -> Callable[[Session], None]:
    """End this process at once when its job is canceled or counts as over, which is as safe as being killed.

    Return what a transaction calls after which it was too late; it raises CanceledError if the job was canceled.
    """
    own = ticks.find_running(store, job)
    if own is None:
        raise ticks.CanceledError(job)

    def look() -> None:
        while _is_at_work(store, job, own):
            time.sleep(look_every)
        log.warning("work ended early", job=job, why="its tick is over: it was canceled, or its lock was lost")
        os._exit(_CANCELED)

    threading.Thread(target=look, name=f"cancel of {job}", daemon=True).start()
    return lambda session: ticks.seal(session, job, own)


def _is_at_work(store: Store, job: str, own: datetime) -> bool:
    try:
        return ticks.find_running(store, job) == own
    except sa.exc.OperationalError:
        # A database that is away says nothing of it; what publishes asks again.
        return True


def end_with(alive: int) -> None:
    """End this process at once when the last process that holds the other end of a pipe has ended."""
    os.read(alive, 1)
    os._exit(_ORPHANED)
