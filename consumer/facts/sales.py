"""What in the JSON of a payment, charge or refund identifies a sale; anything may stand in those fields."""

from collections.abc import Mapping

import msgspec

from consumer.facts.meaning import read_json, to_json, to_storable

_SHARE = ("entity_id", "amount", "charge_processing_fee")
# Sums and differences of amounts are stored as eight bytes.
_MOST = 2**62
_encode = msgspec.json.Encoder(order="sorted").encode


def sale_of(body: Mapping[str, object]) -> dict[str, str | None]:
    """Give the columns of a sale: metadata and shares as canonical JSON, the texts a line each, the customer's id."""
    metadata, shares, customer = body.get("metadata"), body.get("split_applied"), body.get("customer")
    return {
        "metadata_json": _canonical(metadata) if metadata and isinstance(metadata, dict) else None,
        "texts": _texts((body.get("comment"), body.get("description"), body.get("reference_id"))),
        "split_json": _split(shares) if shares and isinstance(shares, list) else None,
        "customer_id": None if customer is None else _customer_id(customer),
    }


def _texts(values: tuple[object, ...]) -> str | None:
    parts = [to_storable(value) for value in values if value and isinstance(value, str)]
    return "\n".join(parts) if parts else None


def _split(shares: list[object]) -> str | None:
    """The resolved shares; a list with one that has no amount, or with more than any payment, gives None."""
    known = [share for share in shares if isinstance(share, dict) and type(share.get("amount")) is int]
    if len(known) < len(shares) or sum(abs(share["amount"]) for share in known) > _MOST:
        return None
    return _canonical([{name: share.get(name) for name in _SHARE} for share in known])


def _customer_id(customer: object) -> str | None:
    value = customer.get("id") if isinstance(customer, dict) else customer
    return to_storable(value) if isinstance(value, str) else None


def _canonical(value: object) -> str:
    """Write JSON as it will be written again from the stored body, where half a character is already replaced."""
    try:
        return _encode(value).decode()
    except UnicodeEncodeError:
        return _encode(read_json(to_json({"it": value}))["it"]).decode()
