"""Payout items as the rules read them: what payouts list, joined to what we know of each resource; pure."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import msgspec
import pandas as pd
from pandas import DataFrame

from consumer.facts.taxids import TaxIdError, to_tax_id
from reconcile.rules.inputs import ITEMS, MOMENT, MONEY, TEXT, Schema, typed

PAYMENT_TYPES = ("payment_intent", "charge")
# The legacy direct debit is the "pac" of the provider's payout report.
CHARGE_SUBTYPE = "pac"
_CARD_SUBTYPES = {"credit": "credit_card", "debit": "debit_card", "prepaid": "prepaid_card"}

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
    "body": TEXT,
}
LISTED: Schema = {
    "payout_id": TEXT,
    "resource_type": TEXT,
    "resource_id": TEXT,
    "amount": MONEY,
    "currency": TEXT,
    "body": TEXT,
}


class Body(msgspec.Struct):
    """The parts of a resource's JSON that identify a sale; anything may stand there, so nothing is assumed."""

    metadata: Any = None
    comment: Any = None
    description: Any = None
    reference_id: Any = None
    split_applied: Any = None
    customer: Any = None


_DECODER = msgspec.json.Decoder(Body)
_ENCODER = msgspec.json.Encoder(order="sorted")


def build_items(
    listed: DataFrame,
    facts: DataFrame,
    *,
    customers: Mapping[str, tuple[str | None, str | None]],
    own_entities: frozenset[str],
    event_ids: Mapping[str, str],
    country: str,
) -> DataFrame:
    """Build one row per payout and resource, and one for every payment and refund that no payout lists."""
    listed = listed.assign(kind=listed["resource_type"].where(listed["resource_type"] != "refund_adjustment", "refund"))
    facts = pd.concat([facts, _facts_of_bodies(listed, facts)], ignore_index=True)
    rows = pd.concat([_listed_rows(listed, facts), _loose_rows(listed, facts)], ignore_index=True)
    rows["occurred_at"] = _occurred_at(rows)
    rows["source_event_id"] = rows["resource_id"].map(event_ids)
    for name, texts in _read_bodies(rows["body"], customers, own_entities, country).items():
        rows[name] = texts
    for name in ("customer_tax_id", "sender_tax_id"):
        rows[name] = [_tax_id(value, country) for value in rows[name]]
    rows["customer_tax_id"] = _filled(rows["customer_tax_id"], rows["known_tax_id"], rows["sender_tax_id"])
    rows["customer_name"] = _filled(rows["customer_name"], rows["known_name"])
    rows = rows.sort_values(["payout_id", "resource_type", "resource_id"], na_position="last", ignore_index=True)
    return typed(rows, ITEMS)


def _listed_rows(listed: DataFrame, facts: DataFrame) -> DataFrame:
    known = facts.drop(columns=["amount", "currency"])
    return listed.drop(columns=["body"]).merge(known, on=["kind", "resource_id"], how="left", validate="many_to_one")


def _loose_rows(listed: DataFrame, facts: DataFrame) -> DataFrame:
    is_listed = pd.MultiIndex.from_frame(facts[["kind", "resource_id"]]).isin(
        pd.MultiIndex.from_frame(listed[["kind", "resource_id"]])
    )
    is_money = (facts["status"] == "succeeded") | (facts["kind"] == "refund")
    return facts[~is_listed & is_money].assign(payout_id=None, resource_type=lambda rows: rows["kind"])


def _facts_of_bodies(listed: DataFrame, facts: DataFrame) -> DataFrame:
    """What the payout's own list says of resources that no event or pull has brought."""
    is_known = pd.MultiIndex.from_frame(listed[["kind", "resource_id"]]).isin(
        pd.MultiIndex.from_frame(facts[["kind", "resource_id"]])
    )
    unknown = listed[~is_known].drop_duplicates(["kind", "resource_id"])
    rows = [_to_fact(row.kind, row.resource_id, row.amount, row.currency, row.body) for row in unknown.itertuples()]
    return typed(DataFrame(rows, columns=list(FACTS)), FACTS)


def _to_fact(kind: Any, resource_id: Any, amount: Any, currency: Any, body: Any) -> tuple[Any, ...]:
    data = msgspec.json.decode(body)
    customer = data.get("customer") if isinstance(data.get("customer"), dict) else {}
    tax_id = customer.get("tax_id")
    sender = data.get("sender_account") if isinstance(data.get("sender_account"), dict) else {}
    return (
        kind, resource_id, data.get("status"), amount, currency, _moment(data, "created_at"),
        _moment(data, "succeeded_at"), _moment(data, "failed_at"), _subtype(kind, data), data.get("resource_id"),
        tax_id.get("value") if isinstance(tax_id, dict) else tax_id, customer.get("name"), sender.get("holder_id"),
        body,
    )  # fmt: skip


def _moment(data: dict[str, Any], field: str) -> Any:
    value = data.get(field)
    return pd.Timestamp(value).tz_convert("UTC") if isinstance(value, str) else pd.NaT


def _subtype(kind: Any, data: dict[str, Any]) -> str | None:
    if kind == "charge":
        return CHARGE_SUBTYPE
    options = data.get("payment_type_options")
    card = options.get("card") if isinstance(options, dict) else None
    found = _CARD_SUBTYPES.get(card.get("kind", "")) if isinstance(card, dict) else None
    return found or data.get("payment_type")


def _occurred_at(rows: DataFrame) -> Any:
    """Success for what came in or went out, failure for a refund that came back; creation where neither is known."""
    came_back = rows["resource_type"] == "refund_adjustment"
    return rows["succeeded_at"].where(~came_back, rows["failed_at"]).fillna(rows["created_at"])


def _read_bodies(
    bodies: Iterable[str], customers: Mapping[str, tuple[str | None, str | None]], own: frozenset[str], country: str
) -> dict[str, list[str | None]]:
    read: dict[str, list[str | None]] = {
        "metadata": [],
        "texts": [],
        "split": [],
        "known_tax_id": [],
        "known_name": [],
    }
    for text in bodies:
        body = _DECODER.decode(text)
        known = customers.get(_customer_id(body.customer) or "", (None, None))
        read["metadata"].append(_metadata(body.metadata))
        read["texts"].append(_texts(body))
        read["split"].append(_split(body.split_applied, own))
        read["known_tax_id"].append(_tax_id(known[0], country))
        read["known_name"].append(known[1])
    return read


def _customer_id(customer: Any) -> str | None:
    value = customer.get("id") if isinstance(customer, dict) else customer
    return value if isinstance(value, str) else None


def _metadata(metadata: Any) -> str | None:
    return _ENCODER.encode(metadata).decode() if isinstance(metadata, dict) and metadata else None


def _texts(body: Body) -> str | None:
    parts = [part for part in (body.comment, body.description, body.reference_id) if isinstance(part, str) and part]
    return "\n".join(parts) or None


def _split(shares: Any, own: frozenset[str]) -> str | None:
    """The resolved shares, with `own` on the merchant's own entity where that is known."""
    if not isinstance(shares, list) or not shares:
        return None
    rows = []
    for share in shares:
        if not isinstance(share, dict) or not isinstance(share.get("amount"), int):
            return None
        kept = {name: share.get(name) for name in ("entity_id", "amount", "charge_processing_fee")}
        rows.append(kept | ({"own": kept["entity_id"] in own} if own else {}))
    return _ENCODER.encode(rows).decode()


@lru_cache(maxsize=65536)
def _tax_id(value: Any, country: str) -> str | None:
    """Canonical, so that it compares with the books; what has no right form identifies nobody."""
    if not isinstance(value, str):
        return None
    try:
        return to_tax_id(value, country)
    except TaxIdError:
        return None


def _filled(first: Any, *others: Any) -> Any:
    """The first known text of several columns."""
    filled = first.astype("string").astype("str")
    for other in others:
        filled = filled.fillna(other.astype("string").astype("str"))
    return filled
