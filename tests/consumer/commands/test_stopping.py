"""Stopping the server: said at once, a second time at once, and never because its processes die now and then."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from consumer.commands.serving import Pauses
from tests.ports import free_port
from tests.thoroughness import for_run

ROOT = Path(__file__).resolve().parents[3]
APPLICATION = """
import os, sys, time
from pathlib import Path

def build():
    if os.environ.get("BROKEN"):
        raise RuntimeError("never to be built")
    return answer

def answer(environ, start_response):
    if environ["PATH_INFO"] == "/slow":
        Path(__file__).with_name("under-way").touch()
        time.sleep(900)
    start_response("200 OK", [])
    return [str(os.getpid()).encode()]

if __name__ == "__main__":
    sys.path.insert(0, sys.argv[2])
    from consumer.logs import configure_logs
    from consumer.commands import serving
    configure_logs()
    # Whoever waits for what is under way waits longer than any machine is slow.
    serving.STOP_SECONDS = 600
    serving.listen("slow_application:build", "127.0.0.1", int(sys.argv[1]))
"""

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture(name="free_port")
def _free_port() -> int:
    return free_port()


@pytest.fixture
def start(tmp_path: Path, free_port: int) -> Iterator[Start]:
    (tmp_path / "slow_application.py").write_text(APPLICATION, encoding="utf-8")
    started: list[subprocess.Popen[str]] = []

    def begin(**environ: str) -> "subprocess.Popen[str]":
        command = [sys.executable, str(tmp_path / "slow_application.py"), str(free_port), str(ROOT)]
        started.append(
            subprocess.Popen(
                command,
                env=os.environ | environ,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
        )
        return started[-1]

    yield begin
    for process in started:
        process.kill()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()


def pid_that_answers(port: int, *, other_than: int = 0) -> int:
    ends = time.monotonic() + 120
    while time.monotonic() < ends:
        try:
            pid = int(httpx.get(f"http://127.0.0.1:{port}/", trust_env=False).text)
        except httpx.TransportError:
            pid = 0
        if pid not in {0, other_than}:
            return pid
        time.sleep(0.05)
    raise AssertionError("no answer")


def until(is_so: Callable[[], bool]) -> None:
    ends = time.monotonic() + 120
    while not is_so():
        assert time.monotonic() < ends, "it did not happen"
        time.sleep(0.002)


def children_of(pid: int) -> set[int]:
    return {int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}


@pytest.mark.parametrize("name", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_is_said_at_once_and_a_second_one_does_not_wait(
    start: Start, free_port: int, tmp_path: Path, name: signal.Signals
) -> None:
    """A request that takes long is waited for aloud; who asks again has the terminal back and waits for nothing."""
    server = start()
    assert server.stderr is not None
    pid_that_answers(free_port)
    slow = subprocess.Popen(
        [sys.executable, "-c", f"import urllib.request as u; u.urlopen('http://127.0.0.1:{free_port}/slow')"],
        stderr=subprocess.DEVNULL,
    )
    until((tmp_path / "under-way").exists)
    server.send_signal(name)
    lines = [server.stderr.readline(), server.stderr.readline()]
    assert lines[1] == ("stopping: requests and jobs under way may take up to 10 seconds; Ctrl-C again ends at once\n")
    assert server.poll() is None

    server.send_signal(name)

    assert server.wait(timeout=for_run(short=180, full=3)) == 130
    slow.wait()


def test_a_server_outlives_processes_that_die_again_and_again(start: Start, free_port: int) -> None:
    """Three deaths within seconds are three new processes; the last takes a moment, and is told."""
    server = start()
    pid = pid_that_answers(free_port)
    known = children_of(server.pid)
    os.kill(pid, signal.SIGKILL)
    # The server below gives up where the next one dies within seconds, so this one does not live to answer.
    until(lambda: bool(children_of(server.pid) - known))
    (pid,) = children_of(server.pid) - known
    os.kill(pid, signal.SIGKILL)
    pid = pid_that_answers(free_port)
    os.kill(pid, signal.SIGKILL)
    pid_that_answers(free_port, other_than=pid)
    server.send_signal(signal.SIGTERM)

    _, shown = server.communicate()

    assert server.returncode == 0
    assert "serving processes died again and again" in shown


def test_an_application_that_cannot_be_built_ends_the_command(start: Start) -> None:
    """No repetition mends it, so whoever started the command sees that it failed."""
    server = start(BROKEN="1")

    _, shown = server.communicate(timeout=180)

    assert server.returncode == 1
    assert "never to be built" in shown


def test_starts_follow_each_other_more_slowly_until_it_is_quiet() -> None:
    """A second, then two, at most thirty; after a quiet minute it is a second again."""
    pauses = Pauses()

    assert [pauses.next(now=now) for now in (0.0, 5.0, 10.0, 20.0, 35.0, 60.0, 99.0)] == [1, 2, 4, 8, 16, 30, 30]
    assert pauses.next(now=300.0) == 1


def test_a_signal_to_the_whole_group_ends_it_soon(start: Start, free_port: int) -> None:
    """A terminal signals every process and the one above signals again; none is left waiting to be killed."""
    server = start()
    pid_that_answers(free_port)

    os.killpg(server.pid, signal.SIGINT)

    assert server.wait(timeout=for_run(short=180, full=8)) == 0
