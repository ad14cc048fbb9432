"""One raw JSON element of a list as fields, or the reason why it is no object."""

from typing import Any

import msgspec

from consumer.facts.meaning import DEEPEST, NotJson, check_depth
from consumer.provider.rows.fields import UnusableObject

# What a decoder raises for text that is no JSON, no UTF-8 or nested deeper than any object.
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class _Named(msgspec.Struct):
    id: Any = None
    created_at: Any = None


_NAMED = msgspec.json.Decoder(_Named)


def to_data(raw: bytes) -> dict[str, Any]:
    """Decode one element; numbers too large for any machine are as unreadable as broken text."""
    try:
        check_depth(raw)
        value = msgspec.json.decode(raw)
    except NotJson:
        # How deep a decoder itself would go differs between versions of Python.
        raise UnusableObject(f"it is nested deeper than {DEEPEST}") from None
    except UNREADABLE:
        raise UnusableObject("it is not readable as JSON") from None
    if not isinstance(value, dict):
        raise UnusableObject("it is not a JSON object")
    return value


def identity(raw: bytes) -> tuple[str | None, str | None]:
    """Say which id and time of creation an element bears, each only where it is text."""
    try:
        named = _NAMED.decode(raw)
    except UNREADABLE:
        return None, None
    return (
        named.id if isinstance(named.id, str) else None,
        named.created_at if isinstance(named.created_at, str) else None,
    )
