"""Payout items as the rules read them: what payouts list, joined to what we know of each resource; pure."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pandas import DataFrame

from consumer.facts.taxids import TaxIdError, to_tax_id
from reconcile.reading.columnar import in_order, looked_up, places_of, to_frame
from reconcile.rules.columns import combined
from reconcile.rules.inputs import ITEMS, MOMENT, MONEY, TEXT, UNKNOWN_CUSTOMERS, Schema

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


def kinds_of(listed: pa.Table) -> Any:
    """Give the kind of object each listed row is; an adjustment is a refund that came back."""
    types = listed["resource_type"]
    return pc.if_else(pc.equal(types, "refund_adjustment"), pa.scalar("refund", type=types.type), types)


def places_of_listed(listed: pa.Table, facts: pa.Table) -> Any:
    """Give the place of each listed row's fact, null where no event or pull has brought it."""
    return places_of([kinds_of(listed), listed["resource_id"]], [facts["kind"], facts["resource_id"]])


def build_items(
    listed: pa.Table, facts: pa.Table, places: Any, *, customers: pa.Table, sources: pa.Table, country: str
) -> DataFrame:
    """Build one row per payout and resource, and one for every payment and refund that no payout lists.

    `places` says where each listed row's resource is among the facts.
    """
    facts = _with_customers(facts, customers, country)
    facts = facts.append_column("source_event_id", _first_events(facts, sources))
    known = facts.drop_columns(["amount", "currency", "resource_id"]).take(places)
    for name in LISTED:
        known = known.append_column(name, listed[name])
    rows = pa.concat_tables([known, _loose(facts, places).select(known.column_names)]).combine_chunks()
    rows = rows.append_column("occurred_at", _occurred_at(rows)).select(list(ITEMS))
    return to_frame(in_order(rows, ["payout_id", "resource_type", "resource_id"]), ITEMS)


def build_unknown_customers(facts: pa.Table, customers: pa.Table) -> DataFrame:
    """Return the payments that bear no tax id and name a customer who is not here."""
    named = facts.filter(pc.and_(pc.is_null(facts["customer_tax_id"]), pc.is_valid(facts["customer_id"])))
    is_known = pc.is_in(combined(named["customer_id"]), value_set=combined(customers["customer_id"]))
    return to_frame(in_order(named.filter(pc.invert(is_known)), ["resource_id"]), UNKNOWN_CUSTOMERS)


def _loose(facts: pa.Table, places: Any) -> pa.Table:
    """Give the payments that succeeded and the refunds that no payout lists."""
    is_listed = np.zeros(len(facts), dtype=bool)
    is_listed[places.drop_null().to_numpy()] = True
    is_money = pc.or_kleene(pc.equal(facts["status"], "succeeded"), pc.equal(facts["kind"], "refund"))
    loose = facts.filter(pc.and_not_kleene(is_money, pa.array(is_listed)))
    nowhere = pa.nulls(len(loose), type=pa.large_string())
    return loose.append_column("payout_id", nowhere).append_column("resource_type", loose["kind"])


def _with_customers(facts: pa.Table, customers: pa.Table, country: str) -> pa.Table:
    """Name the payer: the customer on the object, the customer it names, else the sender."""
    places = places_of([facts["customer_id"]], [customers["customer_id"]])
    sender = _tax_ids(facts["sender_tax_id"], country)
    payers = [_tax_ids(facts["customer_tax_id"], country), _tax_ids(customers["tax_id"], country).take(places), sender]
    names = [facts["customer_name"], customers["name"].take(places)]
    made = {"customer_tax_id": pc.coalesce(*payers), "sender_tax_id": sender, "customer_name": pc.coalesce(*names)}
    for name, values in made.items():
        facts = facts.set_column(facts.column_names.index(name), name, values)
    return facts


def _first_events(facts: pa.Table, sources: pa.Table) -> Any:
    """Give the event that first said so: the earliest, then the smallest id, in whatever order they came in."""
    # Of equal keys the first one is found.
    sources = in_order(sources, ["created_at", "event_id"])
    return looked_up([facts["resource_id"]], [sources["resource_id"]], sources["event_id"])


def _occurred_at(rows: pa.Table) -> Any:
    """Success for what came in or went out, failure for a refund that came back; creation where neither is known."""
    came_back = pc.equal(rows["resource_type"], "refund_adjustment")
    return pc.coalesce(pc.if_else(came_back, rows["failed_at"], rows["succeeded_at"]), rows["created_at"])


def _tax_ids(values: Any, country: str) -> Any:
    """Canonical, so that they compare with the books; each distinct one is read once."""
    coded = combined(values).dictionary_encode()
    canonical = [_tax_id(value, country) for value in coded.dictionary.to_pylist()]
    return pa.array(canonical, type=values.type).take(coded.indices)


def _tax_id(value: str, country: str) -> str | None:
    """What has no right form identifies nobody."""
    try:
        return to_tax_id(value, country)
    except TaxIdError:
        return None
