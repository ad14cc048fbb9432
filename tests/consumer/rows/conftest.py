"""A payment as the provider tells it."""

from collections.abc import Callable
from typing import Any

import pytest


def to_payment(**changes: Any) -> dict[str, Any]:
    return {
        "id": "pi_1",
        "object": "payment_intent",
        "mode": "test",
        "amount": 1500,
        "currency": "clp",
        "status": "succeeded",
        "payment_type": "bank_transfer",
        "created_at": "2026-10-05T11:59:00Z",
        "sender_account": {"holder_id": "11.111.111-1", "institution_id": "cl_banco_estado"},
        "customer": {"name": "Ana", "tax_id": {"type": "cl_rut", "value": "222222222"}},
    } | changes


@pytest.fixture
def payment() -> Callable[..., dict[str, Any]]:
    """A succeeded payment of 1,500 pesos, with the changes that a test makes to it."""
    return to_payment
