"""Pure: our row held against the provider's object, field by field, and the items of a payout."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from consumer.facts.meaning import read_json
from consumer.facts.store import Row
from consumer.facts.versions import KEPT
from consumer.provider.fields import UnusableObjectError
from consumer.provider.rows import Kind
from consumer.sync.payout_items import Item, Money

_BODY = "body"


class DriftKind(StrEnum):
    MISSING_HERE = "missing_here"
    MISSING_THERE = "missing_there"
    DIFFERS = "differs"


@dataclass(frozen=True, slots=True)
class Difference:
    """One object or field that is not the same on both sides; values are raw JSON."""

    id: str
    kind: DriftKind
    field: str | None = None
    ours: str | None = None
    theirs: str | None = None


def compare(ours: Row | None, theirs: Row, kind: Kind, *, unstable: frozenset[str]) -> list[Difference]:
    """Compare field by field what the provider shows; what only we hold came in events and is no difference."""
    if ours is None or ours["gone_at"] is not None:
        return [Difference(theirs["id"], DriftKind.MISSING_HERE)]
    try:
        body = read_json(ours[_BODY])
        columns = kind.columns(body)
    except (ValueError, UnusableObjectError):
        return [Difference(theirs["id"], DriftKind.DIFFERS, _BODY, ours[_BODY], theirs[_BODY])]
    found = {
        name: Difference(theirs["id"], DriftKind.DIFFERS, name, _to_text(body.get(name)), _to_text(value))
        for name, value in read_json(theirs[_BODY]).items()
        if name not in unstable | {KEPT} and body.get(name) != value
    }
    # A column that does not say what its own body says was changed by a hand or a fault of ours.
    for name, value in columns.items():
        if name not in found and ours[name] != value:
            found[name] = Difference(
                theirs["id"], DriftKind.DIFFERS, name, _to_text(ours[name]), _to_text(theirs[name])
            )
    return [found[name] for name in sorted(found)]


def compare_items(payout_id: str, ours: Mapping[Item, Money], theirs: Mapping[Item, Money]) -> list[Difference]:
    """Compare what a payout carries: an item that one side lacks is null there.

    The bodies of items live on after their payout and are compared as objects of their own streams.
    """
    return [
        Difference(
            payout_id, DriftKind.DIFFERS, " ".join(item), _to_amount(ours.get(item)), _to_amount(theirs.get(item))
        )
        for item in sorted({*ours, *theirs})
        if ours.get(item) != theirs.get(item)
    ]


def _to_amount(money: Money | None) -> str:
    return _to_text(None if money is None else {"amount": money[0], "currency": money[1]})


def _to_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
