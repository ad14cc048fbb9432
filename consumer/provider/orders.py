"""Asks the merchant's own system for its orders: reading alone, and within the limits of `[order_check]`."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

import httpx
import msgspec
import sqlalchemy as sa

from consumer.facts.money import MoneyError, to_minor
from consumer.facts.order_check import OrderCheck
from consumer.facts.texts import is_identifier
from consumer.provider.client import TIMEOUT, USER_AGENT, load_certificates

_LARGEST = 20_000_000
_IN_A_QUESTION = 500


class Answer(NamedTuple):
    """What the system says of one order; without a day it was not delivered. The amount is in minor units."""

    order_ref: str
    delivered_on: date | None
    amount: int | None = None
    currency: str | None = None


class OrderCheckError(Exception):
    """A question that got no usable answer; the message is one sentence without any secret."""


@dataclass(slots=True)
class Limits:
    """How many rows are still taken, until when, and how long to wait between two requests."""

    rows: int
    until: float
    pause: float
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    @classmethod
    def of(cls, check: OrderCheck) -> "Limits":
        return cls(check.rows, time.monotonic() + check.seconds, 1 / check.per_second)

    def take(self) -> None:
        self.rows -= 1
        if self.rows < 0:
            raise OrderCheckError("the orders are more rows than [order_check] rows allows: ask for fewer days")

    def wait(self) -> None:
        """Wait before the next request, but not beyond the end."""
        self.sleep(max(0.0, min(self.pause, self.until - self.clock())))

    def check_time(self) -> None:
        if self.clock() >= self.until:
            raise OrderCheckError("the orders took longer than [order_check] seconds allows")


def ask_delivered(check: OrderCheck, since: date, until: date, limits: Limits) -> Iterator[Answer]:
    """Yield the orders delivered from one day until before another."""
    if check.database is None:
        address = check.delivered.replace("{since}", since.isoformat()).replace("{until}", until.isoformat())
        with _open(check) as http:
            listed = _decode(_get(http, address, limits) or b"[]", list[dict[str, Any]])
        yield from _to_answers(listed, limits)
        return
    with _connect(check) as database:
        yield from _read(database, sa.text(check.delivered), {"since": since, "until": until}, limits)


def ask_orders(check: OrderCheck, orders: Sequence[str], limits: Limits) -> Iterator[Answer]:
    """Yield what the system says of these orders; one it does not know is not delivered."""
    if check.database is None:
        with _open(check) as http:
            for order in orders:
                content = _get(http, check.order.replace("{order}", quote(order, safe="")), limits)
                found = _decode(b"null" if content is None else content, dict[str, Any] | None) or {}
                yield next(_to_answers([{**found, "order_ref": order}], limits))
        return
    question = sa.text(check.order).bindparams(sa.bindparam("orders", expanding=True))
    with _connect(check) as database:
        for start in range(0, len(orders), _IN_A_QUESTION):
            asked = orders[start : start + _IN_A_QUESTION]
            found = {answer.order_ref: answer for answer in _read(database, question, {"orders": asked}, limits)}
            yield from (found.get(order, Answer(order, None)) for order in asked)


def _connect(check: OrderCheck) -> sa.Connection:
    """Open a connection whose transactions read alone and whose statements end after the limit."""
    limits = f"-c default_transaction_read_only=on -c statement_timeout={check.seconds * 1000}"
    address = check.database.get_secret_value() if check.database else ""
    wire = {"options": limits, "connect_timeout": 10}
    engine = sa.create_engine(address, poolclass=sa.NullPool, connect_args=wire, hide_parameters=True)
    try:
        return engine.connect().execution_options(postgresql_readonly=True)
    except sa.exc.SQLAlchemyError as error:
        raise OrderCheckError(f"the database of orders cannot be asked ({_name_fault(error)})") from None


def _read(
    database: sa.Connection, question: sa.TextClause, values: Mapping[str, object], limits: Limits
) -> Iterator[Answer]:
    limits.check_time()
    try:
        found = database.execution_options(stream_results=True).execute(question, values).mappings()
        yield from _to_answers((dict(row) for row in found), limits)
    except sa.exc.SQLAlchemyError as error:
        raise OrderCheckError(f"the database of orders refused a question ({_name_fault(error)})") from None


def _name_fault(error: sa.exc.SQLAlchemyError) -> str:
    """Name a fault by its kind alone: its text may hold the address or values."""
    return type(getattr(error, "orig", None) or error).__name__


def _open(check: OrderCheck) -> httpx.Client:
    headers = {"User-Agent": USER_AGENT, "Accept": "application/json"}
    if check.token is not None:
        headers["Authorization"] = f"Bearer {check.token.get_secret_value()}"
    return httpx.Client(timeout=TIMEOUT, follow_redirects=False, headers=headers, verify=load_certificates())


def _get(http: httpx.Client, address: str, limits: Limits) -> bytes | None:
    """Fetch one answer, None where there is no such order; messages name the host alone."""
    limits.check_time()
    host, content = urlsplit(address).hostname, bytearray()
    try:
        with http.stream("GET", address) as answer:
            if answer.status_code == httpx.codes.NOT_FOUND:
                return None
            if answer.status_code != httpx.codes.OK:
                raise OrderCheckError(f"{host} answered {answer.status_code} when it was asked for orders")
            for piece in answer.iter_bytes():
                content += piece
                limits.check_time()
                if len(content) > _LARGEST:
                    raise OrderCheckError(f"{host} sends more than {_LARGEST // 1_000_000} MB of orders")
    except (httpx.TransportError, httpx.DecodingError, httpx.InvalidURL) as error:
        raise OrderCheckError(f"no answer from {host} about orders ({type(error).__name__})") from None
    finally:
        limits.wait()
    return bytes(content)


def _decode(content: bytes, kind: Any) -> Any:
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise OrderCheckError("an answer about orders is not the JSON that was asked for") from None


def _to_answers(rows: Any, limits: Limits) -> Iterator[Answer]:
    for place, row in enumerate(rows, 1):
        limits.take()
        yield _to_answer(row, place)


def _to_answer(row: Mapping[str, Any], place: int) -> Answer:
    """Read one row; raise OrderCheckError that names what cannot be read, without its value."""
    order, on, amount, currency = (row.get(name) for name in ("order_ref", "delivered_on", "amount", "currency"))
    if not is_identifier(order):
        raise OrderCheckError(f"row {place} of the orders: order_ref is no text of 1 to 255 characters")
    try:
        day = on.date() if isinstance(on, datetime) else on if isinstance(on, date) else _to_day(on)
    except (TypeError, ValueError):
        raise OrderCheckError(f"row {place} of the orders: delivered_on is no date such as 2026-10-31") from None
    if amount is None or currency is None:
        return Answer(order, day)
    try:
        minor = to_minor(str(amount), str(currency))
    except MoneyError:
        raise OrderCheckError(f"row {place} of the orders: amount is no amount of its currency") from None
    return Answer(order, day, minor, str(currency).upper())


def _to_day(text: str | None) -> date | None:
    return date.fromisoformat(text[:10]) if text else None
