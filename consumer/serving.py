"""The long-lived processes: what `cuadre serve`, `cuadre web` and `cuadre worker` run, and the server below them."""

import errno
import importlib
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import click
from granian.constants import Interfaces
from granian.log import LogLevels
from granian.server import Server

from consumer import alarms
from consumer.facts.house import House, OpenHouse
from consumer.facts.terminal import Refusal, say
from consumer.inbox.apply import drain
from consumer.jobs.worker import Worker, worker_name

# They wait for a commit, not for a processor.
THREADS = 32
_LONELY = 1

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
        reason = "somebody listens there already" if error.errno == errno.EADDRINUSE else error.strerror
        raise Refusal(f"cannot listen on {host}:{port}: {reason}; choose another --port or --host") from None


def listen(factory: str, host: str, port: int, *, processes: int = 1) -> None:
    """Serve the WSGI application that `module:factory` builds in each process, until told to stop."""
    check_free(host, port)
    say(f"listening on http://{host}:{port}")
    logging.getLogger("_granian").addFilter(_is_news)
    alive, held = os.pipe()
    Server(
        factory,
        address=host,
        port=port,
        interface=Interfaces.WSGI,
        workers=processes,
        blocking_threads=THREADS,
        backpressure=4 * THREADS,
        log_level=LogLevels.warning,
        respawn_failed_workers=True,
        workers_kill_timeout=10,
    ).serve(target_loader=partial(_load, factory, alive, held), wrap_loader=False)


def _is_news(record: logging.LogRecord) -> bool:
    """The number of threads is meant; the server's other warnings are news."""
    return "Python threads" not in record.msg


def _load(factory: str, alive: int, held: int) -> Callable[..., Any]:
    """Build the application in a process of the server, which ends when the process that started it does.

    Without this, whoever survives a killed parent keeps the port, and the next start is refused.
    """
    os.close(held)
    threading.Thread(target=_end_with_parent, args=(alive,), name="parent-watch", daemon=True).start()
    module, name = factory.split(":")
    application: Callable[..., Any] = getattr(importlib.import_module(module), name)()
    return application


def _end_with_parent(alive: int) -> None:
    # Nobody ever writes; the end of the pipe is the end of every process that held it.
    os.read(alive, 1)
    os._exit(_LONELY)


def start_worker(house: House) -> Worker:
    """Apply the inbox and watch it, from threads of this process."""
    worker = Worker(lambda: drain(house.store, house.settings, worker=worker_name()).claimed)
    worker.start()
    alarms.start(house, until=worker.stopped)
    return worker


def commands(
    *,
    start_scheduler: Callable[[House], None],
    greet: Callable[[House, str], None],
) -> tuple[click.Command, ...]:
    """Make the commands; which jobs there are and whom to greet is known to `app.py`."""

    @click.command()
    @_HOST
    @_PORT
    @_NIGHTS
    @click.pass_obj
    def serve(open_house: OpenHouse, *, host: str, port: int, nights: bool) -> None:
        """Receive, show, apply and schedule, all in one process."""
        house = open_house()
        greet(house, f"http://{host}:{port}")
        house.store.close()
        listen("app:serve_all" if nights else "app:serve_without_nights", host, port)

    @click.command()
    @_HOST
    @_PORT
    @_PROCESSES
    @click.pass_obj
    def web(open_house: OpenHouse, *, host: str, port: int, processes: int) -> None:
        """Receive webhooks and show pages; cuadre worker does the rest."""
        house = open_house()
        greet(house, f"http://{host}:{port}")
        house.store.close()
        listen("app:serve_web", host, port, processes=1 if house.store.is_sqlite else processes)

    @click.command()
    @click.pass_obj
    def worker(open_house: OpenHouse) -> None:
        """Apply the inbox and run the nights; start as many as needed."""
        house = open_house()
        work = start_worker(house)
        start_scheduler(house)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        say("working; Ctrl-C stops")
        work.wait()

    return (serve, web, worker)
