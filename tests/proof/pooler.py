"""PgBouncer in transaction mode before a PostgreSQL of a test's own."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import pytest

from tests.proof.cluster import Cluster, folder_of

PORT = 6432
_STARTS_WITHIN_S = 60


class Pooler:
    """A pooler of a few connections to one server, which can be pointed at another while it runs."""

    def __init__(self, program: str, user: str | None, folder: Path, *, size: int) -> None:
        self.program, self.user, self.folder, self.size = program, user, folder, size
        self.url = f"postgresql+psycopg://cuadre@/postgres?host={folder}&port={PORT}&pooler=transaction"

    def point_at(self, cluster: Cluster) -> None:
        (self.folder / "pooler.ini").write_text(
            f"[databases]\n* = host={cluster.folder} user=cuadre\n[pgbouncer]\nlisten_addr=\nlisten_port={PORT}\n"
            f"unix_socket_dir={self.folder}\nauth_type=any\npool_mode=transaction\ndefault_pool_size={self.size}\n"
            f"max_client_conn=500\nserver_login_retry=1\nlogfile={self.folder}/log\npidfile={self.folder}/pid\n"
        )

    def start(self) -> None:
        with (self.folder / "out").open("wb") as out:
            command: list[str | Path] = [self.program, self.folder / "pooler.ini"]
            self.process = subprocess.Popen(command, user=self.user, stdout=out, stderr=out)
        deadline = time.monotonic() + _STARTS_WITHIN_S
        while self.process.poll() is None and time.monotonic() < deadline:
            with suppress(psycopg.OperationalError):
                psycopg.connect(dbname="postgres", user="cuadre", host=str(self.folder), port=PORT).close()
                return
            time.sleep(0.02)
        pytest.fail((self.folder / "out").read_text())

    def move_to(self, cluster: Cluster) -> None:
        """Send everyone to another server, as whoever promotes it would."""
        self.point_at(cluster)
        self.process.send_signal(signal.SIGHUP)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()


@contextmanager
def run_pooler(cluster: Cluster, user: str | None, *, size: int) -> Iterator[Pooler]:
    program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        pytest.skip("no pgbouncer is installed")  # a machine may lack it; a complete run fails here
    with folder_of(user) as folder:
        pooler = Pooler(program, user, folder, size=size)
        pooler.point_at(cluster)
        try:
            pooler.start()
            yield pooler
        finally:
            pooler.stop()
