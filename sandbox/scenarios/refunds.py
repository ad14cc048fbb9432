"""Refunds as the provider tells them."""

from typing import Any

from sandbox.scenarios.ledger import Refund
from sandbox.scenarios.wire import to_account, to_millis
from sandbox.state.happening import Happening


def tell_refund(refund: Refund, *, mode: str = "test") -> list[Happening]:
    """Created without an event, then taken off a payout, then succeeded or failed."""
    made = _refund(refund, mode)
    started = made | {"status": "in_progress", "updated_at": to_millis(refund.in_progress_at)}
    told = [
        Happening(refund.created_at, "refunds", made),
        Happening(refund.in_progress_at, "refunds", started, "refund.in_progress"),
    ]
    if refund.succeeded_at is not None:
        done = started | {"status": "succeeded", "updated_at": to_millis(refund.succeeded_at)}
        told.append(Happening(refund.succeeded_at, "refunds", done, "refund.succeeded"))
    if refund.failed_at is not None:
        reason = {"status": "failed", "failure_code": "insufficient_funds", "updated_at": to_millis(refund.failed_at)}
        told.append(Happening(refund.failed_at, "refunds", started | reason, "refund.failed"))
    return told


def _refund(refund: Refund, mode: str) -> dict[str, Any]:
    payer = refund.payment.sender
    return {
        "id": refund.id,
        "object": "refund",
        "mode": mode,
        "amount": refund.amount,
        "currency": refund.payment.currency,
        "status": "created",
        "resource_id": refund.payment.id,
        "resource_type": "payment_intent",
        "failure_code": None,
        "recipient_account": None if payer is None else to_account(payer),
        "metadata": dict(refund.metadata),
        "created_at": to_millis(refund.created_at),
        "updated_at": to_millis(refund.created_at),
    }
