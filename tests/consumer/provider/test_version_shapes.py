"""Both shapes in which the API's versions write an object become the same row, and each keeps its own JSON whole."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from consumer.provider.rows import Observation
from tests.observing import to_row

READ = Observation("main", "test", datetime(2026, 10, 6, 12, 0, tzinfo=UTC))
REFRESH: dict[str, Any] = {"id": "ri_1", "object": "refresh_intent", "status": "succeeded"}
MANDATE: dict[str, Any] = {"id": "pm_1", "object": "payment_method", "type": "mx_direct_debit"}
TRANSFER: dict[str, Any] = {
    "id": "tr_1",
    "object": "transfer",
    "amount": 50000,
    "currency": "mxn",
    "direction": "outbound",
    "status": "returned",
    "return_reason_code": "01",
}
OLD_MANDATE = {"status": "active", "institution_id": "mx_made_up", "last_four_digits": "0004", "max_amount_cents": 100}
NEW_MANDATE = {
    "status": "active",
    "institution": {"id": "mx_made_up"},
    "account_number_last4": "0004",
    "max_amount": 100,
}


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        ("refresh_intent", REFRESH | {"refreshedObjectId": "acc_1"}, REFRESH | {"refreshed_object_id": "acc_1"}),
        ("payment_method", MANDATE | {"mx_direct_debit": OLD_MANDATE}, MANDATE | {"mx_direct_debit": NEW_MANDATE}),
        (
            "transfer",
            TRANSFER | {"return_reason": "non_existent_account"},
            TRANSFER | {"return_reason": "non_existing_account"},
        ),
    ],
)
def test_the_shapes_of_two_versions_are_one_row(kind: str, old: dict[str, Any], new: dict[str, Any]) -> None:
    """Renamed fields change no column; the body is what came."""
    first, second = to_row(kind, old, READ), to_row(kind, new, READ)
    assert first.model_dump(exclude={"body"}) == second.model_dump(exclude={"body"})
    assert (json.loads(first.body), json.loads(second.body)) == (old, new)
