"""A process that reads the provider with small pages and kills itself before a request that was chosen for it."""

import os
import signal
import threading
from datetime import datetime
from multiprocessing import get_context
from pathlib import Path

import httpx

from consumer.commands.terminal import EXIT_STATUSES
from consumer.config import load
from consumer.facts.installation import Installation
from consumer.facts.store import Store
from consumer.provider.budget import Budget
from consumer.provider.client import Provider
from consumer.sync.backfill import read_log
from consumer.sync.pull import STREAMS, read_streams

PAGE_SIZE = "25"
_PROCESSES = get_context("forkserver")
_PROCESSES.set_forkserver_preload([__name__])


class _Countdown(httpx.BaseTransport):
    """Notes each address before it is asked; at the chosen one the process is gone, whatever its threads do."""

    def __init__(self, notes: Path, kill_at: int) -> None:
        self._inner = httpx.HTTPTransport()
        self._notes = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._left = kill_at
        self._counting = threading.Lock()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.params.get("limit") == "300":
            request.url = request.url.copy_set_param("limit", PAGE_SIZE)
        with self._counting:
            os.write(self._notes, f"{request.url.raw_path.decode()}\n".encode())
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return self._inner.handle_request(request)


def _read(environ: dict[str, str], what: str, kill_at: int, since: datetime | None) -> None:
    folder = Path(environ["CUADRE_DATA_DIR"])
    settings = load(environ, folder=folder)
    store = Store(settings.database_url)
    installation = Installation(settings, store)
    with Provider(
        settings.connection("main"), settings, Budget(store, 100_000), transport=_Countdown(folder / "asked", kill_at)
    ) as provider:
        is_log = what == "events"
        outcome = (
            read_log(installation, provider, since=since)
            if is_log
            else read_streams(installation, provider, [STREAMS[what]])
        )
    store.close()
    raise SystemExit(EXIT_STATUSES[outcome.status])


def read_apart(
    environ: dict[str, str], what: str, *, kill_at: int = 0, since: datetime | None = None
) -> tuple[int, list[str]]:
    """Read in a process of its own; returns how it ended, as a signal's negative number too, and what it asked."""
    notes = Path(environ["CUADRE_DATA_DIR"]) / "asked"
    notes.unlink(missing_ok=True)
    reader = _PROCESSES.Process(target=_read, args=(environ, what, kill_at, since))
    reader.start()
    reader.join(300)
    if reader.exitcode is None:
        reader.kill()
        reader.join()
    return int(reader.exitcode or 0), notes.read_text().splitlines()
