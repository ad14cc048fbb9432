"""An installation of real processes that can be killed, on a database of its own, and senders that never give up."""

import http.client
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from consumer.facts import schema
from consumer.facts.store import Store
from tests.databases import make_database
from tests.merchant import ROOT
from tests.ports import free_port
from tests.proof.cluster import Cluster, folder_of
from tests.proof.senders import SECRET, Senders, deliver

HERE = Path(__file__).parent
PATIENCE = 180.0


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


@pytest.fixture
def standby(postgresql_programs: tuple[Path, str | None], cluster: Cluster) -> Iterator[Cluster]:
    """A running standby that follows the cluster."""
    programs, user = postgresql_programs
    with folder_of(user) as folder:
        made = Cluster(programs, user, folder)
        made.follow(cluster)
        made.start()
        yield made
        made.stop()


class Installation:
    """Receiver, worker and whatever else runs, as processes of their own on one database."""

    def __init__(self, database_url: str, folder: Path) -> None:
        self.database_url, self.folder = database_url, folder
        self.store = Store(database_url)
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.port = free_port()

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

    def serve_all(self, *, processes: int) -> None:
        """Start `cuadre web` as it is, pages and all, and return when it answers."""
        command = [sys.executable, "-m", "cuadre", "web", "--processes", str(processes), "--port", str(self.port)]
        environ = {**os.environ, **self.environment()}
        with (self.folder / "web.log").open("ab") as log:
            self.running["receive"] = subprocess.Popen(command, cwd=ROOT, env=environ, stdout=log, stderr=log)
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
            "CUADRE_SECRET_KEY": "a key that only tests know",
        }

    def is_alive(self) -> bool:
        with suppress(OSError, http.client.HTTPException):
            return self.get("/healthz")[0] == 200
        return False

    def get(self, path: str) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def post(self, body: bytes, *, secret: bytes = SECRET) -> tuple[int, dict[str, Any], str | None]:
        """Send one signed body; returns status, answer and Retry-After."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
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
def migrated_url(migrated_url: str, database_kind: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a migrated database of this test's own: a process that outlives the test may still write to it."""
    if database_kind == "sqlite":
        yield migrated_url
        return
    databases = request.getfixturevalue("postgresql_databases")
    with make_database(databases.server, template=databases.template) as url:
        yield url


@pytest.fixture
def own_url(database_kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a migrated database whose server, where it has one, belongs to this test alone."""
    if database_kind == "sqlite":
        shutil.copy(request.getfixturevalue("migrated_sqlite"), tmp_path / "cuadre.db")
        return f"sqlite:///{tmp_path / 'cuadre.db'}"
    url: str = request.getfixturevalue("cluster").url
    return url


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
