"""Payments as the provider tells them: payment intents and the checkout sessions around some of them."""

from datetime import datetime, timedelta
from typing import Any

from sandbox.scenarios.calendar import bank_day
from sandbox.scenarios.chance import Chance
from sandbox.scenarios.ledger import Payment
from sandbox.scenarios.splits import to_split, to_split_applied
from sandbox.scenarios.wire import Merchant, to_account, to_collecting_account, to_customer, to_millis, to_seconds
from sandbox.state.happening import Happening

CARD_KINDS = {"credit_card": "credit", "debit_card": "debit", "prepaid_card": "prepaid"}
BRANDS = ("visa", "mastercard")
SESSION_PERCENT = {"bank_transfer": 20, "credit_card": 60, "debit_card": 60, "prepaid_card": 60, "installment": 60}
REASONS = ("insufficient_funds", "mfa_authorization_timeout", "bank_not_available", "amount_limit_reached")


class Till:
    """Turns payments of the ledger into happenings of one mode."""

    def __init__(self, chance: Chance, merchant: Merchant, *, mode: str = "test") -> None:
        self.chance = chance
        self.merchant = merchant
        self.mode = mode

    def tell(self, payment: Payment) -> list[Happening]:
        """Everything the provider says about one payment, in order."""
        created = self.intent(payment)
        told = [Happening(payment.created_at, "payment_intents", created)]
        if payment.payment_method is None and self.chance.happens(8):
            told += self.fail_before(payment)
        if payment.subtype == "bank_transfer" and self.chance.happens(12):
            waiting = payment.succeeded_at - (payment.succeeded_at - payment.created_at) / 2
            told.append(
                Happening(waiting, "payment_intents", created | {"status": "pending"}, "payment_intent.pending")
            )
        paid = created | {"status": "succeeded", "transaction_date": self.transaction_date(payment)}
        shared = {"split_applied": to_split_applied(payment)} if payment.shares else {}
        told.append(Happening(payment.succeeded_at, "payment_intents", paid, "payment_intent.succeeded", shared))
        often = 100 if payment.shares else SESSION_PERCENT[payment.subtype]
        if payment.payment_method is None and self.chance.happens(often):
            told += self.session(payment, paid)
        return told

    def intent(self, payment: Payment) -> dict[str, Any]:
        """The payment intent when it was created."""
        card = payment.subtype in CARD_KINDS
        held = self.card(payment) if card or payment.subtype == "installment" else None
        made = {
            "id": payment.id,
            "object": "payment_intent",
            "mode": self.mode,
            "amount": payment.amount,
            "currency": payment.currency,
            "status": "created",
            "payment_type": "card" if card else payment.subtype,
            "payment_type_options": {"card": held} if card else {},
            "reference_id": payment.reference_id,
            "transaction_date": None,
            "error_reason": None,
            "created_at": to_seconds(payment.created_at),
            "expires_at": None,
            "metadata": dict(payment.metadata),
            "customer": None if payment.customer is None else payment.customer.customer_id,
            "customer_email": None if payment.customer is None else payment.customer.email,
            "sender_account": None if payment.sender is None else to_account(payment.sender),
            "recipient_account": None if held else to_collecting_account(self.merchant),
            "business_profile": None,
            "next_action": None,
            "payment_method": payment.payment_method,
            "subscription": payment.subscription,
            "widget_token": None,
        }
        return made if payment.comment is None else made | {"comment": payment.comment}

    def card(self, payment: Payment) -> dict[str, Any]:
        """The card a payment was made with."""
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
        """The second of success; now and then the provider leaves it out, where that changes no bank day."""
        country = self.merchant.country
        same = bank_day(payment.created_at, country) == bank_day(payment.succeeded_at, country)
        return None if same and self.chance.happens(4) else to_seconds(payment.succeeded_at)

    def fail_before(self, payment: Payment) -> list[Happening]:
        """An attempt of the same buyer that went wrong some minutes earlier."""
        at = payment.created_at - timedelta(seconds=self.chance.whole(60, 900))
        end, event = self.chance.pick((("failed", "payment_intent.failed"), ("rejected", "payment_intent.rejected"),
                                       ("expired", "payment_intent.expired")))  # fmt: skip
        reason = None if end == "expired" else self.chance.pick(REASONS)
        attempt = self.intent(payment) | {"id": self.chance.id("pi", 27), "created_at": to_seconds(at)}
        failed = attempt | {"status": end, "error_reason": reason}
        ended_at = self.chance.later(at, 20, 50)
        return [Happening(at, "payment_intents", attempt), Happening(ended_at, "payment_intents", failed, event)]

    def session(self, payment: Payment, paid: dict[str, Any]) -> list[Happening]:
        """The checkout session in which a payment was made, and the news that it is over."""
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

    def checkout(self, payment: Payment, opened_at: datetime) -> dict[str, Any]:
        """A checkout session when it was opened."""
        customer = None
        if payment.customer is not None:
            customer = to_customer(payment.customer, self.merchant, created_at=opened_at, mode=self.mode)
        kind = "card" if payment.subtype in CARD_KINDS else payment.subtype
        return {
            "id": self.chance.id("cs", 24),
            "object": "checkout_session",
            "mode": self.mode,
            "created_at": to_millis(opened_at),
            "expires_at": to_millis(opened_at + timedelta(hours=24)),
            "status": "created",
            "flow": "payment",
            "amount": payment.amount,
            "currency": payment.currency,
            "customer": customer,
            "customer_email": None if payment.customer is None else payment.customer.email,
            "payment_method_types": [kind],
            "payment_method_options": {},
            "payment_resource": {"payment_intent": None},
            "redirect_url": "https://checkout.example/pay",
            "session_token": None,
            "success_url": "https://tienda.example/gracias",
            "cancel_url": "https://tienda.example/carro",
            "line_items": [],
            "business_profile": None,
            "metadata": dict(payment.metadata),
        }

    def abandon(self, payment: Payment) -> list[Happening]:
        """A checkout that nobody finishes: the session expires, and its payment intent with it."""
        opened = self.checkout(payment, payment.created_at)
        intent = self.intent(payment)
        ended_at = payment.created_at + timedelta(hours=24)
        return [
            Happening(payment.created_at, "checkout_sessions", opened),
            Happening(payment.created_at, "payment_intents", intent),
            Happening(ended_at, "payment_intents", intent | {"status": "expired"}, "payment_intent.expired"),
            Happening(ended_at, "checkout_sessions", opened | {"status": "expired"}, "checkout_session.expired"),
        ]
