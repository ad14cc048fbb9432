"""Split payments: who gets which share of one payment."""

from fractions import Fraction
from math import floor
from typing import Any

from sandbox.api.fields import read_flag, read_list, read_whole, require_mappings, require_text
from sandbox.state.collection import Object
from sandbox.state.refusal import RefusalError

MOST_ENTRIES = 10
BASIS_POINTS = 10_000


def read_split(body: Object, amount: int) -> list[Object]:
    """The recipients of a payment: shares that add up to it exactly, and one who carries the fee."""
    if body.get("split") is None:
        return []
    if not read_list(body, "split"):
        raise _refusal(f"A split has 1 to {MOST_ENTRIES} entries, not 0")
    entries = [_read_entry(entry) for entry in require_mappings(body, "split")]
    if len(entries) > MOST_ENTRIES:
        raise _refusal(f"A split has 1 to {MOST_ENTRIES} entries, not {len(entries)}")
    if sum(entry["charge_processing_fee"] for entry in entries) != 1:
        raise _refusal("Exactly one entry of a split carries charge_processing_fee")
    # Exactly, before any rounding: thirds of a hundred percent add up although thirds of an amount may not.
    shared = sum(_exact(entry, amount) for entry in entries)
    if shared != amount:
        raise _refusal(f"The shares of a split must add up to {amount}, not {round(shared)}")
    return entries


def apply_split(entries: list[Object], amount: int) -> list[Object]:
    """What each recipient gets of a payment, as events tell it; whoever carries the fee gets what rounding leaves."""
    parts = [_half_up(_exact(entry, amount)) for entry in entries]
    left = amount - sum(parts)
    return [
        {
            "entity_id": entry["entity_id"],
            "amount": part + left if entry["charge_processing_fee"] else part,
            "charge_processing_fee": entry["charge_processing_fee"],
        }
        for entry, part in zip(entries, parts, strict=True)
    ]


def _exact(entry: Object, amount: int) -> Fraction:
    flat = entry["flat"]
    return Fraction(amount * entry["percentage"], BASIS_POINTS) if flat is None else Fraction(flat)


def _half_up(exact: Fraction) -> int:
    return floor(exact + Fraction(1, 2))


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
