"""Reading single fields of provider JSON: what is required is required, and no value is invented."""

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, time

import msgspec

from consumer.facts.clock import YEARS, to_instant
from consumer.facts.meaning import DEEPEST, JsonObject, NotJsonError, check_depth, to_json, to_storable
from consumer.facts.money import LARGEST_AMOUNT, is_currency
from consumer.facts.taxids import TaxIdError, to_rfc, to_rut
from consumer.facts.texts import is_identifier

Data = Mapping[str, object]

_DATE_LENGTH = len("2026-10-31")
_CURRENCY = re.compile(r"[A-Za-z]{3}")
_SECRETS = frozenset({"link_token", "widget_token", "session_token", "secret"})
_RUT_LIKE = re.compile(r"[\d.\-\s]+[\dkK]\s*")


class UnusableObjectError(ValueError):
    """An object of the provider that cannot become a row without inventing something; the message names the field."""


def identifier(data: Data, field: str = "id") -> str:
    value = data.get(field)
    if not is_identifier(value):
        raise UnusableObjectError(f"{field} must be text of 1 to 255 printable characters")
    return value


def text(data: Data, field: str) -> str | None:
    """Return the text or None, without what no column holds; other types, which lose leading zeros, are refused."""
    value = data.get(field)
    if value is None:
        return None
    if not isinstance(value, str):
        raise UnusableObjectError(f"{field} is {type(value).__name__}, not text")
    return to_storable(value)


def required_text(data: Data, field: str) -> str:
    value = text(data, field)
    if not value:
        raise UnusableObjectError(f"{field} is missing")
    return value


def amount(data: Data, field: str = "amount") -> int | None:
    """Return an integer of minor units or None; 1500.0 is one, 1500.5, text and true are not."""
    value = data.get(field)
    if value is None:
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise UnusableObjectError(f"{field} is {type(value).__name__} where an integer of minor units is needed")
    if abs(value) > LARGEST_AMOUNT:
        raise UnusableObjectError(f"{field} is larger than any amount")
    return value


def required_amount(data: Data, field: str = "amount") -> int:
    value = amount(data, field)
    if value is None:
        raise UnusableObjectError(f"{field} is missing")
    return value


def unsigned_amount(data: Data, field: str = "amount") -> int:
    """Return an amount whose sign is given by a direction field; a negative one would count the wrong way."""
    value = required_amount(data, field)
    if value < 0:
        raise UnusableObjectError(f"{field} is negative although direction tells the sign")
    return value


def currency(data: Data, field: str = "currency") -> str | None:
    value = text(data, field)
    if value is None:
        return None
    if not _CURRENCY.fullmatch(value):
        raise UnusableObjectError(f"{field} must be three letters")
    if not is_currency(value):
        # The decimals of such an amount are unknown, so no report could show it.
        raise UnusableObjectError(f"{field} {value} is not one of ISO 4217")
    return value.upper()


def required_currency(data: Data, field: str = "currency") -> str:
    value = currency(data, field)
    if value is None:
        raise UnusableObjectError(f"{field} is missing")
    return value


def instant(data: Data, field: str) -> datetime | None:
    """Return an aware UTC time or None; a bare date is midnight UTC, and a naive time is refused."""
    value = text(data, field)
    if not value:
        return None
    try:
        if len(value) == _DATE_LENGTH:
            found = datetime.combine(date.fromisoformat(value), time(), tzinfo=UTC)
        else:
            found = to_instant(value)
    except (ValueError, OverflowError):
        raise UnusableObjectError(f"{field} is not an ISO 8601 time with a zone") from None
    if found.year not in YEARS:
        raise UnusableObjectError(f"{field} is in the year {found.year}, of which no bank day is known")
    return found


def part(data: Data, field: str) -> Data:
    """Return a nested object, empty where the provider sent null, an id or no such field."""
    value = data.get(field)
    return value if isinstance(value, Mapping) else {}


def drop_secrets(data: Data) -> JsonObject:
    """Return the object without what grants access at the provider."""
    body = dict(data)
    for field in _SECRETS.intersection(body):
        del body[field]
    return body


def body_text(body: Data) -> str:
    try:
        return to_json(body)
    except ValueError:
        raise UnusableObjectError("a number is too large to be read") from None


def tax_id(value: object) -> str | None:
    """Return the canonical RFC or RUT, or None where neither fits, as for `ND`: the raw value stays in body."""
    if not isinstance(value, str):
        return None
    # No text looks like both: an RFC begins with letters, and a RUT holds none but a last K.
    to_canonical = to_rut if _RUT_LIKE.fullmatch(value) else to_rfc
    try:
        return to_canonical(value)
    except TaxIdError:
        return None


# What a decoder raises for text that is no JSON, no UTF-8 or nested deeper than any object.
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class _Named(msgspec.Struct):
    id: object = None
    created_at: object = None


_NAMED = msgspec.json.Decoder(_Named)


def to_data(raw: bytes) -> JsonObject:
    """Decode one element; numbers too large for any machine are as unreadable as broken text."""
    try:
        check_depth(raw)
        value = msgspec.json.decode(raw)
    except NotJsonError:
        # How deep a decoder itself would go differs between versions of Python.
        raise UnusableObjectError(f"it is nested deeper than {DEEPEST}") from None
    except UNREADABLE:
        raise UnusableObjectError("it is not readable as JSON") from None
    if not isinstance(value, dict):
        raise UnusableObjectError("it is not a JSON object")
    return value


def identity(raw: bytes) -> tuple[str | None, str | None]:
    """Return the id and the time of creation of an element, each None unless it is text."""
    try:
        named = _NAMED.decode(raw)
    except UNREADABLE:
        return None, None
    return (
        named.id if isinstance(named.id, str) else None,
        named.created_at if isinstance(named.created_at, str) else None,
    )
