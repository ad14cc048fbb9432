"""Payouts and the items they carry as rows."""

from typing import Any

from consumer.facts.tables.provider import Payout, PayoutItem
from consumer.provider.rows import fields
from consumer.provider.rows.fields import Data
from consumer.provider.rows.kind import Kind, Observation, Reached
from consumer.provider.rows.payments import SUCCEEDED, money


def _payout(data: Data) -> dict[str, Any]:
    recipient = fields.part(data, "recipient_account")
    return money(data) | {
        "recipient_institution": fields.text(recipient, "institution_id"),
        "recipient_number": fields.text(recipient, "number"),
    }


def to_payout_item(data: Data, seen: Observation, *, payout_id: str, resource_type: str) -> PayoutItem:
    """Turn one row of a payout's resources into the fact that the payout carries it."""
    return PayoutItem(
        connection=seen.connection,
        payout_id=payout_id,
        resource_type=resource_type,
        resource_id=fields.identifier(data),
        mode=seen.mode,
        amount=fields.required_amount(data),
        currency=fields.required_currency(data),
        body=fields.body_text(fields.kept(data)),
    )


KINDS = {
    "payout": Kind(
        Payout,
        _payout,
        ("payout",),
        (("in_progress",), ("succeeded",), ("canceled",), ("returned",)),
        {
            "succeeded_at": SUCCEEDED,
            "ended_at": Reached(("canceled_at", "returned_at"), frozenset({"canceled", "returned"})),
        },
    ),
}
