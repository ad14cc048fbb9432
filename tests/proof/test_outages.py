"""The database frozen, locked, full or read-only: a clear 503 in time, and work goes on without a restart."""

import ctypes
import json
import resource
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa

from tests.thoroughness import IS_FULL, for_run

pytestmark = pytest.mark.both_databases

PATIENCE = for_run(short=1.0, full=10.0)
# What a busy machine adds to it; what does not answer at all is found out in any case.
GRACE = for_run(short=60.0, full=2.0)
ON_SQLITE = pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
ON_POSTGRESQL = pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)


@pytest.fixture
def short_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    if not IS_FULL:
        monkeypatch.setenv("CUADRE_TEST_PATIENCE", "1")


def store_all(installation: Any, *numbers: int) -> None:
    """Deliver until each is stored, as senders do: with little patience a busy machine may refuse one at first."""
    for number in numbers:
        installation.until(lambda number=number: installation.post(event(number))[0] == 200, f"evt_{number} is stored")


@pytest.fixture
def installation(own_url: str, install: Callable[[str], Any]) -> Any:
    return install(own_url)


def event(number: int, size: int = 0) -> bytes:
    data = {"id": f"re_{number}", "object": "refund", "mode": "test", "amount": 5, "currency": "CLP"}
    data |= {"status": "succeeded", "comment": "x" * size}
    at = "2026-10-05T11:00:00Z"
    body = {"id": f"evt_{number}", "type": "refund.succeeded", "mode": "test", "created_at": at, "data": data}
    return json.dumps(body).encode()


def check_refused(installation: Any, number: int, *, within: float, size: int = 0) -> None:
    """Hold that an authentic event is told 503 and when to come back, in time."""
    began = time.monotonic()
    status, answer, retry_after = installation.post(event(number, size))
    assert (status, retry_after) == (503, "5"), answer
    assert time.monotonic() - began < within


def check_recovered(installation: Any, *numbers: int) -> None:
    """Hold that the process that refused now stores, and that what it refused can come again."""

    def is_stored() -> bool:
        return all(installation.post(event(number))[0] == 200 for number in numbers)

    pids = installation.children_of("receive")
    installation.until(is_stored, "the store works again")
    assert {f"evt_{number}" for number in numbers} <= installation.ids()
    installation.until(lambda: installation.post(event(numbers[0]))[1] == {"status": "duplicate"}, "it is known")
    assert installation.children_of("receive") == pids


@ON_POSTGRESQL
@pytest.mark.usefixtures("short_patience")
def test_a_frozen_database(installation: Any, request: pytest.FixtureRequest) -> None:
    """While PostgreSQL stands still forgeries are told so, probes answer, events get 503; then everything goes on."""
    cluster = request.getfixturevalue("cluster")
    installation.serve(processes=2)
    store_all(installation, *range(4))
    cluster.signal_all(signal.SIGSTOP)
    try:
        with_forgery = installation.post(event(9), secret=b"whsec_other")
        threads = [
            threading.Thread(target=check_refused, args=(installation, number), kwargs={"within": PATIENCE + GRACE})
            for number in range(10, 90)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for number in range(90, 94):
            check_refused(installation, number, within=PATIENCE + GRACE)
        probes = [installation.get(path) for path in ("/healthz", "/readyz", "/readyz", "/metrics")]
    finally:
        cluster.signal_all(signal.SIGCONT)

    assert with_forgery[0] == 401
    assert [status for status, _ in probes] == [200, 503, 503, 200]
    check_recovered(installation, 10, 90, 100)
    installation.until(lambda: installation.get("/readyz")[0] == 200, "it is ready again")


@pytest.mark.usefixtures("short_patience")
def test_a_lock_held_for_long(migrated_url: str, install: Callable[[str], Any], database_kind: str) -> None:
    """Whoever locks the table for three times the patience makes senders come back, and nothing worse."""
    installation = install(migrated_url)
    installation.serve()
    store_all(installation, 1)
    with installation.store.connection() as connection:
        if database_kind == "postgresql":
            connection.execute(sa.text("LOCK TABLE event"))
        began = time.monotonic()
        check_refused(installation, 2, within=PATIENCE + GRACE)
        while time.monotonic() - began < 3 * PATIENCE:
            check_refused(installation, 3, within=PATIENCE + GRACE)
            time.sleep(PATIENCE / 10)
    check_recovered(installation, 2, 3, 4)


def fill(installation: Any) -> set[str]:
    """Send until the disk is full, also after what could be tidied up was; returns what was acknowledged."""
    acknowledged = set()
    refused = 0
    for number in range(10, 400):
        status, answer, _ = installation.post(event(number, size=50_000))
        refused = refused + 1 if status == 503 else 0
        if status == 200:
            acknowledged.add(f"evt_{number}")
        else:
            assert (status, answer) == (503, {"error": "store_down"})
        if refused == 3:
            return acknowledged
    raise AssertionError("the disk never was full")


@ON_SQLITE
def test_a_full_disk_under_sqlite(installation: Any) -> None:
    """When the file may not grow nothing is half-written and nothing acknowledged is lost; with room it goes on."""
    installation.serve()
    assert installation.post(event(1))[0] == 200
    (pid,) = installation.children_of("receive")
    hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)[1]
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (2_000_000, hard))
    acknowledged = fill(installation)
    check_refused(installation, 2, within=PATIENCE + GRACE, size=50_000)
    assert acknowledged <= installation.ids()
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (hard, hard))

    check_recovered(installation, 2, 500)
    assert acknowledged <= installation.ids()
    with installation.store.reading() as session:
        assert session.connection().exec_driver_sql("PRAGMA integrity_check").scalar_one() == "ok"


@ON_POSTGRESQL
def test_a_full_disk_under_postgresql(installation: Any, request: pytest.FixtureRequest) -> None:
    """When its files may not grow PostgreSQL refuses or falls over; what was acknowledged survives, and it goes on."""
    cluster = request.getfixturevalue("cluster")
    installation.serve()
    assert installation.post(event(1))[0] == 200
    cluster.limit_files(2_000_000)
    acknowledged = fill(installation)
    check_refused(installation, 2, within=PATIENCE + GRACE, size=50_000)
    cluster.limit_files(resource.RLIM_INFINITY)
    cluster.start()

    check_recovered(installation, 2, 500)
    assert acknowledged <= installation.ids()


def give_up_privilege() -> None:
    """Let root be refused by a file's permissions as anybody else is: drop CAP_DAC_OVERRIDE for what is started."""
    ctypes.CDLL(None).prctl(24, 1, 0, 0, 0)


@ON_SQLITE
def test_a_read_only_file(installation: Any) -> None:
    """Started on a file it may only read, the receiver stores as soon as it may write, without a restart."""
    path = Path(installation.store.url.database)
    path.touch()
    path.chmod(0o444)
    installation.serve(prepare=give_up_privilege)
    for number in (1, 2):
        check_refused(installation, number, within=PATIENCE + GRACE)
    assert installation.post(event(1), secret=b"whsec_other")[0] == 401
    for each in path.parent.glob(f"{path.name}*"):
        each.chmod(0o644)

    check_recovered(installation, 1, 2, 3)


@ON_POSTGRESQL
def test_a_read_only_database(installation: Any, request: pytest.FixtureRequest) -> None:
    """While PostgreSQL is a standby senders are told to come back; promoted, it stores without a restart of ours."""
    cluster = request.getfixturevalue("cluster")
    installation.serve()
    assert installation.post(event(1))[0] == 200
    cluster.kill()
    (cluster.folder / "data" / "standby.signal").touch()
    cluster.start()
    for number in (2, 3):
        check_refused(installation, number, within=PATIENCE + GRACE)
    assert installation.get("/readyz")[0] == 503
    with psycopg.connect(dbname="postgres", user="cuadre", host=cluster.folder, autocommit=True) as connection:
        connection.execute("SELECT pg_promote()")

    check_recovered(installation, 2, 3, 4)
    assert "evt_1" in installation.ids()
