"""What a payout carries, as rows of their own."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from consumer.provider.rows import Observation, to_payout_item

Payment = Callable[..., dict[str, Any]]
READ = Observation("main", "test", datetime(2026, 10, 6, 12, 0, tzinfo=UTC))


def test_a_payout_item(payment: Payment) -> None:
    """One row of a payout's resources says what the payout carries and for how much."""
    item = to_payout_item(payment(), READ, payout_id="po_1", resource_type="payment_intent")

    assert item.model_dump(exclude={"body", "written_at"}) == {
        "connection": "main",
        "payout_id": "po_1",
        "resource_type": "payment_intent",
        "resource_id": "pi_1",
        "mode": "test",
        "amount": 1500,
        "currency": "CLP",
    }


def test_a_payout_item_keeps_no_secret_and_marks_half_characters(payment: Payment) -> None:
    """The list shows whole objects; what opens doors at the provider stays out, half a character is marked."""
    data = payment() | {"widget_token": "wt_made_up", "comment": "\ud800"}

    item = to_payout_item(data, READ, payout_id="po_1", resource_type="payment_intent")

    assert "wt_made_up" not in item.body
    assert json.loads(item.body)["comment"] == "\ufffd"
    item.body.encode()
