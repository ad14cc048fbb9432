"""Links to external bank accounts, their accounts, movements and refreshes, and institutions as rows."""

from typing import Any

from consumer.facts.tables.business import Institution, Link, LinkAccount, LinkMovement, RefreshIntent
from consumer.provider.rows import fields
from consumer.provider.rows.accounts import status_only
from consumer.provider.rows.fields import Data
from consumer.provider.rows.kind import Kind


def _link_account(data: Data) -> dict[str, Any]:
    return status_only(data) | {
        "amount": fields.amount(fields.part(data, "balance"), "available"),
        "currency": fields.currency(data),
    }


def _link_movement(data: Data) -> dict[str, Any]:
    return status_only(data) | {
        "amount": fields.required_amount(data),
        "currency": fields.required_currency(data),
        "account_id": fields.text(data, "account_id"),
    }


KINDS = {
    "link": Kind(Link, status_only, ("link",)),
    "link_account": Kind(LinkAccount, _link_account, ("account",)),
    "link_movement": Kind(
        LinkMovement, _link_movement, ("movement",), (("pending",), ("confirmed",), ("duplicated", "reversed"))
    ),
    "refresh_intent": Kind(
        RefreshIntent, status_only, ("refresh_intent",), (("created",), ("failed", "rejected", "succeeded"))
    ),
    "institution": Kind(Institution, status_only, ("institution",)),
}
