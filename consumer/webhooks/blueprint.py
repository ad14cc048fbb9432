"""The receiving route: decides in the contract's order, answers JSON, and says 200 only for what is committed."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from flask import Blueprint, Response, jsonify, request

from consumer.config import ConfigError, Connection
from consumer.facts.clock import utc_now
from consumer.facts.house import House
from consumer.facts.tables.inbox import Source
from consumer.inbox.record import UnusableEvent, Verdict, read_arrival
from consumer.webhooks.body import BodyBroken, BodyTooLarge, read_body
from consumer.webhooks.keyring import Keyring, KeyringUnavailable
from consumer.webhooks.signature import BadSignature, verify
from consumer.webhooks.watch import RECEIVED, SECRET_USED, RefusalLog
from consumer.webhooks.writer import NotStored, Writer

RETRY_AFTER_SECONDS = 5
_OTHER_METHODS = ("GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS")


class Refused(Exception):  # noqa: N818 - says what happened
    """An answer other than 200; the reason is a word for counting and never quotes the request."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Receiver:
    """What one process receives webhooks with."""

    house: House
    keyring: Keyring
    writer: Writer
    now: Callable[[], datetime]

    def receive(self, name: str) -> Verdict:
        """Take one request to its verdict, or raise Refused at the first test it fails.

        1. 404: unknown connection, or no secret.  2. 413: body over the limit.  3. 400, 401: the signature.
        4. 422: no event id.  5. 503: not committed in time.
        """
        connection = self._connection(name)
        now = self.now()
        try:
            secrets = self.keyring.secrets_of(connection, now=now)
        except KeyringUnavailable:
            raise Refused(503, "store_down") from None
        if not secrets:
            raise Refused(404, "no_secret")
        body = self._body()
        settings = self.house.settings
        header = request.headers.get(f"{settings.header_prefix}-Signature")
        values = [secret.value for secret in secrets]
        try:
            used = verify(body, header, values, now=now, tolerance=settings.signature_tolerance)
        except BadSignature as problem:
            raise Refused(problem.status, problem.reason) from None
        self.keyring.note_use(secrets[used], now=now)
        SECRET_USED.labels(connection.name, secrets[used].label).set(now.timestamp())
        try:
            arrival = read_arrival(body, connection=connection, source=Source.WEBHOOK, received_at=now)
            return self.writer.store(arrival)
        except UnusableEvent as problem:
            raise Refused(422, problem.reason) from None
        except NotStored as problem:
            raise Refused(503, problem.reason) from None

    def _connection(self, name: str) -> Connection:
        try:
            return self.house.settings.connection(name)
        except ConfigError:
            raise Refused(404, "unknown_connection") from None

    def _body(self) -> bytes:
        try:
            return read_body(request.environ, self.house.settings.max_body_bytes)
        except BodyTooLarge:
            raise Refused(413, "too_large") from None
        except BodyBroken:
            raise Refused(400, "body_broken") from None


def webhooks(house: House, *, now: Callable[[], datetime] = utc_now, writer: Writer | None = None) -> Blueprint:
    """Build the blueprint; no login and no CSRF token belong on it, the signature is the proof."""
    blueprint = Blueprint("webhooks", __name__)
    keyring = Keyring(house)
    writer = writer or Writer(house.store, also=keyring.write_use)
    receiver = Receiver(house, keyring, writer, now)
    log = RefusalLog()

    @blueprint.post("/webhooks", provide_automatic_options=False)
    @blueprint.post("/webhooks/<connection>", provide_automatic_options=False)
    def receive(connection: str = "main") -> Response:
        try:
            verdict = receiver.receive(connection)
        except Refused as refused:
            log.note(refused.reason, refused.status)
            return _refusal(refused)
        RECEIVED.labels(connection, verdict.value).inc()
        return jsonify(status=verdict.value)

    @blueprint.route("/webhooks", methods=_OTHER_METHODS, provide_automatic_options=False)
    @blueprint.route("/webhooks/<connection>", methods=_OTHER_METHODS, provide_automatic_options=False)
    def refuse_method(connection: str = "main") -> Response:  # noqa: ARG001 - the route has it
        answer = _refusal(Refused(405, "method_not_allowed"))
        answer.headers["Allow"] = "POST"
        return answer

    return blueprint


def _refusal(refused: Refused) -> Response:
    answer = jsonify(error=refused.reason)
    answer.status_code = refused.status
    if refused.status == 503:  # noqa: PLR2004 - the one status that asks the sender to come back
        answer.headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
    return answer
