"""Payments and what follows them as the provider tells them: intents, sessions, charges, refunds and disputes."""

from datetime import datetime, timedelta

from sandbox.scenarios.calendar import bank_day
from sandbox.scenarios.chance import Chance
from sandbox.scenarios.ledger import Dispute, Payment, Refund
from sandbox.scenarios.people import (
    Merchant,
    to_account,
    to_collecting_account,
    to_customer,
    to_millis,
    to_object,
    to_seconds,
)
from sandbox.state.happening import Happening
from sandbox.state.store import Object

CARD_KINDS = {"credit_card": "credit", "debit_card": "debit", "prepaid_card": "prepaid"}
BRANDS = ("visa", "mastercard")
SESSION_PERCENT = {"bank_transfer": 20, "credit_card": 60, "debit_card": 60, "prepaid_card": 60, "installment": 60}
REASONS = ("insufficient_funds", "mfa_authorization_timeout", "bank_not_available", "amount_limit_reached")
DEADLINE = timedelta(days=7)


class Till:
    """Turns payments of the ledger into happenings of one mode."""

    def __init__(self, chance: Chance, merchant: Merchant, *, mode: str = "test") -> None:
        self.chance = chance
        self.merchant = merchant
        self.mode = mode

    def tell(self, payment: Payment) -> list[Happening]:
        """Return everything the provider says about one payment, in order."""
        created = self.intent(payment)
        happenings = [Happening(payment.created_at, "payment_intents", created)]
        if payment.payment_method is None and self.chance.happens(8):
            happenings += self.fail_before(payment)
        if payment.subtype == "bank_transfer" and self.chance.happens(12):
            waiting = payment.succeeded_at - (payment.succeeded_at - payment.created_at) / 2
            happenings.append(
                Happening(waiting, "payment_intents", created | {"status": "pending"}, "payment_intent.pending")
            )
        paid = created | {"status": "succeeded", "transaction_date": self.transaction_date(payment)}
        shared = {"split_applied": to_split_applied(payment)} if payment.shares else {}
        happenings.append(Happening(payment.succeeded_at, "payment_intents", paid, "payment_intent.succeeded", shared))
        often = 100 if payment.shares else SESSION_PERCENT[payment.subtype]
        if payment.payment_method is None and self.chance.happens(often):
            happenings += self.session(payment, paid)
        return happenings

    def intent(self, payment: Payment) -> Object:
        """Return the payment intent when it was created."""
        card = payment.subtype in CARD_KINDS
        held = self.card(payment) if card or payment.subtype == "installment" else None
        made = to_object(
            "payment_intent",
            payment.id,
            mode=self.mode,
            amount=payment.amount,
            currency=payment.currency,
            status="created",
            payment_type="card" if card else payment.subtype,
            payment_type_options={"card": held} if card else {},
            reference_id=payment.reference_id,
            transaction_date=None,
            error_reason=None,
            created_at=to_seconds(payment.created_at),
            expires_at=None,
            metadata=dict(payment.metadata),
            customer=None if payment.customer is None else payment.customer.customer_id,
            customer_email=None if payment.customer is None else payment.customer.email,
            sender_account=None if payment.sender is None else to_account(payment.sender),
            recipient_account=None if held else to_collecting_account(self.merchant),
            business_profile=None,
            next_action=None,
            payment_method=payment.payment_method,
            subscription=payment.subscription,
            widget_token=None,
        )
        return made if payment.comment is None else made | {"comment": payment.comment}

    def card(self, payment: Payment) -> Object:
        """Return the card a payment was made with."""
        return {
            "brand": self.chance.pick(BRANDS),
            "kind": CARD_KINDS.get(payment.subtype, "credit"),
            "last_four_digits": self.chance.digits(4),
            "bank": None,
            "country": self.merchant.country,
            "authenticated_with_3ds": self.chance.happens(70),
            "wallet": self.chance.pick((None, None, "apple_pay", "google_pay")),
        }

    def transaction_date(self, payment: Payment) -> str | None:
        """Return the second of success; now and then the provider leaves it out, where that changes no bank day."""
        country = self.merchant.country
        same = bank_day(payment.created_at, country) == bank_day(payment.succeeded_at, country)
        return None if same and self.chance.happens(4) else to_seconds(payment.succeeded_at)

    def fail_before(self, payment: Payment) -> list[Happening]:
        """Return an attempt of the same buyer that went wrong some minutes earlier."""
        at = payment.created_at - timedelta(seconds=self.chance.whole(60, 900))
        end, event = self.chance.pick((("failed", "payment_intent.failed"), ("rejected", "payment_intent.rejected"),
                                       ("expired", "payment_intent.expired")))  # fmt: skip
        reason = None if end == "expired" else self.chance.pick(REASONS)
        attempt = self.intent(payment) | {"id": self.chance.id("pi", 27), "created_at": to_seconds(at)}
        failed = attempt | {"status": end, "error_reason": reason}
        ended_at = self.chance.later(at, 20, 50)
        return [Happening(at, "payment_intents", attempt), Happening(ended_at, "payment_intents", failed, event)]

    def session(self, payment: Payment, paid: Object) -> list[Happening]:
        """Return the checkout session in which a payment was made, and the news that it is over."""
        opened_at = payment.created_at - timedelta(seconds=self.chance.whole(5, 40))
        opened = self.checkout(payment, opened_at)
        shared = {}
        if payment.shares:
            opened, shared = opened | {"split": to_split(payment)}, {"split_applied": to_split_applied(payment)}
        over = opened | {"status": "finished", "payment_resource": {"payment_intent": paid}}
        closed_at = self.chance.later(payment.succeeded_at, 0, 3)
        return [
            Happening(opened_at, "checkout_sessions", opened),
            Happening(closed_at, "checkout_sessions", over, "checkout_session.finished", shared),
        ]

    def checkout(self, payment: Payment, opened_at: datetime) -> Object:
        """Return a checkout session when it was opened."""
        customer = None
        if payment.customer is not None:
            customer = to_customer(payment.customer, self.merchant, created_at=opened_at, mode=self.mode)
        kind = "card" if payment.subtype in CARD_KINDS else payment.subtype
        return to_object(
            "checkout_session",
            self.chance.id("cs", 24),
            mode=self.mode,
            created_at=to_millis(opened_at),
            expires_at=to_millis(opened_at + timedelta(hours=24)),
            status="created",
            flow="payment",
            amount=payment.amount,
            currency=payment.currency,
            customer=customer,
            customer_email=None if payment.customer is None else payment.customer.email,
            payment_method_types=[kind],
            payment_method_options={},
            payment_resource={"payment_intent": None},
            redirect_url="https://checkout.example/pay",
            session_token=None,
            success_url="https://tienda.example/gracias",
            cancel_url="https://tienda.example/carro",
            line_items=[],
            business_profile=None,
            metadata=dict(payment.metadata),
        )

    def abandon(self, payment: Payment) -> list[Happening]:
        """Return an unfinished checkout: the session expires, and its payment intent with it."""
        opened = self.checkout(payment, payment.created_at)
        intent = self.intent(payment)
        ended_at = payment.created_at + timedelta(hours=24)
        return [
            Happening(payment.created_at, "checkout_sessions", opened),
            Happening(payment.created_at, "payment_intents", intent),
            Happening(ended_at, "payment_intents", intent | {"status": "expired"}, "payment_intent.expired"),
            Happening(ended_at, "checkout_sessions", opened | {"status": "expired"}, "checkout_session.expired"),
        ]


def tell_charge(payment: Payment, merchant: Merchant) -> list[Happening]:
    """Return a charge waiting for the bank, then collected."""
    pending = to_charge(payment, merchant)
    done = pending | {"status": "succeeded", "updated_at": to_millis(payment.succeeded_at)}
    return [
        Happening(payment.created_at, "charges", pending),
        Happening(payment.succeeded_at, "charges", done, "charge.succeeded"),
    ]


def to_charge(payment: Payment, merchant: Merchant) -> Object:
    """Return a charge when it was made."""
    return to_object(
        "charge",
        payment.id,
        amount=payment.amount,
        currency=payment.currency,
        status="pending",
        subscription_id=payment.subscription,
        failure_code=None,
        metadata=dict(payment.metadata),
        business_profile=None,
        recipient_account=to_collecting_account(merchant),
        created_at=to_millis(payment.created_at),
        updated_at=to_millis(payment.created_at),
    )


def tell_refund(refund: Refund, *, mode: str = "test") -> list[Happening]:
    """Created without an event, then taken off a payout, then succeeded or failed."""
    made = _refund(refund, mode)
    started = made | {"status": "in_progress", "updated_at": to_millis(refund.in_progress_at)}
    happenings = [
        Happening(refund.created_at, "refunds", made),
        Happening(refund.in_progress_at, "refunds", started, "refund.in_progress"),
    ]
    if refund.succeeded_at is not None:
        done = started | {"status": "succeeded", "updated_at": to_millis(refund.succeeded_at)}
        happenings.append(Happening(refund.succeeded_at, "refunds", done, "refund.succeeded"))
    if refund.failed_at is not None:
        reason = {"status": "failed", "failure_code": "insufficient_funds", "updated_at": to_millis(refund.failed_at)}
        happenings.append(Happening(refund.failed_at, "refunds", started | reason, "refund.failed"))
    return happenings


def _refund(refund: Refund, mode: str) -> Object:
    payer = refund.payment.sender
    return to_object(
        "refund",
        refund.id,
        mode=mode,
        amount=refund.amount,
        currency=refund.payment.currency,
        status="created",
        resource_id=refund.payment.id,
        resource_type="payment_intent",
        failure_code=None,
        recipient_account=None if payer is None else to_account(payer),
        metadata=dict(refund.metadata),
        created_at=to_millis(refund.created_at),
        updated_at=to_millis(refund.created_at),
    )


def tell_dispute(case: Dispute) -> list[Happening]:
    """Return each state of a dispute with its event."""
    current: Object = to_object(
        "dispute",
        case.id,
        amount=case.payment.amount,
        currency=case.payment.currency,
        status="waiting_documentation",
        documentation_upload_deadline=to_millis(case.opened_at + DEADLINE),
        documents=[],
        resource_id=case.payment.id,
        resource_type="payment_intent",
        created_at=to_millis(case.opened_at),
        _ending=case.ending,
    )
    happenings = []
    states = (("waiting_documentation", case.opened_at), ("in_review", case.review_at), (case.ending, case.ended_at))
    for status, at in states:
        if at is not None and status is not None:
            current = current | {"status": status, "updated_at": to_millis(at)}
            happenings.append(Happening(at, "disputes", current, f"dispute.{status}"))
    return happenings


def to_split(payment: Payment) -> list[Object]:
    """Return the split the session was created with: a flat share for the seller, the rest for the merchant."""
    off = sum(share.amount for share in payment.shares) - payment.amount
    return [
        {"entity_id": share.entity_id, "flat": share.amount - (0 if share.is_own else off), "percentage": None,
         "charge_processing_fee": share.pays_fee}
        for share in payment.shares
    ]  # fmt: skip


def to_split_applied(payment: Payment) -> list[Object]:
    """Return what each recipient gets, as events tell it."""
    return [
        {"entity_id": share.entity_id, "amount": share.amount, "charge_processing_fee": share.pays_fee}
        for share in payment.shares
    ]
