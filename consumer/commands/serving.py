"""The processes that serve: what `cuadre serve` and `cuadre web` run, and the server below them."""

import errno
import importlib
import logging
import multiprocessing
import os
import resource
import signal
import socket
import threading
import time
from collections.abc import Callable
from functools import partial
from multiprocessing.synchronize import Event
from typing import Any

import click
import structlog
from granian.constants import HTTPModes, Interfaces
from granian.log import LogLevels
from granian.server.mp import MPServer

from consumer.commands.stopping import STOP_SECONDS, Stop
from consumer.commands.terminal import CommandError, say
from consumer.facts.installation import Installation, OpenInstallation
from consumer.jobs.processes import STOPPING, end_with, stop_children

# They wait for a commit, not for a processor.
THREADS = 32
# A client that connects and sends no request holds a place for half a minute.
CONNECTIONS = 4_096
# Between one start of the server and the next, where its processes die at once again.
_FIRST_PAUSE, _LONGEST_PAUSE, _QUIET_SECONDS = 1.0, 30.0, 60.0

log = structlog.get_logger("cuadre.serving")

_HOST = click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
_PORT = click.option("--port", type=click.IntRange(1, 65535), default=8000, show_default=True, help="Port.")
_NIGHTS = click.option("--nights/--no-nights", default=True, show_default=True, help="Run the nightly jobs here.")
_PROCESSES = click.option(
    "--processes", type=click.IntRange(1, 64), default=2, show_default=True, help="On PostgreSQL only."
)


def check_free(host: str, port: int) -> None:
    """Refuse an address that is taken: the server itself would share it silently, and webhooks with it."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except OSError as error:
        reason = "the address is in use already" if error.errno == errno.EADDRINUSE else error.strerror
        raise CommandError(f"cannot listen on {host}:{port}: {reason}; choose another --port or --host") from None


def listen(factory: str, host: str, port: int, *, processes: int = 1) -> None:
    """Serve the WSGI application that `module:factory` builds in each process, until stopped.

    1. A process that dies is replaced at once by the server.
    2. Where the next one dies within seconds too, the server gives up, and a new one starts here, each time later.
    3. Where no process ever could build the application, that is the end: no repetition mends it.
    """
    check_free(host, port)
    # Loaded once for all, so that a process which replaces a dead one starts at once and shares the memory.
    importlib.import_module(factory.partition(":")[0])
    say(f"listening on http://{host}:{port}")
    logging.getLogger("_granian").addFilter(_is_news)
    alive, held = os.pipe()
    built = multiprocessing.Event()
    pauses = Pauses()
    while True:
        server = _Server(factory, host, port, processes)
        try:
            server.serve(target_loader=partial(_load, factory, alive, held, built), wrap_loader=False)
        except SystemExit:
            if not server.stop.is_asked and not built.is_set():
                raise
        if server.stop.is_asked:
            return
        pause = pauses.next(now=time.monotonic())
        log.error("serving processes died again and again", starts_anew_in_seconds=pause)
        if server.rest(pause):
            return


def _places() -> int:
    """Say how many connections each process may hold, having asked the system for as many open files and more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * CONNECTIONS
    files = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft not in {resource.RLIM_INFINITY, files} and soft < files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
    return files // 2


class Pauses:
    """How long to wait before the next start: twice as long each time, from the beginning after a quiet while."""

    def __init__(self) -> None:
        self._pause = 0.0
        self._until = float("-inf")

    def next(self, *, now: float) -> float:
        is_quiet = now - self._until > _QUIET_SECONDS
        self._pause = _FIRST_PAUSE if is_quiet else min(2 * self._pause, _LONGEST_PAUSE)
        self._until = now + self._pause
        return self._pause


class _Server(MPServer):
    """The server below, which says what it waits for when it is stopped."""

    def __init__(self, factory: str, host: str, port: int, processes: int) -> None:
        super().__init__(
            factory,
            address=host,
            port=port,
            interface=Interfaces.WSGI,
            workers=processes,
            blocking_threads=THREADS,
            # The server recognises the other protocol by the first bytes, for which it waits without end.
            http=HTTPModes.http1,
            backpressure=_places(),
            log_level=LogLevels.warning,
            respawn_failed_workers=True,
            workers_kill_timeout=STOP_SECONDS,
        )
        self.stop = Stop("requests and jobs under way", begin=self._begin_to_stop, end=self._kill)

    def signal_handler_interrupt(self, *_args: Any, **_kwargs: Any) -> None:
        self.stop()

    def _begin_to_stop(self) -> None:
        super().signal_handler_interrupt()  # type: ignore[no-untyped-call]

    def _kill(self) -> None:
        for process in self.wrks:
            process.kill()  # type: ignore[no-untyped-call]

    def rest(self, seconds: float) -> bool:
        """Wait before the next start; return True if it was stopped meanwhile."""
        self.main_loop_interrupt.clear()
        self.main_loop_interrupt.wait(seconds)
        return self.stop.is_asked


def _is_news(record: logging.LogRecord) -> bool:
    """The number of threads is meant; the server's other warnings are news."""
    return "Python threads" not in record.msg


def _load(factory: str, alive: int, held: int, built: Event) -> Callable[..., Any]:
    """Build the application in a process of the server, which ends when the process that started it does.

    Without this, a process that survives its killed parent keeps the port, and the next start is refused.
    """
    os.close(held)
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
    before = signal.getsignal(signal.SIGTERM)
    threading.Thread(target=_stop_once, args=(before,), name="stop", daemon=True).start()
    threading.Thread(target=end_with, args=(alive,), name="parent-watch", daemon=True).start()
    module, name = factory.split(":")
    application: Callable[..., Any] = getattr(importlib.import_module(module), name)()
    built.set()
    return application


def _stop_once(before: object) -> None:
    """Hand the server its first signal and no other.

    A terminal and a service manager signal the whole group, the process above signals once more, and two at a time
    would leave the server waiting for ever, until it is killed.
    """
    signal.sigwait(STOPPING)
    stop_children()
    handler = signal.getsignal(signal.SIGTERM)
    if handler is before or not callable(handler):
        # No request is served yet.
        os._exit(0)
    handler(signal.SIGTERM, None)


def serve_command(*, greet: Callable[[Installation, str], None]) -> click.Command:
    """Make the command; whom to greet is known to the rooms above."""

    @click.command()
    @_HOST
    @_PORT
    @_NIGHTS
    @click.pass_obj
    def serve(open_installation: OpenInstallation, *, host: str, port: int, nights: bool) -> None:
        """Receive, show, apply and schedule, all in one process."""
        installation = open_installation()
        greet(installation, f"http://{host}:{port}")
        installation.store.close()
        listen("app:serve_all" if nights else "app:serve_without_nights", host, port)

    return serve


def web_command(*, greet: Callable[[Installation, str], None], share_counters: Callable[[], None]) -> click.Command:
    """Make the command, as above; counters must be shared before anything that counts is loaded."""

    @click.command()
    @_HOST
    @_PORT
    @_PROCESSES
    @click.pass_obj
    def web(open_installation: OpenInstallation, *, host: str, port: int, processes: int) -> None:
        """Receive webhooks and show pages; cuadre worker does the rest."""
        installation = open_installation()
        greet(installation, f"http://{host}:{port}")
        installation.store.close()
        if installation.store.is_sqlite:
            processes = 1
        if processes > 1:
            share_counters()
        listen("app:serve_web", host, port, processes=processes)

    return web
