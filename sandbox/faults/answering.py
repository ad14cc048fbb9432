"""What goes wrong when the provider answers: refusals for no reason, and bodies that arrive broken."""

import socket
import struct
import time
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import httpx
from werkzeug.http import http_date
from werkzeug.wrappers import Response

from sandbox.faults.registry import Fault, Faults
from sandbox.state.refusal import BrokenError, RefusalError, UnauthenticatedError
from sandbox.state.versions import OLDEST

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

# Where the gate tells the wire what to commit, for the request that is being answered.
TO_COMMIT: ContextVar[list[Fault]] = ContextVar("to_commit")
DRIPS = 8
TWO_SECONDS = 2.0
LINGER_OFF = struct.pack("ii", 1, 0)  # close with a reset instead of a farewell


def check_server(faults: Faults, key: str, path: str) -> None:
    """Raise the provider's 500 when it is meant to be down."""
    if faults.strikes("server-error", key, path=path):
        raise BrokenError(500, "internal_server_error", "Something went wrong on our side")


def check_key(faults: Faults, key: str, path: str) -> None:
    """Raise the 401 of a good key that is suddenly refused."""
    if faults.strikes("key-refused", key, path=path):
        raise UnauthenticatedError


def check_rate(faults: Faults, key: str, path: str, now: datetime) -> None:
    """Raise 429, with the advice the fault asks for."""
    fault = faults.strikes("rate-limit", key, path=path)
    if fault:
        raise TooManyError(_advice(fault, now))


class TooManyError(RefusalError):
    """Too many requests, perhaps with advice when to come back."""

    def __init__(self, advice: dict[str, str]) -> None:
        super().__init__(429, "rate_limit_exceeded", "Too many requests")
        self.advice = advice


def _advice(fault: Fault, now: datetime) -> dict[str, str]:
    seconds = 1 if fault.seconds is None else round(fault.seconds)
    if fault.retry_after == "seconds":
        return {"Retry-After": str(seconds)}
    if fault.retry_after == "date":
        return {"Retry-After": http_date(now + timedelta(seconds=seconds))}
    return {}


def switched_version(faults: Faults, key: str, path: str) -> str | None:
    """The version the organization was moved to, when that happens now."""
    fault = faults.strikes("version-switch", key, path=path)
    return None if fault is None else fault.version or OLDEST


def breakage(faults: Faults, key: str, path: str) -> list[Fault]:
    """What is to happen to this answer on the wire: the worst of it."""
    for name in ("reset", "truncated", "wrong-type", "slow"):
        fault = faults.strikes(name, key, path=path)
        if fault:
            return [fault]
    return []


class Wire:
    """The last step before the socket, where answers are cut, dripped, mislabelled or never sent."""

    def __init__(self, app: "WSGIApplication") -> None:
        self._app = app

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        wanted: list[Fault] = []
        token = TO_COMMIT.set(wanted)
        try:
            response = Response.from_app(self._app, environ)
        finally:
            TO_COMMIT.reset(token)
        for fault in wanted:
            _commit(fault, response, environ)
        return response(environ, start_response)


def _commit(fault: Fault, response: Response, environ: "WSGIEnvironment") -> None:
    if fault.name == "reset":
        _reset(environ)
    elif fault.name == "truncated":
        response.set_data(response.get_data()[: len(response.get_data()) // 2])
    elif fault.name == "wrong-type":
        response.set_data("<html><body><h1>Bad gateway</h1></body></html>")
        response.content_type = "text/html; charset=utf-8"
    else:
        response.response = _drip(response.get_data(), TWO_SECONDS if fault.seconds is None else fault.seconds)


def _drip(body: bytes, seconds: float) -> Iterator[bytes]:
    size = max(1, -(-len(body) // DRIPS))
    for start in range(0, len(body), size):
        time.sleep(seconds / DRIPS)
        yield body[start : start + size]


def _reset(environ: "WSGIEnvironment") -> None:
    connection: socket.socket | None = environ.get("werkzeug.socket")
    if connection is None:
        raise httpx.ReadError("the sandbox reset the connection")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_OFF)
    connection.close()
    raise ConnectionResetError("the sandbox reset the connection")
