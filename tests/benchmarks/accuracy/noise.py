"""Damages that no generator of the sandbox plants, done to what the merchant received, to see what they cost."""

import json
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from pandas import DataFrame, Series

from reconcile.rules.inputs import Inputs

Damage = Callable[[DataFrame, Random], DataFrame]


def lose_metadata(items: DataFrame, random: Random) -> DataFrame:
    """Every fourth payment says nothing in its metadata."""
    return items.assign(metadata=items["metadata"].mask(_chosen(items, 0.25, random)))


def lose_tax_ids(items: DataFrame, random: Random) -> DataFrame:
    """Every third payment has neither customer nor sender."""
    lost = _chosen(items, 0.33, random)
    return items.assign(
        customer_tax_id=items["customer_tax_id"].mask(lost), sender_tax_id=items["sender_tax_id"].mask(lost)
    )


def mistype_orders(items: DataFrame, random: Random) -> DataFrame:
    """One sign of every tenth order reference is another digit, which may well be a neighbour's order."""
    return items.assign(metadata=[_mistyped(text, random) for text in items["metadata"]])


def _chosen(items: DataFrame, share: float, random: Random) -> "Series[bool]":
    return Series([random.random() < share for _ in range(len(items))], index=items.index)


def _mistyped(text: Any, random: Random) -> Any:
    if not isinstance(text, str) or random.random() > 0.1:
        return text
    said = json.loads(text)
    value = said.get("order_ref")
    places = [place for place, sign in enumerate(value) if sign.isdigit()] if isinstance(value, str) else []
    if not places:
        return text
    place = random.choice(places)
    said["order_ref"] = f"{value[:place]}{random.randrange(10)}{value[place + 1 :]}"
    return json.dumps(said)


def swap_payers(items: DataFrame, random: Random) -> DataFrame:
    """Every twentieth payment bears the tax id of some other payer."""
    known = [value for value in items["sender_tax_id"] if isinstance(value, str)]
    swapped = [random.choice(known) if isinstance(value, str) and random.random() < 0.05 else value
               for value in items["sender_tax_id"]]  # fmt: skip
    return items.assign(sender_tax_id=DataFrame({"s": swapped}, dtype="str")["s"].to_numpy())


DAMAGES: dict[str, Damage] = {
    "a quarter of the metadata lost": lose_metadata,
    "a third of the tax ids lost": lose_tax_ids,
    "a digit of a tenth of the orders wrong": mistype_orders,
    "a twentieth of the senders swapped": swap_payers,
}


def damaged(inputs: Inputs, damage: Damage, seed: int) -> Inputs:
    """The same inputs with payments damaged; the rows of one payment in several payouts are damaged alike."""
    items = inputs.items.sort_values(["resource_id", "payout_id"], ignore_index=True)
    first = items.drop_duplicates("resource_id").reset_index(drop=True)
    spoiled = damage(first, Random(seed)).set_index("resource_id")  # noqa: S311 - repeatable damage
    names = ["metadata", "customer_tax_id", "sender_tax_id"]
    return replace(inputs, items=items.assign(**{name: items["resource_id"].map(spoiled[name]) for name in names}))
