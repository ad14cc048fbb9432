"""Payout items as the rules read them: what payouts list, joined to what is known of each resource; pure.

A resource that no event or pull has brought is known by what the payout's own list says of it.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TypeAlias

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pandas import DataFrame

from consumer.facts.clock import to_instant
from consumer.facts.meaning import sale_of
from consumer.facts.messages import Message
from consumer.facts.taxids import TaxIdError, to_tax_id
from reconcile.reading.queries import empty_table, in_order, places_of, to_frame
from reconcile.rules.columns import to_one_array
from reconcile.rules.inputs import ITEMS, MOMENT, MONEY, TEXT, UNKNOWN_CUSTOMERS, Schema

# An object of the provider, read from its JSON.
Body: TypeAlias = Mapping[str, object]

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
# The columns of a sale by their names among facts.
SALE = {"metadata": "metadata_json", "texts": "texts", "split": "split_json", "customer_id": "customer_id"}
_CARD_SUBTYPES = {"credit": "credit_card", "debit": "debit_card", "prepaid": "prepaid_card"}
_MOMENTS = ("created_at", "succeeded_at", "failed_at")
_ENCODER = msgspec.json.Encoder(order="sorted")


def _kinds_of(listed: pa.Table) -> pa.Array:
    """Return the kind of object of each listed row; an adjustment is a refund that came back."""
    types = listed["resource_type"]
    return pc.if_else(pc.equal(types, "refund_adjustment"), pa.scalar("refund", type=types.type), types)


def places_of_listed(listed: pa.Table, facts: pa.Table) -> pa.Array:
    """Return the place of each listed row's fact, null if no event or pull has brought it."""
    return places_of([_kinds_of(listed), listed["resource_id"]], [facts["kind"], facts["resource_id"]])


def build_items(
    listed: pa.Table, facts: pa.Table, places: pa.Array, *, customers: pa.Table, sources: pa.Table, country: str
) -> DataFrame:
    """Return one row per payout and resource, and one for every payment and refund that no payout lists.

    `places` are the places of the listed resources among the facts.
    """
    facts = _with_customers(facts, customers, country)
    facts = facts.append_column("source_event_id", _first_events(facts, sources))
    known = facts.drop_columns(["amount", "currency", "resource_id"]).take(places)
    for name in LISTED:
        known = known.append_column(name, listed[name])
    rows = pa.concat_tables([known, _loose(facts, places).select(known.column_names)]).combine_chunks()
    rows = rows.append_column("occurred_at", _find_moments(rows)).select(list(ITEMS))
    return to_frame(in_order(rows, ["payout_id", "resource_type", "resource_id"]), ITEMS)


def build_unknown_customers(facts: pa.Table, customers: pa.Table) -> DataFrame:
    """Return the payments that have no tax id and name a customer that was never pulled."""
    named = facts.filter(pc.and_(pc.is_null(facts["customer_tax_id"]), pc.is_valid(facts["customer_id"])))
    is_known = pc.is_in(to_one_array(named["customer_id"]), value_set=to_one_array(customers["customer_id"]))
    return to_frame(in_order(named.filter(pc.invert(is_known)), ["resource_id"]), UNKNOWN_CUSTOMERS)


def _loose(facts: pa.Table, places: pa.Array) -> pa.Table:
    """Return the payments that succeeded and the refunds that no payout lists."""
    is_listed = np.zeros(len(facts), dtype=bool)
    is_listed[places.drop_null().to_numpy()] = True
    is_money = pc.or_kleene(pc.equal(facts["status"], "succeeded"), pc.equal(facts["kind"], "refund"))
    loose = facts.filter(pc.and_not_kleene(is_money, pa.array(is_listed)))
    nowhere = pa.nulls(len(loose), type=pa.large_string())
    return loose.append_column("payout_id", nowhere).append_column("resource_type", loose["kind"])


def _with_customers(facts: pa.Table, customers: pa.Table, country: str) -> pa.Table:
    """Fill in the payer: the customer on the object, the customer it names, else the sender."""
    places = places_of([facts["customer_id"]], [customers["customer_id"]])
    sender = _tax_ids(facts["sender_tax_id"], country)
    payers = [_tax_ids(facts["customer_tax_id"], country), _tax_ids(customers["tax_id"], country).take(places), sender]
    names = [facts["customer_name"], customers["name"].take(places)]
    made = {"customer_tax_id": pc.coalesce(*payers), "sender_tax_id": sender, "customer_name": pc.coalesce(*names)}
    for name, values in made.items():
        facts = facts.set_column(facts.column_names.index(name), name, values)
    return facts


def _first_events(facts: pa.Table, sources: pa.Table) -> pa.Array:
    """Return the first event of each resource: the earliest, then the smallest id."""
    sources = in_order(sources, ["created_at", "event_id"])
    return sources["event_id"].take(places_of([facts["resource_id"]], [sources["resource_id"]]))


def _find_moments(rows: pa.Table) -> pa.Array:
    """Return when each row succeeded, or failed if it is a refund that came back; else when it was created."""
    came_back = pc.equal(rows["resource_type"], "refund_adjustment")
    return pc.coalesce(pc.if_else(came_back, rows["failed_at"], rows["succeeded_at"]), rows["created_at"])


def _tax_ids(values: pa.Array, country: str) -> pa.Array:
    """Return tax ids in canonical form, as in the books; each distinct one is read once."""
    coded = to_one_array(values).dictionary_encode()
    canonical = [_tax_id(value, country) for value in coded.dictionary.to_pylist()]
    return pa.array(canonical, type=values.type).take(coded.indices)


def _tax_id(value: str, country: str) -> str | None:
    try:
        return to_tax_id(value, country)
    except TaxIdError:
        return None


def mark_own(splits: pa.Array, own_entities: frozenset[str]) -> pa.Array:
    """Set `own` on the shares of the merchant's own entity, if that is known; each distinct split is read once."""
    if not own_entities:
        return splits
    coded = to_one_array(splits).dictionary_encode()
    marked = [_mark(split, own_entities) for split in coded.dictionary.to_pylist()]
    return pa.array(marked, type=splits.type).take(coded.indices)


def _mark(split: str, own_entities: frozenset[str]) -> str:
    shares = msgspec.json.decode(split)
    for share in shares:
        share["own"] = isinstance(share["entity_id"], str) and share["entity_id"] in own_entities
    return _ENCODER.encode(shares).decode()


def facts_of_bodies(listed: pa.Table, bodies: Sequence[Body]) -> pa.Table:
    """Return what payouts list of resources that no event or pull has brought; each resource once."""
    known: dict[tuple[str, str], dict[str, object]] = {}
    rows = listed.append_column("kind", _kinds_of(listed)).select(["kind", "resource_id", "amount", "currency"])
    for row, body in zip(rows.to_pylist(), bodies, strict=True):
        known.setdefault((row["kind"], row["resource_id"]), row | _fact_of(row["kind"], body))
    return pa.Table.from_pylist(list(known.values()), schema=empty_table(FACTS).schema)


def _fact_of(kind: str, body: Body) -> dict[str, object]:
    customer, sender = _part(body, "customer"), _part(body, "sender_account")
    tax_id = customer.get("tax_id")
    sale = sale_of(body)
    return {
        "status": _text(body.get("status")),
        **{name: _moment(body, name) for name in _MOMENTS},
        "resource_subtype": _text(_subtype(kind, body)),
        "parent_id": _text(body.get("resource_id")),
        "customer_tax_id": _text(tax_id.get("value") if isinstance(tax_id, dict) else tax_id),
        "customer_name": _text(customer.get("name")),
        "sender_tax_id": _text(sender.get("holder_id")),
        **{name: sale[column] for name, column in SALE.items()},
    }


def _part(body: Body, field: str) -> Body:
    value = body.get(field)
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _moment(body: Body, field: str) -> datetime | None:
    """Read a moment; one without a zone, or that is none, is unknown, and `unreadable_moments` reports it."""
    value = body.get(field)
    try:
        return to_instant(value) if isinstance(value, str) else None
    except ValueError:
        return None


def unreadable_moments(listed: pa.Table, bodies: Sequence[Body]) -> Iterator[tuple[str, str]]:
    """Yield the payout and the reason for each listed moment that is none, or has no zone."""
    names = listed.select(["payout_id", "resource_id"]).to_pylist()
    for row, body in zip(names, bodies, strict=True):
        for field in _MOMENTS:
            if isinstance(body.get(field), str) and _moment(body, field) is None:
                values = {"payout": row["payout_id"], "item": row["resource_id"], "field": field}
                reason = Message("note.unreadable_moment", values | {"value": repr(body[field])})
                yield row["payout_id"], reason.to_text()


def _subtype(kind: str, body: Body) -> object:
    if kind == "charge":
        return CHARGE_SUBTYPE
    card = _part(_part(body, "payment_type_options"), "card")
    card_kind = card.get("kind")
    found = _CARD_SUBTYPES.get(card_kind) if isinstance(card_kind, str) else None
    return found or body.get("payment_type")
