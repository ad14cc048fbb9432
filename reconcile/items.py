"""Payout items as the rules read them: what payouts list, joined to what we know of each resource; pure."""

from typing import Any

import numpy as np
import pandas as pd
from pandas import DataFrame

from consumer.facts.taxids import TaxIdError, to_tax_id
from reconcile.columnar import in_order, places_of
from reconcile.rules.inputs import ITEMS, MOMENT, MONEY, TEXT, Schema, typed

PAYMENT_TYPES = ("payment_intent", "charge")
# The legacy direct debit is the "pac" of the provider's payout report.
CHARGE_SUBTYPE = "pac"

# What is known of a resource, with the parts of its body that identify a sale.
FACTS: Schema = {
    "kind": TEXT,
    "resource_id": TEXT,
    "status": TEXT,
    "amount": MONEY,
    "currency": TEXT,
    "created_at": MOMENT,
    "succeeded_at": MOMENT,
    "failed_at": MOMENT,
    "resource_subtype": TEXT,
    "parent_id": TEXT,
    "customer_tax_id": TEXT,
    "customer_name": TEXT,
    "sender_tax_id": TEXT,
    "metadata": TEXT,
    "texts": TEXT,
    "split": TEXT,
    "customer_id": TEXT,
}
LISTED: Schema = {
    "payout_id": TEXT,
    "resource_type": TEXT,
    "resource_id": TEXT,
    "amount": MONEY,
    "currency": TEXT,
}
CUSTOMERS: Schema = {"customer_id": TEXT, "tax_id": TEXT, "name": TEXT}
SOURCES: Schema = {"resource_id": TEXT, "event_id": TEXT, "created_at": MOMENT}
_OWN = ("payout_id", "resource_type")


def kinds_of(listed: DataFrame) -> Any:
    """Give the kind of object each listed row is; an adjustment is a refund that came back."""
    return listed["resource_type"].where(listed["resource_type"] != "refund_adjustment", "refund")


def unknown_of(listed: DataFrame, facts: DataFrame) -> DataFrame:
    """Find listed rows whose resource no event or pull has brought."""
    return DataFrame(listed[_places(listed, facts) < 0])


def build_items(
    listed: DataFrame, facts: DataFrame, *, customers: DataFrame, sources: DataFrame, country: str
) -> DataFrame:
    """Build one row per payout and resource, and one for every payment and refund that no payout lists."""
    facts = _with_customers(facts, customers, country)
    facts["source_event_id"] = _first_events(facts, sources)
    places = _places(listed, facts)
    known = facts.drop(columns=["amount", "currency", "resource_id"]).take(places).reset_index(drop=True)
    carried = pd.concat([listed.reset_index(drop=True), known], axis=1)
    rows = pd.concat([carried, _loose(facts, places)], ignore_index=True)
    rows["occurred_at"] = _occurred_at(rows)
    return typed(in_order(rows, ["payout_id", "resource_type", "resource_id"]), ITEMS)


def _places(listed: DataFrame, facts: DataFrame) -> Any:
    return places_of([kinds_of(listed), listed["resource_id"]], [facts["kind"], facts["resource_id"]])


def _loose(facts: DataFrame, places: Any) -> DataFrame:
    """Give the payments that succeeded and the refunds that no payout lists."""
    is_listed = np.zeros(len(facts), dtype=bool)
    is_listed[places[places >= 0]] = True
    is_money = (facts["status"] == "succeeded") | (facts["kind"] == "refund")
    loose = facts[~is_listed & is_money]
    nowhere = pd.Series([None] * len(loose), index=loose.index, dtype="str")
    return loose.assign(payout_id=nowhere, resource_type=loose["kind"])


def _with_customers(facts: DataFrame, customers: DataFrame, country: str) -> DataFrame:
    """Name the payer: the customer on the object, the customer it names, else the sender."""
    place = places_of([facts["customer_id"]], [customers["customer_id"]])
    named = pd.concat([customers, DataFrame({name: [None] for name in CUSTOMERS}, dtype="str")]).take(place)
    own, known, sender = (
        _tax_ids(values, country) for values in (facts["customer_tax_id"], named["tax_id"], facts["sender_tax_id"])
    )
    known.index = own.index
    return facts.assign(
        customer_tax_id=own.fillna(known).fillna(sender),
        sender_tax_id=sender,
        customer_name=facts["customer_name"].fillna(named["name"].set_axis(facts.index)),
    )


def _first_events(facts: DataFrame, sources: DataFrame) -> Any:
    """Give the event that first said so: the earliest, then the smallest id, in whatever order they came in."""
    if not sources["resource_id"].is_unique:
        ordered = sources.sort_values(["created_at", "event_id"])
        sources = ordered.drop_duplicates("resource_id")
    place = places_of([facts["resource_id"]], [sources["resource_id"]])
    ids = pd.concat([sources["event_id"], pd.Series([None], dtype="str")])
    return ids.take(place).set_axis(facts.index)


def _occurred_at(rows: DataFrame) -> Any:
    """Success for what came in or went out, failure for a refund that came back; creation where neither is known."""
    came_back = rows["resource_type"] == "refund_adjustment"
    return rows["succeeded_at"].where(~came_back, rows["failed_at"]).fillna(rows["created_at"])


def _tax_ids(values: Any, country: str) -> Any:
    """Canonical, so that they compare with the books; each distinct one is read once."""
    canonical = {value: _tax_id(value, country) for value in values.dropna().unique()}
    return values.map(canonical).astype("str")


def _tax_id(value: str, country: str) -> str | None:
    """What has no right form identifies nobody."""
    try:
        return to_tax_id(value, country)
    except TaxIdError:
        return None
