"""Recurring billing: subscriptions, the invoices they make each month, and the payments those invoices collect."""

from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from typing import Any

from sandbox.scenarios.ledger import LocalDocument
from sandbox.scenarios.methods import to_payment_method
from sandbox.scenarios.people import Person
from sandbox.scenarios.shop import Shop, matched
from sandbox.scenarios.wire import Merchant, to_customer, to_millis
from sandbox.state.happening import Happening

MONTH = timedelta(days=31)
DRAFT_FOR = timedelta(hours=1)
BEAT = timedelta(milliseconds=200)


@dataclass(slots=True)
class Biller:
    """Bills one subscriber month by month."""

    shop: Shop
    merchant: Merchant
    customer: Person
    day: int  # of the month
    price: int
    plan: str
    currency: str = "CLP"  # of the price; a CLF price is billed in pesos
    fails_once: bool = False

    def subscribe(
        self, at: datetime, *, status: str = "active", method: str = "charge_automatically"
    ) -> dict[str, Any]:
        """The subscription with its one item, and the payment method it charges."""
        chance = self.shop.chance
        pm = to_payment_method(chance, "card", self.customer, at, status="active")
        product: dict[str, Any] = {
            "id": chance.id("prod"), "object": "product", "mode": "test", "name": self.plan, "description": None,
            "image_url": None, "metadata": {}, "created_at": to_millis(at),
        }  # fmt: skip
        unit = {"currency": self.currency, "unit_amount": self.price if self.currency == "CLP" else 12_500,
                "recurring": {"interval": "month", "interval_count": 1}, "product": product}  # fmt: skip
        item = {"id": chance.id("si"), "object": "subscription_item", "price": unit, "quantity": 1,
                "name": self.plan, "description": None}  # fmt: skip
        known = to_customer(self.customer, self.merchant, created_at=at, mode="test")
        subscription: dict[str, Any] = {
            "id": chance.id("sub"),
            "object": "subscription",
            "mode": "test",
            "status": status,
            "customer": self.customer.customer_id,
            "items": [item],
            "billing_cycle_anchor": to_millis(at),
            "collection_method": method,
            "payment_method": pm["id"] if method == "charge_automatically" else None,
            "trial_end": None,
            "business_profile": None,
            "metadata": {},
            "created_at": to_millis(at),
        }
        self.say(at, "customers", known)
        self.say(at, "payment_methods", pm)
        self.say(at, "subscriptions", subscription)
        return subscription

    def say(self, at: datetime, collection: str, thing: dict[str, Any], event: str | None = None) -> None:
        """Note a happening."""
        self.shop.ledger.happenings.append(Happening(at, collection, thing, event))

    def bill(self, subscription: dict[str, Any], on: date) -> None:
        """One month: the invoice's life, the merchant's own document for it and the payment that settles it."""
        shop, chance = self.shop, self.shop.chance
        created_at = chance.moment(on, since=time(9), until=time(10))
        draft = self.draft(subscription, created_at)
        document = self.document(on, draft["id"])
        opened = self.open(draft, created_at)
        paid_at = created_at + DRAFT_FOR + timedelta(seconds=chance.whole(200, 900))
        if self.fails_once:
            failed = opened | {"hosted_invoice_url": f"https://pagos.example/i/{chance.digits(9)}"}
            self.say(paid_at, "invoices", failed, "invoice.payment_failed")
            opened, paid_at = failed, paid_at + timedelta(days=1)
        payment = shop.payment(self.price, paid_at + 2 * BEAT, matched(document), subtype="credit_card")
        payment = replace(payment, customer=self.customer, metadata={"invoice": draft["id"]},
                          payment_method=subscription["payment_method"], subscription=subscription["id"])  # fmt: skip
        shop.keep_payment(payment)
        started = opened | {"payments": [self.attempt(payment.id, "in_progress")]}
        self.say(payment.created_at, "invoices", started, "invoice.payment_created")
        done = started | {"payments": [self.attempt(payment.id, "succeeded")]}
        self.say(paid_at, "invoices", done, "invoice.payment_succeeded")
        self.say(paid_at + BEAT, "invoices", done | {"status": "paid"}, "invoice.paid")

    def document(self, on: date, invoice_id: str) -> LocalDocument:
        """The merchant's own tax document, whose order reference is the provider's invoice."""
        drafted = self.shop.invoice(self.customer, on, days=15)
        vat = self.shop.included_vat(self.price)
        known_at = self.shop.chance.moment(on, since=time(8), until=time(8, 30))
        return self.shop.keep_document(
            replace(drafted, net=self.price - vat, vat=vat, total=self.price, order_ref=invoice_id, known_at=known_at)
        )

    def draft(self, subscription: dict[str, Any], created_at: datetime) -> dict[str, Any]:
        """The invoice as it begins, and the news of it."""
        draft = self.to_invoice(self.shop.chance.id("inv"), subscription, created_at)
        self.say(created_at, "invoices", draft, "invoice.created")
        return draft

    def open(self, draft: dict[str, Any], created_at: datetime) -> dict[str, Any]:
        """The invoice once it is final, and the news of it."""
        opened = draft | {"status": "open"}
        self.say(created_at + DRAFT_FOR, "invoices", opened, "invoice.finalized")
        return opened

    def announce(self, subscription: dict[str, Any], on: date) -> None:
        """The preview of the next invoice, which has no id yet."""
        at = self.shop.chance.moment(on)
        preview = self.to_invoice(None, subscription, at)
        self.say(at, "previews", preview, "invoice.upcoming")

    def to_invoice(self, id_: str | None, subscription: dict[str, Any], at: datetime) -> dict[str, Any]:
        """An invoice over one month of the plan."""
        line = {"id": self.shop.chance.id("il"), "object": "line_item", "amount": self.price, "currency": "CLP",
                "quantity": 1, "period_start": to_millis(at), "period_end": to_millis(at + MONTH),
                "product": subscription["items"][0]["price"]["product"]}  # fmt: skip
        return {
            "id": id_,
            "object": "invoice",
            "mode": "test",
            "status": "draft",
            "customer": self.customer.customer_id,
            "subscription": subscription["id"],
            "currency": "CLP",
            "total": self.price,
            "lines": [line],
            "payments": [],
            "collection_method": subscription["collection_method"],
            "default_payment_method": subscription["payment_method"],
            "hosted_invoice_url": None,
            "external_payment": False,
            "business_profile": None,
            "metadata": {},
            "created_at": to_millis(at),
        }

    def attempt(self, intent_id: str, status: str) -> dict[str, Any]:
        """One attempt to collect an invoice."""
        return {"amount": self.price, "currency": "CLP", "payment_intent": intent_id, "status": status}
