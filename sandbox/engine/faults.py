"""The faults of the sandbox: which are switched on, and what each does to events, deliveries and answers."""

import socket
import struct
import time
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import httpx
from werkzeug.http import http_date
from werkzeug.wrappers import Response

from sandbox.state.ids import digest
from sandbox.state.refusal import BrokenError, RefusalError, UnauthenticatedError
from sandbox.state.store import Object
from sandbox.state.versions import OLDEST, VERSIONS

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

# Every fault, and the options it takes in addition to those that all of them take.
OPTIONS: dict[str, tuple[str, ...]] = {
    "duplicate": (),
    "drop": (),
    "reorder": (),
    "delay": ("seconds",),
    "late-visible": ("seconds",),
    "tie": (),
    "conflict": (),
    "stale-retry": (),
    "server-error": ("path",),
    "rate-limit": ("path", "retry_after", "seconds"),
    "slow": ("path", "seconds"),
    "truncated": ("path",),
    "wrong-type": ("path",),
    "reset": ("path",),
    "duplicate-page": ("path",),
    "empty-page": ("path",),
    "pruned-cursor": ("path",),
    "insert-while-paging": ("path",),
    "key-refused": ("path",),
    "version-switch": ("path", "version"),
    "unknown-type": (),
    "unknown-field": (),
    "null-field": ("field",),
}
NAMES = tuple(OPTIONS)
OF_ALL = ("name", "probability", "seed", "times", "lasts")
SCALE = 2**64
LONGEST = 366 * 86_400  # seconds
HOUR = 3600.0
FIVE_MINUTES = 300.0
TIE = timedelta(seconds=60)
NEVER_NULL = frozenset({"id", "object", "mode"})
UNKNOWN_FIELD = "settlement_hint"
UNKNOWN_CHANGE = "reassessed"
DRIPS = 8
TWO_SECONDS = 2.0
LINGER_OFF = struct.pack("ii", 1, 0)  # close with a reset instead of a farewell


class UnusableFaultError(ValueError):
    """The fault that was asked for does not exist or cannot be switched on like that."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that goes wrong now and then."""

    name: str
    probability: float = 1.0
    seed: int | None = None  # None: the sandbox's own
    times: int | None = None  # how often at most
    lasts: float | None = None  # for how many seconds of the sandbox's clock
    seconds: float | None = None  # how long: the delay, the lateness, the drip
    path: str | None = None  # only answers under this path
    field: str | None = None  # null-field: which one
    version: str | None = None  # version-switch: to which
    retry_after: str | None = None  # rate-limit: "seconds" or "date"

    def to_json(self) -> Object:
        return {key: getattr(self, key) for key in self.__slots__ if getattr(self, key) is not None}


@dataclass(frozen=True, slots=True)
class Errand:
    """One delivery of an event that is to be made."""

    due_at: datetime
    is_held: bool = False  # goes out behind those that come after it
    is_conflicting: bool = False  # another body under the same id, once the true one has arrived


class TooManyError(RefusalError):
    """Too many requests, perhaps with advice when to come back."""

    def __init__(self, advice: dict[str, str]) -> None:
        super().__init__(429, "rate_limit_exceeded", "Too many requests")
        self.advice = advice


class Faults:
    """The faults switched on at the moment, one of each name."""

    def __init__(self, seed: int, faults: Iterable[Fault] = (), *, now: datetime) -> None:
        self._seed = seed
        self._active: dict[str, Fault] = {}
        self._left: dict[str, int] = {}
        self._ends_at: dict[str, datetime] = {}
        for fault in faults:
            self.switch_on(fault, now)

    def switch_on(self, fault: Fault, now: datetime) -> None:
        self.switch_off(fault.name)
        self._active[fault.name] = fault
        if fault.times is not None:
            self._left[fault.name] = fault.times
        if fault.lasts is not None:
            self._ends_at[fault.name] = now + timedelta(seconds=fault.lasts)

    def switch_off(self, name: str | None = None) -> None:
        """Switch off one fault, or all."""
        for gone in (name,) if name else tuple(self._active):
            self._active.pop(gone, None)
            self._left.pop(gone, None)
            self._ends_at.pop(gone, None)

    def end(self, now: datetime) -> None:
        """Switch off those that have lasted long enough."""
        for name in [name for name, at in self._ends_at.items() if at <= now]:
            self.switch_off(name)

    def active(self) -> list[Fault]:
        return list(self._active.values())

    def strikes(self, name: str, key: str, *, path: str = "/") -> Fault | None:
        """Return the fault if it hits this key: decided by seed, name and key alone, within its `times` and `path`."""
        fault = self._active.get(name)
        if fault is None or not path.startswith(fault.path or "/"):
            return None
        seed = self._seed if fault.seed is None else fault.seed
        if int.from_bytes(digest(seed, name, key)[:8]) >= int(fault.probability * SCALE):
            return None
        return fault if self._count(name) else None

    def _count(self, name: str) -> bool:
        left = self._left.get(name)
        if left is None:
            return True
        self._left[name] = max(left - 1, 0)
        return left > 0

    # -- what is announced

    def damage(self, key: str, data: Object) -> Object:
        """Return the data as announced: perhaps with an unknown field, perhaps with a null."""
        if self.strikes("unknown-field", key):
            data = {**data, UNKNOWN_FIELD: {"version": 2, "flags": ["x", None]}}
        fault = self.strikes("null-field", key)
        if fault:
            data = {**data, fault.field or _any_field(key, data): None}
        return data

    def created_at(self, key: str, at: datetime, last_at: datetime) -> datetime:
        """Return when the log says it happened: never before what is in the log, perhaps in the same instant."""
        if self.strikes("tie", key):
            at = last_at if at - last_at <= TIE else at.replace(microsecond=0)
        return max(at, last_at)

    def visible_at(self, key: str, at: datetime) -> datetime:
        """From when the events list shows it."""
        fault = self.strikes("late-visible", key)
        if fault is None:
            return at
        return at + timedelta(seconds=FIVE_MINUTES if fault.seconds is None else fault.seconds)

    def unknown_type(self, key: str, type_: str) -> str | None:
        """Return the type of a second announcement that no reader knows."""
        return f"{type_.rpartition('.')[0]}.{UNKNOWN_CHANGE}" if self.strikes("unknown-type", key) else None

    def errands(self, key: str, at: datetime) -> list[Errand]:
        """Return the deliveries of one event to one endpoint; none when it is dropped."""
        if self.strikes("drop", key):
            return []
        delay = self.strikes("delay", key)
        if delay:
            at += timedelta(seconds=HOUR if delay.seconds is None else delay.seconds)
        planned = [Errand(at, is_held=self.strikes("reorder", key) is not None)]
        if self.strikes("duplicate", key):
            planned.append(Errand(at))
        if self.strikes("conflict", key):
            planned.append(Errand(at, is_conflicting=True))
        return planned

    # -- what is answered

    def check_key(self, key: str, path: str) -> None:
        """Raise the 401 of a good key that is suddenly refused."""
        if self.strikes("key-refused", key, path=path):
            raise UnauthenticatedError

    def check_rate(self, key: str, path: str, now: datetime) -> None:
        """Raise 429, with the advice the fault asks for."""
        fault = self.strikes("rate-limit", key, path=path)
        if fault:
            raise TooManyError(_advice(fault, now))

    def check_server(self, key: str, path: str) -> None:
        """Raise the provider's 500 when it is meant to be down."""
        if self.strikes("server-error", key, path=path):
            raise BrokenError(500, "internal_server_error", "Something went wrong on our side")

    def choose_version(self, key: str, path: str) -> str | None:
        """Return the version the organization was moved to, when that happens now."""
        fault = self.strikes("version-switch", key, path=path)
        return None if fault is None else fault.version or OLDEST

    def breakage(self, key: str, path: str) -> list[Fault]:
        """Return what is to happen to this answer on the wire: the worst of it."""
        for name in ("reset", "truncated", "wrong-type", "slow"):
            fault = self.strikes(name, key, path=path)
            if fault:
                return [fault]
        return []


def to_fault(wish: Object) -> Fault:
    """Read a fault as it is asked for over HTTP. Raise UnusableFaultError with a sentence."""
    name = check_name(wish.get("name"))
    options = (*OF_ALL, *OPTIONS[name])
    unknown = set(wish) - set(options)
    if unknown:
        raise UnusableFaultError(f"{name} takes no {', '.join(sorted(unknown))}; it takes: {', '.join(options)}")
    fault = Fault(**wish)
    _check_numbers(fault)
    _check_texts(fault)
    return fault


def check_name(name: object) -> str:
    """Return the name of a fault that exists. Raise UnusableFaultError."""
    if name not in NAMES:
        raise UnusableFaultError(f"Unknown fault {name!r}; choose one of: {', '.join(NAMES)}")
    return str(name)


def _check_texts(fault: Fault) -> None:
    for name in ("path", "field", "version", "retry_after"):
        if not isinstance(getattr(fault, name), str | None):
            raise UnusableFaultError(f"The {name} of {fault.name} must be text")
    if fault.retry_after not in {None, "seconds", "date"}:
        raise UnusableFaultError("retry_after is 'seconds' or 'date'")
    if fault.version not in {None, *VERSIONS}:
        raise UnusableFaultError(f"version is one of: {', '.join(VERSIONS)}")


def _check_numbers(fault: Fault) -> None:
    if not _is_number(fault.probability) or not 0 <= fault.probability <= 1:
        raise UnusableFaultError(
            f"The probability of {fault.name} must be a number from 0 to 1, not {fault.probability!r}"
        )
    for name in ("seed", "times"):
        if not isinstance(getattr(fault, name), int | None) or isinstance(getattr(fault, name), bool):
            raise UnusableFaultError(f"The {name} of {fault.name} must be a whole number")
    if fault.times is not None and fault.times < 0:
        raise UnusableFaultError(f"The times of {fault.name} must be 0 or more")
    for name in ("seconds", "lasts"):
        value = getattr(fault, name)
        if value is not None and (not _is_number(value) or not 0 <= value <= LONGEST):
            raise UnusableFaultError(f"The {name} of {fault.name} must be a number from 0 to {LONGEST}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _any_field(key: str, data: Object) -> str:
    names = sorted(name for name, value in data.items() if value is not None and name not in NEVER_NULL)
    return names[digest(key)[0] % len(names)] if names else "metadata"


def to_conflicting(event: Object) -> Object:
    """Return the same id with another body."""
    data = event["data"]
    amount = data.get("amount")
    change = {"amount": amount + 1} if isinstance(amount, int) else {"metadata": {"conflicting": "true"}}
    return {**event, "data": {**data, **change}}


def _advice(fault: Fault, now: datetime) -> dict[str, str]:
    seconds = 1 if fault.seconds is None else round(fault.seconds)
    if fault.retry_after == "seconds":
        return {"Retry-After": str(seconds)}
    if fault.retry_after == "date":
        return {"Retry-After": http_date(now + timedelta(seconds=seconds))}
    return {}


# The faults of the answer that is being written: the gate adds to it, the wire applies it.
TO_COMMIT: ContextVar[list[Fault]] = ContextVar("to_commit")


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
