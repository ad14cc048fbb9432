"""The receiving route: decides in the contract's order, answers JSON, and says 200 only for what is committed."""

import logging
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from http import HTTPStatus
from typing import Any, BinaryIO

import msgspec
from flask import Blueprint, Flask, Response, request
from flask.blueprints import BlueprintSetupState
from prometheus_client import Counter, Gauge

from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from consumer.facts.settings import ConfigError, Connection
from consumer.facts.tables.inbox import Source
from consumer.inbox.record import UnusableEventError, Verdict, read_arrival
from consumer.webhooks.group_commit import NotStoredError, SecretEndedError, Writer
from consumer.webhooks.keyring import Keyring, KeyringUnavailableError, Use
from consumer.webhooks.signature import SignatureError, verify

Environ = dict[str, Any]
StartResponse = Callable[..., Any]
Application = Callable[[Environ, StartResponse], Iterable[bytes]]

# Where the route and the event are left for the access log.
ROUTE, EVENT = "cuadre.route", "cuadre.event"
_PIECE = 65_536
# A sender that is refused before it has finished sees a broken connection instead of the answer.
_DRAINED = 16 * 1024 * 1024


class BodyTooLargeError(Exception):
    pass


class BodyBrokenError(Exception):
    """The connection ended, or the framing was wrong, before the body was complete."""


def read_body(environ: Environ, limit: int) -> bytes:
    """Read a body of at most `limit` bytes; raises BodyTooLargeError, having drained a reasonable rest."""
    length = environ.get("CONTENT_LENGTH") or ""
    if length.isascii() and length.isdigit():
        announced: int | None = int(length[:20])
    elif environ.get("wsgi.input_terminated") or "chunked" in environ.get("HTTP_TRANSFER_ENCODING", "").lower():
        announced = None
    else:
        return b""
    try:
        return _read(environ["wsgi.input"], announced, limit)
    except (OSError, ValueError) as problem:
        raise BodyBrokenError(type(problem).__name__) from None


def _read(stream: BinaryIO, announced: int | None, limit: int) -> bytes:
    most = _DRAINED + limit
    pieces: list[bytes] = []
    total = 0
    while total < most and (announced is None or total < announced):
        size = _PIECE if announced is None else min(_PIECE, announced - total)
        piece = stream.read(size)
        if not piece:
            break
        total += len(piece)
        if total <= limit:
            pieces.append(piece)
        else:
            pieces.clear()
    if total > limit or (announced is not None and announced > limit):
        raise BodyTooLargeError
    if announced is not None and total < announced:
        raise BodyBrokenError("shorter than announced")
    return b"".join(pieces)


RECEIVED = Counter(
    "cuadre_webhook_received", "Authentic events answered with 200, by what they were.", ["connection", "status"]
)
REFUSED = Counter("cuadre_webhook_refused", "Requests not answered with 200, by reason.", ["reason"])
SECRET_USED = Gauge(
    "cuadre_webhook_secret_used_timestamp_seconds",
    "When a webhook secret last verified a request, by its label.",
    ["connection", "label"],
    multiprocess_mode="mostrecent",
)

_EVERY_SECONDS = 10.0
# What a sender with another secret, or another clock, is refused for.
_UNPROVEN = {"forged", "secret_ended", "too_old", "too_far_ahead"}
_LOG = logging.getLogger(__name__)
_EVENTS = logging.getLogger("cuadre.events")


class RefusalLog:
    """At most one line per reason in ten seconds, saying how many it stands for."""

    def __init__(self, every: float = _EVERY_SECONDS) -> None:
        # Of this process since its start: signatures that were judged, and those that prove nothing.
        self.judged = 0
        self.forged = 0
        self._every = every
        self._lock = threading.Lock()
        self._since: dict[str, float] = {}
        self._held: dict[str, int] = {}

    def note(self, reason: str, status: int) -> None:
        REFUSED.labels(reason).inc()
        now = time.monotonic()
        with self._lock:
            held = self._held.get(reason, 0)
            if now - self._since.get(reason, float("-inf")) < self._every:
                self._held[reason] = held + 1
                return
            self._since[reason] = now
            self._held[reason] = 0
        _LOG.warning("webhook refused with %d: %s (%d more like it since the last such line)", status, reason, held)


RETRY_AFTER_SECONDS = 5
_MAIN = "main"
_PATH = "/webhooks"
_METHODS = ("POST", "GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS")
_MORE = {405: [("Allow", "POST")], 503: [("Retry-After", str(RETRY_AFTER_SECONDS))]}


class RejectedError(Exception):
    """An answer other than 200; the reason is a word for counting and never quotes the request."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Answer:
    """The bytes that answer a request."""

    status: str
    headers: list[tuple[str, str]]
    body: bytes


@dataclass(frozen=True, slots=True)
class Receiver:
    """What one process receives webhooks with."""

    installation: Installation
    keyring: Keyring
    writer: Writer
    now: Callable[[], datetime]
    log: RefusalLog = field(default_factory=RefusalLog)

    def answer(self, name: str, environ: Environ) -> Answer:
        """Answer one request of any method, and count the answer."""
        try:
            verdict = self.receive(name, environ)
        except RejectedError as refused:
            self.log.note(refused.reason, refused.status)
            self.log.forged += refused.reason in _UNPROVEN
            self.log.judged += refused.reason in _UNPROVEN
            return _answer(refused.status, "error", refused.reason)
        self.log.judged += 1
        _counter_of(name, verdict).inc()
        return _answer(200, "status", verdict.value)

    def receive(self, name: str, environ: Environ) -> Verdict:
        """Receive one request and return its verdict, or raise RejectedError at the first test it fails.

        1. 405: not posted.  2. 404: unknown connection, or no secret.  3. 413: body over the limit.
        4. 400, 401: the signature.  5. 422: no event id.  6. 503: not committed in time.
        """
        if environ["REQUEST_METHOD"] != "POST":
            raise RejectedError(405, "method_not_allowed")
        connection = self._connection(name)
        now = self.now()
        try:
            secrets = self.keyring.secrets_of(connection, now=now)
        except KeyringUnavailableError:
            raise RejectedError(503, "store_down") from None
        if not secrets:
            raise RejectedError(404, "no_secret")
        settings = self.installation.settings
        body = _body(environ, settings.max_body_bytes)
        header = environ.get(_variable(settings.header_prefix))
        values = [secret.value for secret in secrets]
        try:
            used = verify(body, header, values, now=now, tolerance=settings.signature_tolerance)
        except SignatureError as problem:
            raise RejectedError(problem.status, problem.reason) from None
        self.keyring.note_use(secrets[used], now=now)
        _secret_used(connection.name, secrets[used].label).set(now.timestamp())
        try:
            arrival = read_arrival(body, connection=connection, source=Source.WEBHOOK, received_at=now)
            environ[EVENT] = arrival.id
            verdict = self.writer.store(arrival, signed=Use(secrets[used], now))
        except SecretEndedError:
            raise RejectedError(401, "secret_ended") from None
        except UnusableEventError as problem:
            raise RejectedError(422, problem.reason) from None
        except NotStoredError as problem:
            raise RejectedError(503, problem.reason) from None
        if _EVENTS.isEnabledFor(logging.DEBUG):
            fields = {"connection": connection.name, "event_id": arrival.id, "verdict": verdict.value}
            _EVENTS.debug("event received", extra=fields)
        return verdict

    def _connection(self, name: str) -> Connection:
        try:
            return self.installation.settings.connection(name)
        except ConfigError:
            raise RejectedError(404, "unknown_connection") from None

    def before(self, application: Application) -> Application:
        """Answer what is posted here before the application's own work, which takes longer than all of ours."""

        def dispatch(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
            name = _find_connection(environ)
            if name is None:
                return application(environ, start_response)
            environ[ROUTE] = f"{_PATH}/<connection>"
            answer = self.answer(name, environ)
            start_response(answer.status, answer.headers)
            # A list, since the server hands one over whole and steps through anything else.
            return [answer.body]

        return dispatch


def webhooks(
    installation: Installation,
    *,
    now: Callable[[], datetime] = utc_now,
    writer: Writer | None = None,
    refusals: RefusalLog | None = None,
    keyring: Keyring | None = None,
) -> Blueprint:
    """Build the blueprint; no login and no CSRF token belong on it, the signature is the proof."""
    blueprint = Blueprint("webhooks", __name__)
    keyring = keyring or Keyring(installation)
    receiver = Receiver(installation, keyring, writer or _writer(installation, keyring), now, refusals or RefusalLog())

    @blueprint.record
    def _stand_before(state: BlueprintSetupState) -> None:
        assert isinstance(state.app, Flask)
        state.app.wsgi_app = receiver.before(state.app.wsgi_app)  # type: ignore[assignment, method-assign]

    @blueprint.route(_PATH, methods=_METHODS, provide_automatic_options=False)
    @blueprint.route(f"{_PATH}/<connection>", methods=_METHODS, provide_automatic_options=False)
    def receive(connection: str = _MAIN) -> Response:
        answer = receiver.answer(connection, request.environ)
        return Response(answer.body, answer.status, answer.headers)

    return blueprint


def _writer(installation: Installation, keyring: Keyring) -> Writer:
    return Writer(installation.store, also=keyring.write_use, find_ended=keyring.find_ended)


def _find_connection(environ: Environ) -> str | None:
    """Return the connection that a request is posted to, or None if the application is to answer it."""
    path: str = environ["PATH_INFO"]
    if not path.startswith(_PATH) or environ["REQUEST_METHOD"] != "POST":
        return None
    if path == _PATH:
        return _MAIN
    name = path.removeprefix(_PATH + "/")
    return name if name and "/" not in name else None


def _body(environ: Environ, limit: int) -> bytes:
    try:
        return read_body(environ, limit)
    except BodyTooLargeError:
        raise RejectedError(413, "too_large") from None
    except BodyBrokenError:
        raise RejectedError(400, "body_broken") from None


@cache
def _answer(status: int, key: str, word: str) -> Answer:
    body = msgspec.json.encode({key: word}) + b"\n"
    headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
    return Answer(f"{status} {HTTPStatus(status).phrase}", headers + _MORE.get(status, []), body)


@cache
def _variable(prefix: str) -> str:
    return f"HTTP_{prefix.upper().replace('-', '_')}_SIGNATURE"


@cache
def _counter_of(name: str, verdict: Verdict) -> Counter:
    """Return the counter of a verdict; looked up once, since finding it by its labels costs more than counting."""
    return RECEIVED.labels(name, verdict.value)


@cache
def _secret_used(name: str, label: str) -> Gauge:
    return SECRET_USED.labels(name, label)
