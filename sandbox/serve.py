"""Builds the sandbox and serves it: in process, on a port, or in a thread for tests and the demo."""

import os
import signal
import socket
import threading
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any, Self

import click
import httpx
from flask import Flask
from werkzeug.serving import BaseWSGIServer, make_server

from sandbox import scenarios
from sandbox.connection import KeepAliveHandler, OpenConnections
from sandbox.engine.world import World
from sandbox.faults.answering import Wire
from sandbox.faults.registry import Fault
from sandbox.gate import open_gate
from sandbox.state.clock import START_AT, Ticker
from sandbox.state.happening import Scenario
from sandbox.steering import UnknownScenarioError, steering

DEFAULT_SCENARIO = "busy-month"
DEFAULT_SEED = 1
LARGEST = 2_000


def build_scenario(name: object, seed: object, scale: object, start_at: datetime, damages: object = None) -> Scenario:
    """The scenario of that name. Raises UnknownScenarioError with a sentence that lists the names."""
    is_flag = isinstance(seed, bool) or isinstance(scale, bool)
    if not isinstance(name, str) or not isinstance(seed, int) or not isinstance(scale, int | float) or is_flag:
        raise UnknownScenarioError("A scenario needs a name, a whole number as seed and a number as scale")
    if not 0 < scale <= LARGEST:
        raise UnknownScenarioError(
            f"The scale of a scenario is above 0 and at most {LARGEST}, which is more than a million"
        )
    if not isinstance(damages, Mapping | None):
        raise UnknownScenarioError("The damages of a scenario are names, each with its rate")
    try:
        return scenarios.provide(name, seed=seed, scale=scale, start=start_at, damages=damages)
    except ValueError as error:
        raise UnknownScenarioError(str(error)) from None


def create_sandbox(  # noqa: PLR0913 - the settings of a sandbox, all by name
    scenario: str | Scenario = DEFAULT_SCENARIO,
    *,
    seed: int = DEFAULT_SEED,
    scale: float = 1.0,
    damages: Mapping[str, float] | None = None,
    start_at: datetime = START_AT,
    faults: Iterable[Fault] = (),
    header_prefix: str = "Fintoc",
    transport: httpx.BaseTransport | None = None,
) -> Flask:
    """The sandbox as a WSGI application; `transport` carries its webhooks where no socket is wanted."""
    if isinstance(scenario, str):
        scenario = build_scenario(scenario, seed, scale, start_at, damages)
    world = World(
        scenario, seed=seed, start_at=start_at, header_prefix=header_prefix, faults=faults, transport=transport
    )
    app = Flask(__name__)
    app.url_map.strict_slashes = True
    app.extensions["sandbox"] = world
    open_gate(app, world)
    app.register_blueprint(steering(world, build_scenario))
    app.wsgi_app = Wire(app.wsgi_app)  # type: ignore[method-assign]
    return app


def world_of(app: Flask) -> World:
    """The state behind a sandbox, for tests in the same process."""
    world: World = app.extensions["sandbox"]
    return world


class RunningSandbox:
    """A sandbox served in a thread. Leaving the `with` block stops it."""

    def __init__(
        self,
        scenario: str | Scenario = DEFAULT_SCENARIO,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        is_live: bool = False,
        **settings: Any,
    ) -> None:
        self.app = create_sandbox(scenario, **settings)
        self.world = world_of(self.app)
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
