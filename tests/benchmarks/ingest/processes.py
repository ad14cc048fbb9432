"""What processes cost: CPU seconds of a tree, of the whole machine, and waiting for a port to open."""

import os
import socket
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

import sqlalchemy as sa

from consumer.facts.store import Store

_TICK = os.sysconf("SC_CLK_TCK")
_PATIENCE_SECONDS = 60.0


def tree_cpu(roots: Iterable[int]) -> float:
    """CPU seconds that these processes and all below them have used."""
    parents: dict[int, int] = {}
    used: dict[int, float] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            continue
        number = int(path.parent.name)
        rest = text.rpartition(")")[2].split()
        parents[number] = int(rest[1])
        used[number] = (int(rest[11]) + int(rest[12])) / _TICK
    wanted = set(roots)
    while found := {number for number, parent in parents.items() if parent in wanted} - wanted:
        wanted |= found
    return sum(used.get(number, 0.0) for number in wanted)


def find_server(store: Store) -> int | None:
    """Return the process above all others of the PostgreSQL on this machine, None for SQLite."""
    if store.is_sqlite:
        return None
    with store.reading() as session:
        own = int(session.scalar(sa.text("SELECT pg_backend_pid()")) or 0)
    return int(Path(f"/proc/{own}/stat").read_text("utf-8").rpartition(")")[2].split()[1])


def machine_cpu() -> float:
    """CPU seconds that everything on the machine has used."""
    user, nice, system, _idle, _wait, irq, soft = map(
        int, Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:8]
    )
    return (user + nice + system + irq + soft) / _TICK


def wait_for_port(port: int, process: subprocess.Popen[bytes]) -> None:
    """Return once the process accepts connections there."""
    until = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            if process.poll() is not None or time.monotonic() > until:
                raise
            time.sleep(0.1)
        else:
            return
