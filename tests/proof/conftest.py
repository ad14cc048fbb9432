"""An installation of real processes that can be killed, on a database of its own, and senders that never give up."""

import hashlib
import hmac
import http.client
import json
import os
import random
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa

from consumer.facts import schema
from consumer.facts.store import Store

HERE = Path(__file__).parent
SECRET = b"whsec_test_secret"
PATIENCE = 60.0


class Cluster:
    """A PostgreSQL that belongs to one test alone, so that it may be killed, frozen and starved."""

    def __init__(self, programs: Path, user: str | None, folder: Path) -> None:
        self.programs, self.user, self.folder = programs, user, folder
        self.process: subprocess.Popen[bytes] | None = None
        self.url = f"postgresql+psycopg://cuadre@/postgres?host={folder}"

    def create(self) -> None:
        command: list[str | Path] = [
            self.programs / "initdb",
            "-D",
            self.folder / "data",
            "-U",
            "cuadre",
            "-A",
            "trust",
            "-E",
            "UTF8",
        ]
        subprocess.run(
            [*command, "--locale=C", "--no-sync"],
            check=True,
            user=self.user,
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def start(self) -> None:
        """Start, again and again while processes of the one killed before still hold its memory."""
        deadline = time.monotonic() + PATIENCE
        while not self._answers():
            assert time.monotonic() < deadline, (self.folder / "log").read_text()[-2000:]
            if self.process is None or self.process.poll() is not None:
                self._launch()
            time.sleep(0.02)

    def _launch(self) -> None:
        options = ["-c", "listen_addresses=", "-c", f"unix_socket_directories={self.folder}"]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [self.programs / "postgres", "-D", self.folder / "data", *options],
                user=self.user,
                cwd=self.folder,
                stdout=log,
                stderr=log,
            )

    def _answers(self) -> bool:
        with (
            suppress(psycopg.OperationalError),
            psycopg.connect(dbname="postgres", user="cuadre", host=str(self.folder)),
        ):
            return self.process is not None
        return False

    @property
    def postmaster(self) -> int:
        assert self.process is not None
        return self.process.pid

    def backends(self) -> list[int]:
        """Every process that serves or writes; they come and go."""
        children = Path(f"/proc/{self.postmaster}/task/{self.postmaster}/children")
        with suppress(OSError):
            return [int(pid) for pid in children.read_text().split()]
        return []

    def signal_all(self, number: int) -> None:
        for pid in (*self.backends(), self.postmaster):
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def limit_files(self, most: int) -> None:
        """Let no process make a file larger than this: what a full disk is to it."""
        pids = (*self.backends(), self.postmaster)

        def limit() -> None:
            for pid in pids:
                with suppress(ProcessLookupError):
                    resource.prlimit(pid, resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))

        # Only its own user may, even where this one is root.
        subprocess.run(["true"], check=True, user=self.user, preexec_fn=limit)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def stop(self) -> None:
        if self.process is None:
            return
        left = self.backends()
        # A quick shutdown needs no recovery at the next start.
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.kill()
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@contextmanager
def folder_of(user: str | None) -> Iterator[Path]:
    # Short, since a socket's path may not be long.
    with tempfile.TemporaryDirectory(prefix="cuadre-own-", ignore_cleanup_errors=True) as name:
        if user is not None:
            shutil.chown(name, user)
        yield Path(name)


@pytest.fixture(scope="session")
def migrated_cluster(postgresql_programs: tuple[Path, str | None]) -> Iterator[Path]:
    """The data of a migrated PostgreSQL that is not running, for tests to copy."""
    programs, user = postgresql_programs
    with folder_of(user) as folder:
        made = Cluster(programs, user, folder)
        made.create()
        made.start()
        store = Store(made.url)
        schema.upgrade(store)
        store.close()
        made.stop()
        yield folder / "data"


@pytest.fixture
def cluster(postgresql_programs: tuple[Path, str | None], migrated_cluster: Path) -> Iterator[Cluster]:
    """A running PostgreSQL of this test's own, migrated."""
    programs, user = postgresql_programs
    with folder_of(user) as folder:
        subprocess.run(["cp", "-a", migrated_cluster, folder / "data"], check=True)
        made = Cluster(programs, user, folder)
        made.start()
        yield made
        made.stop()


class Installation:
    """Receiver, worker and whatever else runs, as processes of their own on one database."""

    def __init__(self, database_url: str, folder: Path) -> None:
        self.database_url, self.folder = database_url, folder
        self.store = Store(database_url)
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]

    def start(self, role: str, *, processes: int = 1, prepare: Callable[[], None] | None = None) -> None:
        """Start `receive`, `work` or `write`."""
        with (self.folder / f"{role}.log").open("ab") as log:
            self.running[role] = subprocess.Popen(
                [sys.executable, HERE / "installation.py", role, str(self.port), str(processes)],
                env={**os.environ, **self.environment(), "PYTHONPATH": str(HERE.parents[1])},
                stdout=subprocess.DEVNULL,
                stderr=log,
                preexec_fn=prepare,  # noqa: PLW1509 - limits and privileges are set before the program begins
            )

    def serve(self, *, processes: int = 1, prepare: Callable[[], None] | None = None) -> None:
        """Start a receiver and return when it answers."""
        self.start("receive", processes=processes, prepare=prepare)
        self.until(self.is_alive, "the receiver answers")

    def until(self, is_so: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not is_so():
            assert time.monotonic() < deadline, f"not within {PATIENCE:.0f} s: {what}"
            time.sleep(0.01)

    def environment(self) -> dict[str, str]:
        return {
            "CUADRE_PROVIDER_URL": "http://provider.test",
            "CUADRE_API_KEY": "sk_test_sandbox",
            "CUADRE_COUNTRY": "cl",
            "CUADRE_WEBHOOK_SECRETS": SECRET.decode(),
            "CUADRE_DATA_DIR": str(self.folder / "instance"),
            "CUADRE_DATABASE_URL": self.database_url,
            "CUADRE_SECRET_KEY": "tests",
        }

    def is_alive(self) -> bool:
        with suppress(OSError, http.client.HTTPException):
            return self.get("/healthz")[0] == 200
        return False

    def get(self, path: str) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def post(self, body: bytes, *, secret: bytes = SECRET) -> tuple[int, dict[str, Any], str | None]:
        """Send one signed body; returns status, answer and Retry-After."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            return deliver(connection, body, secret=secret)
        finally:
            connection.close()

    def children_of(self, role: str) -> list[int]:
        pid = self.running[role].pid
        with suppress(OSError):
            return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
        return []

    def ids(self) -> set[str]:
        with self.store.reading() as session:
            return set(session.connection().execute(sa.text("SELECT id FROM event")).scalars())

    def kill(self, role: str) -> None:
        process = self.running.pop(role)
        process.kill()
        process.wait()

    def close(self) -> None:
        for role in list(self.running):
            self.kill(role)
        self.store.close()


def deliver(
    connection: http.client.HTTPConnection, body: bytes, *, secret: bytes = SECRET
) -> tuple[int, dict[str, Any], str | None]:
    at = str(int(time.time())).encode()
    digest = hmac.new(secret, at + b"." + body, hashlib.sha256).hexdigest()
    connection.request("POST", "/webhooks", body, {"Fintoc-Signature": f"t={at.decode()},v1={digest}"})
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read()), answer.getheader("Retry-After")


@pytest.fixture
def install(tmp_path: Path) -> Iterator[Callable[[str], Installation]]:
    """Make an installation on a database; whatever it runs is killed afterwards."""
    made: list[Installation] = []

    def on(database_url: str) -> Installation:
        made.append(Installation(database_url, tmp_path))
        return made[-1]

    yield on
    for one in made:
        one.close()


@pytest.fixture
def own_url(database_kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a migrated database whose server, where it has one, belongs to this test alone."""
    if database_kind == "sqlite":
        shutil.copy(request.getfixturevalue("migrated_sqlite"), tmp_path / "cuadre.db")
        return f"sqlite:///{tmp_path / 'cuadre.db'}"
    url: str = request.getfixturevalue("cluster").url
    return url


@dataclass
class Senders:
    """Threads that deliver trade as the provider does: in any order, again what was not answered, again what was."""

    port: int
    events: Callable[[int], dict[str, Any]]
    count: int = 8
    pause: float = 0.01
    acknowledged: set[str] = field(default_factory=set)
    unanswered: list[dict[str, Any]] = field(default_factory=list)
    statuses: set[int] = field(default_factory=set)

    def start(self) -> None:
        self._stopped = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(place,)) for place in range(self.count)]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    def _run(self, place: int) -> None:
        chance = random.Random(place)  # noqa: S311 - repeatable
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        number = place
        while not self._stopped.wait(self.pause):
            kind = chance.random()
            if kind < 0.15 and number > self.count:
                event = self.events(chance.randrange(place, number, self.count))
            elif kind < 0.3 and self.unanswered:
                event = self.unanswered.pop()
            else:
                event = self.events(number)
                number += self.count
            self.send(connection, event)
        connection.close()

    def send(self, connection: http.client.HTTPConnection, event: dict[str, Any]) -> None:
        try:
            status = deliver(connection, json.dumps(event).encode())[0]
        except (OSError, http.client.HTTPException):
            connection.close()
            status = 0
            self._stopped.wait(0.1)
        self.statuses.add(status)
        if status == 200:
            self.acknowledged.add(event["id"])
        else:
            self.unanswered.append(event)

    def _deliver_all(self, events: Sequence[dict[str, Any]]) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        for event in events:
            self.send(connection, event)
        connection.close()

    def deliver_the_rest(self) -> bool:
        """Deliver again what has no 200 yet, as the provider does; tells whether nothing is left."""
        events = [self.unanswered.pop() for _ in range(len(self.unanswered))]
        with ThreadPoolExecutor(self.count) as pool:
            list(pool.map(self._deliver_all, [events[start :: self.count] for start in range(self.count)]))
        return not self.unanswered


@pytest.fixture
def send() -> Iterator[Callable[..., Senders]]:
    """Start senders to a port; they stop when the test does."""
    made: list[Senders] = []

    def start(port: int, events: Callable[[int], dict[str, Any]], **options: Any) -> Senders:
        made.append(Senders(port, events, **options))
        made[-1].start()
        return made[-1]

    yield start
    for one in made:
        one.stop()
