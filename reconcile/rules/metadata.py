"""What a payment's metadata says: its words, its order reference, whether it is one of several parts."""

from typing import Any

import msgspec

_DECODER = msgspec.json.Decoder()


def read_metadata(column: Any) -> list[dict[str, Any]]:
    """Read what each payment says about itself; metadata that is no object says nothing."""
    nothing = dict[str, Any]()
    return [_read(text, nothing) for text in column.to_numpy(dtype=object)]


def _read(text: Any, nothing: dict[str, Any]) -> dict[str, Any]:
    value = _DECODER.decode(text) if isinstance(text, str) else nothing
    return value if isinstance(value, dict) else nothing


def read_said(text: Any) -> dict[str, Any]:
    return _read(text, {})


def order_ref_of(said: dict[str, Any]) -> str | None:
    """Give the order reference a payment states, to be shown."""
    for name in ("order_ref", "order_id", "invoice"):
        value = to_text(said.get(name))
        if value:
            return value
    return None


def declares_instalments(said: dict[str, Any]) -> bool:
    value = to_text(said.get("installments"))
    return value.isdigit() and int(value) > 1


def to_text(value: Any) -> str:
    return "" if value is None or isinstance(value, bool | dict | list) else str(value).strip()
