"""The bodies of payments and refunds: what in their JSON identifies a sale, and rows of a payout's list; pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import pandas as pd
from pandas import DataFrame

from consumer.facts.clock import to_instant
from reconcile.items import CHARGE_SUBTYPE, FACTS, kinds_of
from reconcile.rules.inputs import typed

_CARD_SUBTYPES = {"credit": "credit_card", "debit": "debit_card", "prepaid": "prepaid_card"}


_MOMENTS = ("created_at", "succeeded_at", "failed_at")


class Body(msgspec.Struct):
    """Anything may stand in these fields, so nothing is assumed of them."""

    metadata: Any = None
    comment: Any = None
    description: Any = None
    reference_id: Any = None
    split_applied: Any = None
    customer: Any = None


_DECODER = msgspec.json.Decoder(Body)
_ENCODER = msgspec.json.Encoder(order="sorted")


def read_bodies(bodies: Iterable[str], own_entities: frozenset[str]) -> Mapping[str, Sequence[Any]]:
    """Make of each body its metadata, texts, split and customer id."""
    read: dict[str, list[str | None]] = {"metadata": [], "texts": [], "split": [], "customer_id": []}
    for text in bodies:
        body = _DECODER.decode(text)
        read["metadata"].append(_metadata(body.metadata))
        read["texts"].append(_texts(body))
        read["split"].append(_split(body.split_applied, own_entities))
        read["customer_id"].append(_customer_id(body.customer))
    return read


def _metadata(metadata: Any) -> str | None:
    return _ENCODER.encode(metadata).decode() if isinstance(metadata, dict) and metadata else None


def _texts(body: Body) -> str | None:
    parts = [part for part in (body.comment, body.description, body.reference_id) if isinstance(part, str) and part]
    return "\n".join(parts) or None


def _split(shares: Any, own_entities: frozenset[str]) -> str | None:
    """The resolved shares, with `own` on the merchant's own entity where that is known."""
    if not isinstance(shares, list) or not shares:
        return None
    rows = []
    for share in shares:
        if not isinstance(share, dict) or not isinstance(share.get("amount"), int):
            return None
        kept = {name: share.get(name) for name in ("entity_id", "amount", "charge_processing_fee")}
        rows.append(kept | ({"own": kept["entity_id"] in own_entities} if own_entities else {}))
    return _ENCODER.encode(rows).decode()


def _customer_id(customer: Any) -> str | None:
    value = customer.get("id") if isinstance(customer, dict) else customer
    return value if isinstance(value, str) else None


def facts_of_bodies(listed: DataFrame, bodies: Sequence[str], own_entities: frozenset[str]) -> DataFrame:
    """What the payout's own list says of resources that no event or pull has brought."""
    kinds = kinds_of(listed)
    rows = [_to_fact(kind, body) for kind, body in zip(kinds, bodies, strict=True)]
    frame = DataFrame(rows, columns=[name for name in FACTS if name not in _LISTED_TOO], index=listed.index)
    frame = frame.assign(kind=kinds, **{name: listed[name] for name in ("resource_id", "amount", "currency")})
    for name, values in read_bodies(bodies, own_entities).items():
        frame[name] = values
    return typed(frame.drop_duplicates(["kind", "resource_id"]), FACTS)


_LISTED_TOO = frozenset({"kind", "resource_id", "amount", "currency", "metadata", "texts", "split", "customer_id"})


def _to_fact(kind: Any, body: str) -> tuple[Any, ...]:
    data = msgspec.json.decode(body)
    customer = data.get("customer") if isinstance(data.get("customer"), dict) else {}
    tax_id = customer.get("tax_id")
    sender = data.get("sender_account") if isinstance(data.get("sender_account"), dict) else {}
    moments = (_moment(data, name) for name in _MOMENTS)
    payer = tax_id.get("value") if isinstance(tax_id, dict) else tax_id
    names = customer.get("name"), sender.get("holder_id")
    return data.get("status"), *moments, _subtype(kind, data), data.get("resource_id"), payer, *names


def _moment(data: Mapping[str, Any], field: str) -> Any:
    """A moment nobody can place is unknown; `unreadable_moments` says so aloud."""
    value = data.get(field)
    try:
        return pd.Timestamp(to_instant(value)) if isinstance(value, str) else pd.NaT
    except ValueError:
        return pd.NaT


def unreadable_moments(listed: DataFrame, bodies: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Name the payout and the reason for every listed resource with a moment that is none, or has no zone."""
    for payout_id, resource_id, body in zip(listed["payout_id"], listed["resource_id"], bodies, strict=True):
        data = msgspec.json.decode(body)
        for field in _MOMENTS:
            if isinstance(data.get(field), str) and pd.isna(_moment(data, field)):
                yield payout_id, f"{payout_id}: {resource_id}: {field} {data[field]!r} is not a moment with a zone"


def _subtype(kind: Any, data: Mapping[str, Any]) -> str | None:
    if kind == "charge":
        return CHARGE_SUBTYPE
    options = data.get("payment_type_options")
    card = options.get("card") if isinstance(options, dict) else None
    found = _CARD_SUBTYPES.get(card.get("kind", "")) if isinstance(card, dict) else None
    return found or data.get("payment_type")
