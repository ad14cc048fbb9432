"""Rows of a payout's list whose resource nothing else has brought, and which shares are the merchant's own; pure."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
import pyarrow as pa

from consumer.facts.clock import to_instant
from consumer.facts.sales import sale_of
from reconcile.reading.columnar import empty_table
from reconcile.reading.items import CHARGE_SUBTYPE, FACTS, kinds_of
from reconcile.rules.columns import combined

Body = Mapping[str, Any]

# The columns of a sale by the names they bear among facts.
SALE = {"metadata": "metadata_json", "texts": "texts", "split": "split_json", "customer_id": "customer_id"}
_CARD_SUBTYPES = {"credit": "credit_card", "debit": "debit_card", "prepaid": "prepaid_card"}
_MOMENTS = ("created_at", "succeeded_at", "failed_at")
_ENCODER = msgspec.json.Encoder(order="sorted")


def mark_own(splits: Any, own_entities: frozenset[str]) -> Any:
    """Put `own` on the shares of the merchant's own entity, where that is known; each distinct split is read once."""
    if not own_entities:
        return splits
    coded = combined(splits).dictionary_encode()
    marked = [_marked(split, own_entities) for split in coded.dictionary.to_pylist()]
    return pa.array(marked, type=splits.type).take(coded.indices)


def _marked(split: str, own_entities: frozenset[str]) -> str:
    shares = msgspec.json.decode(split)
    for share in shares:
        share["own"] = isinstance(share["entity_id"], str) and share["entity_id"] in own_entities
    return _ENCODER.encode(shares).decode()


def facts_of_bodies(listed: pa.Table, bodies: Sequence[Body]) -> pa.Table:
    """What the payout's own list says of resources that no event or pull has brought; each resource once."""
    known: dict[tuple[str, str], dict[str, Any]] = {}
    rows = listed.append_column("kind", kinds_of(listed)).select(["kind", "resource_id", "amount", "currency"])
    for row, body in zip(rows.to_pylist(), bodies, strict=True):
        known.setdefault((row["kind"], row["resource_id"]), row | _said(row["kind"], body))
    return pa.Table.from_pylist(list(known.values()), schema=empty_table(FACTS).schema)


def _said(kind: str, body: Body) -> dict[str, Any]:
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


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _moment(body: Body, field: str) -> datetime | None:
    """A moment nobody can place is unknown; `unreadable_moments` says so aloud."""
    value = body.get(field)
    try:
        return to_instant(value) if isinstance(value, str) else None
    except ValueError:
        return None


def unreadable_moments(listed: pa.Table, bodies: Sequence[Body]) -> Iterator[tuple[str, str]]:
    """Name the payout and the reason for every listed resource with a moment that is none, or has no zone."""
    names = listed.select(["payout_id", "resource_id"]).to_pylist()
    for row, body in zip(names, bodies, strict=True):
        for field in _MOMENTS:
            if isinstance(body.get(field), str) and _moment(body, field) is None:
                told = f"{row['payout_id']}: {row['resource_id']}: {field} {body[field]!r} is not a moment with a zone"
                yield row["payout_id"], told


def _subtype(kind: str, body: Body) -> Any:
    if kind == "charge":
        return CHARGE_SUBTYPE
    card = _part(_part(body, "payment_type_options"), "card")
    card_kind = card.get("kind")
    found = _CARD_SUBTYPES.get(card_kind) if isinstance(card_kind, str) else None
    return found or body.get("payment_type")
