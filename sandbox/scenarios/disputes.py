"""Disputes: card payments whose bank wants the money back, won, lost, expired or still open."""

from datetime import date, time, timedelta
from typing import Any

from sandbox.scenarios.ledger import Dispute, Ledger, Payment
from sandbox.scenarios.shop import Shop
from sandbox.scenarios.wire import to_millis
from sandbox.state.happening import Happening

DEADLINE = timedelta(days=7)
AGE = timedelta(days=9)
HOURS = {"cl": (time(9), time(12)), "mx": (time(6), time(8))}  # before that day's payout is made


def dispute(shop: Shop, ending: str | None, on: date) -> None:
    """A dispute over an older card payment, if there is one, that ends on this morning or stays open for good."""
    chance = shop.chance
    since, until = HOURS[shop.ledger.country]
    ended_at = chance.moment(on, since=since, until=until)
    candidates = [paid for paid in disputable(shop.ledger) if paid.succeeded_at < ended_at - AGE]
    if not candidates:
        return
    payment = chance.pick(candidates)
    opened_at = ended_at - timedelta(days=7 if ending == "expired" else 6)
    review_at = None if ending == "expired" else opened_at + timedelta(days=2, minutes=chance.whole(1, 600))
    opened = Dispute(chance.id("cb"), payment, opened_at, review_at, None if ending is None else ended_at, ending)
    shop.ledger.disputes.append(opened)


def disputable(ledger: Ledger) -> list[Payment]:
    """Plain card payments nobody gave back or disputed yet."""
    busy = {refund.payment.id for refund in ledger.refunds} | {case.payment.id for case in ledger.disputes}
    return [
        paid
        for paid in ledger.payments
        if paid.subtype == "credit_card"
        and paid.verdict.outcome == "matched"
        and not (paid.id in busy or paid.forgotten or paid.repeated or paid.shares)
    ]


def tell_dispute(case: Dispute) -> list[Happening]:
    """Each state of a dispute with its event."""
    current: dict[str, Any] = {
        "id": case.id,
        "object": "dispute",
        "mode": "test",
        "amount": case.payment.amount,
        "currency": case.payment.currency,
        "status": "waiting_documentation",
        "documentation_upload_deadline": to_millis(case.opened_at + DEADLINE),
        "documents": [],
        "resource_id": case.payment.id,
        "resource_type": "payment_intent",
        "created_at": to_millis(case.opened_at),
    }
    told = []
    states = (("waiting_documentation", case.opened_at), ("in_review", case.review_at), (case.ending, case.ended_at))
    for status, at in states:
        if at is not None and status is not None:
            current = current | {"status": status, "updated_at": to_millis(at)}
            told.append(Happening(at, "disputes", current, f"dispute.{status}"))
    return told
