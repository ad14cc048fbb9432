"""A PostgreSQL of the benchmark's own with the durability it ships with, for as long as a block lasts."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa


@dataclass(frozen=True, slots=True)
class Cluster:
    """A running server: its address and the process above all its others."""

    url: str
    pid: int

    def database(self, name: str) -> str:
        """Make an empty database, in place of one of that name, and answer its address."""
        engine = sa.create_engine(self.url, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.execute(sa.text(f"DROP DATABASE IF EXISTS {name}"))
            connection.execute(sa.text(f"CREATE DATABASE {name}"))
        engine.dispose()
        return sa.make_url(self.url).set(database=name).render_as_string(hide_password=False)


@contextmanager
def postgresql(*, preload: Path | None = None, slower_us: int = 0) -> Iterator[Cluster]:
    """Start a cluster on a loopback port and a folder of its own; every setting else is the default."""
    binaries = _binaries()
    user = os.environ.get("BENCH_POSTGRESQL_USER", "postgres") if os.geteuid() == 0 else None
    slow = {"LD_PRELOAD": str(preload), "SLOW_FSYNC_US": str(slower_us)} if preload else {}
    with tempfile.TemporaryDirectory(prefix="cuadre-bench-pg-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        if user:
            shutil.chown(folder, user)

        def run(*command: str | Path) -> None:
            # No pipes: the server would inherit them and never let go.
            quiet = subprocess.DEVNULL
            environ = os.environ | slow
            subprocess.run(command, check=True, user=user, cwd=folder, env=environ, stdout=quiet, stderr=quiet)

        data, port = folder / "data", free_port()
        run(binaries / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C")
        options = f"-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories={folder}"
        run(binaries / "pg_ctl", "-D", data, "-w", "-t", "60", "-o", options, "-l", folder / "log", "start")
        try:
            pid = int((data / "postmaster.pid").read_text(encoding="ascii").split("\n", 1)[0])
            yield Cluster(f"postgresql+psycopg://postgres@127.0.0.1:{port}/postgres", pid)
        finally:
            run(binaries / "pg_ctl", "-D", data, "-w", "-m", "immediate", "stop")


def free_port() -> int:
    """A loopback port without a listener just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _binaries() -> Path:
    found = shutil.which("initdb") or next(
        (str(path) for path in sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), reverse=True)), None
    )
    if found is None:
        raise SystemExit("PostgreSQL's initdb is not here: install the package postgresql")
    return Path(found).resolve().parent
