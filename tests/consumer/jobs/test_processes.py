"""Children that do not end by themselves: suspended ones when the worker stops, and nights without end."""

import os
import signal
import subprocess
import sys
import threading
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from consumer.facts.store import Store
from consumer.jobs import processes, ticks
from consumer.jobs.processes import Answer, Children, Ending, Task
from consumer.jobs.schedule import JobFailedError, JobStoppedError

TASK = Task("nightly", "main", date(2026, 10, 1))
# Waits for its input, which is held open.
WAIT = (sys.executable, "-c", "import sys; sys.stdin.read()")
SUSPEND = (sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)")


def is_suspended_child_there() -> bool:
    """Wait for a child of this process to be suspended; return False while there is no child at all."""
    try:
        return os.waitid(os.P_ALL, 0, os.WSTOPPED | os.WNOWAIT) is not None
    except ChildProcessError:
        return False


def test_a_suspended_child_is_killed_after_the_grace_and_counts_as_stopped() -> None:
    """It hears no request to end; another child does not begin after the stop."""
    children = Children(SUSPEND, grace=0.1)
    ended: list[BaseException] = []

    def work() -> None:
        try:
            children.run(TASK, limit=60)
        except JobStoppedError as error:
            ended.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    while not is_suspended_child_there():
        assert thread.is_alive()
    children.stop()
    thread.join(30)

    assert len(ended) == 1
    with pytest.raises(JobStoppedError):
        children.run(TASK, limit=60)


def test_a_child_that_takes_too_long_is_killed_and_says_so() -> None:
    """Its ending tells it from one that something else killed."""
    _, status, is_late = Children(WAIT, grace=0.1).run(TASK, limit=0.1)

    assert (status, is_late) == (-signal.SIGKILL, True)


# A process that ends itself once its job is canceled, and says on its output that it has begun.
CANCELABLE = """
import sys, time
from pathlib import Path
from consumer.facts.store import Store
from consumer.jobs import processes
processes.end_if_canceled(Store(sys.argv[1]), "reconcile:main", look_every=0.01)
Path(sys.argv[2]).touch()
time.sleep(300)
"""


def test_a_child_whose_job_is_canceled_ends_at_once(store: Store, tmp_path: Path) -> None:
    """It needs no word from the process that started it: another one may have taken the request."""
    at, begun = datetime(2026, 10, 5, 9, tzinfo=UTC), tmp_path / "begun"
    assert ticks.claim_alone(store, "reconcile:main", worker="w", now=at)
    url = store.engine.url.render_as_string(hide_password=False)
    child = subprocess.Popen([sys.executable, "-c", CANCELABLE, url, str(begun)])
    try:
        while not begun.exists():
            assert child.poll() is None
        assert ticks.cancel(store, "reconcile:main", reason="run.canceled", now=at)
        assert child.wait(120) == 3
    finally:
        child.kill()
        child.wait()
    assert not ticks.cancel(store, "reconcile:main", reason="run.canceled", now=at)


def test_a_child_that_was_canceled_has_failed_in_no_log() -> None:
    """Who canceled it has said so: its end is no failure to look into."""
    with capture_logs() as said:
        assert processes.answer_of(TASK, Ending(b"", 3, is_late=False), 1) == Answer(complete=False, lines=[])
        with pytest.raises(JobFailedError):
            processes.answer_of(TASK, Ending(b"", 1, is_late=False), 1)
    assert [line["event"] for line in said] == ["job failed"]
