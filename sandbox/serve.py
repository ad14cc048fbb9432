"""Builds the sandbox and serves it: in process, on a port, or in a thread for tests and the demo."""

import os
import signal
import socket
import threading
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypedDict, Unpack

import click
import httpx
from flask import Flask
from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server
from werkzeug.test import run_wsgi_app

from sandbox.engine.faults import Fault, Wire
from sandbox.engine.world import World
from sandbox.gate import open_gate
from sandbox.identity import to_blueprint
from sandbox.scenarios import build_scenario
from sandbox.state.clock import START_AT, Ticker
from sandbox.state.happening import Scenario

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

IDLE_SECONDS = 120
BODILESS = {204, 304}
DEFAULT_SCENARIO = "busy-month"
DEFAULT_SEED = 1


class OpenConnections:
    """The sockets that are being served, so that stopping means stopping."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sockets: set[socket.socket] = set()

    def add(self, connection: socket.socket) -> None:
        with self._lock:
            self._sockets.add(connection)

    def remove(self, connection: socket.socket) -> None:
        with self._lock:
            self._sockets.discard(connection)

    def close(self) -> None:
        with self._lock:
            for connection in self._sockets:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    continue  # the other side was quicker


class KeepAliveHandler(WSGIRequestHandler):
    """Werkzeug's handler closes after every answer; this one keeps HTTP/1.1 connections open and the terminal quiet."""

    protocol_version = "HTTP/1.1"
    timeout = IDLE_SECONDS
    # Headers and body are two writes; with Nagle's algorithm the second would wait for the client.
    disable_nagle_algorithm = True
    connections: OpenConnections

    def setup(self) -> None:
        super().setup()
        self.connections.add(self.connection)

    def finish(self) -> None:
        self.connections.remove(self.connection)
        try:
            super().finish()
        except (OSError, ValueError):
            self.close_connection = True  # the connection was reset under it

    def log(self, *_: object, **__: object) -> None:
        """Keep the terminal quiet."""

    def run_wsgi(self) -> None:
        environ = self.make_environ()
        app: WSGIApplication = self.server.app
        try:
            body, status, headers = run_wsgi_app(app, environ)
        except ConnectionResetError:
            self.close_connection = True
            return
        code = int(status.split(" ", 1)[0])
        self.send_response_only(code, status.partition(" ")[2])  # the sandbox's own Date, not this machine's
        for name, value in headers:
            self.send_header(name, value)
        is_chunked = "Content-Length" not in headers and code not in BODILESS and self.command != "HEAD"
        if is_chunked:
            self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for data in body:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data) if is_chunked else data)
        if is_chunked:
            self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()


class Settings(TypedDict, total=False):
    """What a sandbox may be given, all by name."""

    seed: int
    scale: float
    damages: Mapping[str, float] | None
    start_at: datetime
    faults: Iterable[Fault]
    header_prefix: str
    transport: httpx.BaseTransport | None  # carries the webhooks where no socket is wanted


class SandboxApp(Flask):
    """The sandbox as a WSGI application."""

    def __init__(self, world: World) -> None:
        super().__init__(__name__, static_folder=None)
        self.world = world
        self.url_map.strict_slashes = True
        open_gate(self, world)
        self.register_blueprint(to_blueprint())

    def wsgi_app(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        return Wire(super().wsgi_app)(environ, start_response)


def create_sandbox(scenario: str | Scenario = DEFAULT_SCENARIO, **settings: Unpack[Settings]) -> SandboxApp:
    """Return a sandbox with the scenario of that name, or with this one."""
    seed, start_at = settings.get("seed", DEFAULT_SEED), settings.get("start_at", START_AT)
    if isinstance(scenario, str):
        scenario = build_scenario(scenario, seed, settings.get("scale", 1.0), start_at, damages=settings.get("damages"))
    world = World(
        scenario,
        seed=seed,
        start_at=start_at,
        header_prefix=settings.get("header_prefix", "Fintoc"),
        faults=settings.get("faults", ()),
        transport=settings.get("transport"),
    )
    return SandboxApp(world)


class RunningSandbox:
    """A sandbox served in a thread. Leaving the `with` block stops it."""

    def __init__(
        self,
        scenario: str | Scenario = DEFAULT_SCENARIO,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        is_live: bool = False,
        **settings: Unpack[Settings],
    ) -> None:
        self.app = create_sandbox(scenario, **settings)
        self.world = self.app.world
        self._connections = OpenConnections()
        handler = type("Handler", (KeepAliveHandler,), {"connections": self._connections})
        # Werkzeug leaves the program when a port is taken; a socket bound before raises instead.
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with socket.create_server((host, port), family=family) as bound:
            self.port: int = bound.getsockname()[1]
            self._server: BaseWSGIServer = make_server(
                host, self.port, self.app, threaded=True, request_handler=handler, fd=bound.fileno()
            )
        shown = f"[{host}]" if ":" in host else host
        self.url = f"http://{shown}:{self.port}"
        self._ticker = Ticker(self._tick) if is_live else None
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), name="sandbox", daemon=True)

    def start(self) -> Self:
        self._thread.start()
        if self._ticker:
            self._ticker.start()
        return self

    def stop(self) -> None:
        """Take no further request, drop the open connections, finish the deliveries on their way."""
        if self._ticker:
            self._ticker.stop()
        self._server.shutdown()
        self._server.server_close()
        self._connections.close()
        self._thread.join()
        self.world.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _tick(self, passed: timedelta) -> None:
        self.world.advance(passed)


def serve(running: RunningSandbox) -> None:
    """Serve until SIGTERM or SIGINT; the second one does not wait for the deliveries on their way."""
    stopped = threading.Event()

    def stop(*_: object) -> None:
        if stopped.is_set():
            os._exit(128 + signal.SIGINT)
        click.echo("stopping: deliveries on their way are finished; Ctrl-C again ends at once", err=True)
        stopped.set()

    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, stop)
    with running:
        stopped.wait()
