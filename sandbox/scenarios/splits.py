"""Split payments: sales of a marketplace of two, the merchant paying the fee."""

from dataclasses import replace
from datetime import date
from typing import Any

from sandbox.scenarios.ledger import Payment, Share
from sandbox.scenarios.shop import Shop, matched

SELLER_BPS = 1_500


def sell_for_two(shop: Shop, on: date, *, own_entity: str, seller_entity: str, off_by: int = 0) -> Payment:
    """A receipt paid by card and shared; the seller's share may be off by some units."""
    paid_at = shop.chance.moment(on)
    receipt = shop.keep_document(shop.receipt(shop.chance.later(paid_at, -900, -240)))
    seller = receipt.total * SELLER_BPS // 10_000
    shares = (
        Share(own_entity, receipt.total - seller, pays_fee=True, is_own=True),
        Share(seller_entity, seller + off_by),
    )
    verdict = matched(receipt)
    if off_by:
        verdict = replace(verdict, code="SPLIT_MISMATCH", at_risk=abs(off_by))
    payment = shop.payment(receipt.total, paid_at, verdict, subtype="credit_card")
    return shop.keep_payment(replace(payment, metadata=shop.name(receipt), shares=shares))


def to_split(payment: Payment) -> list[dict[str, Any]]:
    """What was asked for when the session was created: a flat share for the seller, the rest for the merchant."""
    off = sum(share.amount for share in payment.shares) - payment.amount
    return [
        {"entity_id": share.entity_id, "flat": share.amount - (0 if share.is_own else off), "percentage": None,
         "charge_processing_fee": share.pays_fee}
        for share in payment.shares
    ]  # fmt: skip


def to_split_applied(payment: Payment) -> list[dict[str, Any]]:
    """What each recipient gets, as events tell it."""
    return [
        {"entity_id": share.entity_id, "amount": share.amount, "charge_processing_fee": share.pays_fee}
        for share in payment.shares
    ]
