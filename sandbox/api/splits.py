"""Split payments: who gets which share of one payment."""

from typing import Any

from sandbox.collection import Object
from sandbox.fields import read_flag, read_list, read_whole, require_mappings, require_text
from sandbox.refusal import RefusalError

MOST_ENTRIES = 10
BASIS_POINTS = 10_000


def read_split(body: Object, amount: int) -> list[Object]:
    """The recipients of a payment: shares that add up to it exactly, and one who carries the fee."""
    if not read_list(body, "split"):
        return []
    entries = [_read_entry(entry) for entry in require_mappings(body, "split")]
    if len(entries) > MOST_ENTRIES:
        raise _refusal(f"A split has 1 to {MOST_ENTRIES} entries, not {len(entries)}")
    if sum(entry["charge_processing_fee"] for entry in entries) != 1:
        raise _refusal("Exactly one entry of a split carries charge_processing_fee")
    shared = sum(share["amount"] for share in apply_split(entries, amount))
    if shared != amount:
        raise _refusal(f"The shares of a split must add up to {amount}, not {shared}")
    return entries


def apply_split(entries: list[Object], amount: int) -> list[Object]:
    """What each recipient gets of a payment, as events tell it."""
    return [
        {
            "entity_id": entry["entity_id"],
            "amount": entry["flat"] if entry["percentage"] is None else _part(amount, entry["percentage"]),
            "charge_processing_fee": entry["charge_processing_fee"],
        }
        for entry in entries
    ]


def _part(amount: int, basis_points: int) -> int:
    return (2 * amount * basis_points + BASIS_POINTS) // (2 * BASIS_POINTS)


def _read_entry(entry: dict[str, Any]) -> Object:
    flat, percentage = read_whole(entry, "flat"), read_whole(entry, "percentage")
    if (flat is None) == (percentage is None):
        raise _refusal("An entry of a split has either flat or percentage")
    return {
        "entity_id": require_text(entry, "entity_id"),
        "flat": flat,
        "percentage": percentage,
        "charge_processing_fee": read_flag(entry, "charge_processing_fee"),
    }


def _refusal(message: str) -> RefusalError:
    return RefusalError(400, "invalid_params", message, param="split")
