"""JSON: read and written without loss, the digest of what a text means, and what identifies a sale in it.

The digest sees sorted keys and no spacing, and numbers by exact value: 1, 1.0 and 1e0 mean the same, 0.1 and
0.10 too, and an integer of any size keeps every digit. Of a repeated key the last one counts, as for every reader
of this program. NaN and infinities are not JSON.
"""

import codecs
import hashlib
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from json.encoder import encode_basestring_ascii
from typing import NoReturn, cast

import msgspec

JsonObject = dict[str, object]

DEEPEST = 64
# Stands in a text for each character that no text column holds.
REPLACED = "\N{REPLACEMENT CHARACTER}"

_TOKEN = re.compile(rb'"(?:[^"\\]+|\\.)*"?|[\[\]{}]', re.DOTALL)
_NUMBER = re.compile(r"(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?")
_PLAIN_DIGITS = 300
_ALWAYS_PLAIN = 20


class NotJsonError(ValueError):
    """Bytes that are not one JSON object this program is willing to read."""


def read_object(body: bytes) -> JsonObject:
    """Parse one JSON object; its numbers are ints, or exact canonical text where they have a fraction."""
    check_depth(body)
    try:
        value = _read(body) if _may_hold_long_number(body) else _QUICK_READER.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        # The quick reader refuses more, such as half a character; what it refuses is judged here.
        value = _read(body)
    if not isinstance(value, dict):
        raise NotJsonError("the body is JSON but not an object")
    return value


def check_depth(body: bytes) -> None:
    """Raise NotJsonError if a body is nested too deep to recurse into."""
    if body.count(b"{") + body.count(b"[") <= DEEPEST:
        return
    depth = 0
    for token in _TOKEN.finditer(body):
        mark = token[0][:1]
        if mark in b"{[":
            depth += 1
            if depth > DEEPEST:
                raise NotJsonError(f"the body is nested deeper than {DEEPEST}")
        elif mark in b"}]":
            depth -= 1


def meaning_sha256(value: JsonObject) -> str:
    """Return the digest of what `read_object` returned."""
    return hashlib.sha256(_to_canonical(value)).hexdigest()


def _may_hold_long_number(body: bytes) -> bool:
    """Return True if some stretch of 151 bytes is digits alone, as in any run of 301 digits."""
    half = _PLAIN_DIGITS // 2 + 1
    for start in range(0, len(body) - half, half):  # noqa: SIM110 - a generator costs twice what it looks at
        if body[start : start + half].isdigit():
            return True
    return False


def _read(body: bytes) -> object:
    try:
        return json.loads(
            body.decode("utf-8"), parse_int=_to_number, parse_float=_to_number, parse_constant=_refuse_constant
        )
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise NotJsonError(f"the body is not JSON: {type(error).__name__}") from None


def _to_canonical(value: JsonObject) -> bytes:
    """Write a meaning as the one text it is digested from: sorted keys, no spacing, ASCII alone."""
    try:
        text = _QUICK_WRITER.encode(value)
    except (OverflowError, UnicodeEncodeError):
        return _WRITER.encode(value).encode("ascii")
    # Both writers agree on printable ASCII; all else stands inside strings, and is escaped as the slow one does.
    plain = text if text.isascii() else text.decode().encode("ascii", _ESCAPED)
    return plain.replace(b"\x7f", b"\\u007f")


def _escape(problem: UnicodeError) -> tuple[str, int]:
    if not isinstance(problem, UnicodeEncodeError):
        raise problem
    return encode_basestring_ascii(problem.object[problem.start : problem.end])[1:-1], problem.end


def _to_number(text: str) -> "int | _Exact":
    if len(text) < _ALWAYS_PLAIN and text.lstrip("-").isdigit():
        return int(text)
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise NotJsonError(f"{text[:20]!r} is not a number")
    sign, whole, fraction, exponent = match.groups(default="")
    if not fraction and not exponent and len(whole) <= _PLAIN_DIGITS:
        return int(text)
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return 0
    if len(exponent) > _PLAIN_DIGITS:
        return _Exact(text)
    shift = int(exponent or 0) - len(fraction)
    kept = digits.rstrip("0")
    shift += len(digits) - len(kept)
    if shift >= 0 and len(kept) + shift <= _PLAIN_DIGITS:
        return int(sign + kept + "0" * shift)
    return _Exact(f"{sign}{kept}e{shift}")


def read_json(text: str | bytes) -> JsonObject:
    """Read a JSON object whose numbers a machine can hold; what no double holds is a ValueError, as broken text is."""
    try:
        return cast("JsonObject", _decode(text))
    except (msgspec.DecodeError, UnicodeError):
        # Half a surrogate pair, as a cut emoji leaves it, is legal JSON, and the quick reader refuses it.
        return cast("JsonObject", json.loads(text, parse_float=_finite, parse_constant=_finite))


def leaves_of(node: object) -> Iterator[str]:
    """Yield every text of decoded JSON."""
    if isinstance(node, str):
        yield node
    elif isinstance(node, dict | list):
        for part in node.values() if isinstance(node, dict) else node:
            yield from leaves_of(part)


def to_json(body: Mapping[str, object]) -> str:
    """Write what `read_json` read as JSON text any database stores."""
    try:
        return msgspec.json.format(_encode(body), indent=0).decode()
    except UnicodeEncodeError:
        text = json.dumps(body, ensure_ascii=False, allow_nan=False, sort_keys=True)
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def to_storable(text: str) -> str:
    """Replace what no text column holds by U+FFFD: NUL, and half a surrogate pair, as `to_json` does in a body."""
    if not text.isascii():
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace("\0", REPLACED)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is larger than any number")
    return number


class _Exact:
    """A number that is no plain integer, as canonical text; never equal to any string."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def _tag(value: object) -> list[str]:
    if not isinstance(value, _Exact):
        raise TypeError(f"{type(value).__name__} is no part of JSON")
    # No provider sends a list that begins so; it only keeps 0.5 apart from "5e-1".
    return ["\0number", value.text]


def _refuse_constant(name: str) -> NoReturn:
    raise NotJsonError(f"the body is not JSON: it holds {name}")


_ESCAPED = "consumer.facts.meaning"
codecs.register_error(_ESCAPED, _escape)
_QUICK_READER: msgspec.json.Decoder[object] = msgspec.json.Decoder(float_hook=_to_number)
_QUICK_WRITER = msgspec.json.Encoder(order="sorted", enc_hook=_tag)
_WRITER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=_tag)
_decode: Callable[[str | bytes], object] = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder(order="sorted").encode


_SHARE = ("entity_id", "amount", "charge_processing_fee")
# Sums and differences of amounts are stored as eight bytes.
_MOST = 2**62
_encode_sorted = msgspec.json.Encoder(order="sorted").encode


def sale_of(body: Mapping[str, object]) -> dict[str, str | None]:
    """Return the columns of a sale: metadata and shares as canonical JSON, the texts a line each, the customer's id."""
    metadata, shares, customer = body.get("metadata"), body.get("split_applied"), body.get("customer")
    return {
        "metadata_json": _canonical(metadata) if metadata and isinstance(metadata, dict) else None,
        "texts": _texts((body.get("comment"), body.get("description"), body.get("reference_id"))),
        "split_json": _split(shares) if shares and isinstance(shares, list) else None,
        "customer_id": None if customer is None else _customer_id(customer),
    }


def _texts(values: tuple[object, ...]) -> str | None:
    parts = [to_storable(value) for value in values if value and isinstance(value, str)]
    return "\n".join(parts) if parts else None


def _split(shares: list[object]) -> str | None:
    """Return the shares as JSON, or None if one has no amount or more than any payment."""
    known = [share for share in shares if isinstance(share, dict) and type(share.get("amount")) is int]
    if len(known) < len(shares) or sum(abs(share["amount"]) for share in known) > _MOST:
        return None
    return _canonical([{name: share.get(name) for name in _SHARE} for share in known])


def _customer_id(customer: object) -> str | None:
    value = customer.get("id") if isinstance(customer, dict) else customer
    return to_storable(value) if isinstance(value, str) else None


def _canonical(value: object) -> str:
    """Write JSON as it will be written again from the stored body, where half a character is already replaced."""
    try:
        return _encode_sorted(value).decode()
    except UnicodeEncodeError:
        return _encode_sorted(read_json(to_json({"it": value}))["it"]).decode()
