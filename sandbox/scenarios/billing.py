"""Recurring billing: subscribers, what they are billed each month, and the payment methods customers save."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta

from sandbox.scenarios.calendar import add_bank_days, next_month
from sandbox.scenarios.chance import Chance
from sandbox.scenarios.institutions import institution_of
from sandbox.scenarios.ledger import Ledger, LocalDocument, Payment
from sandbox.scenarios.payments import to_charge
from sandbox.scenarios.people import Merchant, Person, to_customer, to_millis, to_object, to_provider_tax_id
from sandbox.scenarios.plan import Span
from sandbox.scenarios.shop import Shop, match_document
from sandbox.state.happening import Happening
from sandbox.state.store import Object

SUBSCRIBERS = 3
MONTH = timedelta(days=31)
DRAFT_FOR = timedelta(hours=1)  # how long a renewal stays in draft
BEAT = timedelta(milliseconds=200)
PLANS = (("Plan Bodega", 8, "CLP"), ("Plan Ruta", 14, "CLF"), ("Plan Vitrina", 20, "CLP"))
LINK_LIFE = timedelta(days=3)


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

    def subscribe(self, at: datetime, *, status: str = "active", method: str = "charge_automatically") -> Object:
        """Return the subscription with its one item, and the payment method it charges."""
        chance = self.shop.chance
        pm = to_payment_method(chance, "card", self.customer, at, status="active")
        product: Object = to_object("product", chance.id("prod"),
name=self.plan, description=None,
            image_url=None, metadata={}, created_at=to_millis(at),
        )  # fmt: skip
        unit = {"currency": self.currency, "unit_amount": self.price if self.currency == "CLP" else 12_500,
                "recurring": {"interval": "month", "interval_count": 1}, "product": product}  # fmt: skip
        item = {"id": chance.id("si"), "object": "subscription_item", "price": unit, "quantity": 1,
                "name": self.plan, "description": None}  # fmt: skip
        known = to_customer(self.customer, self.merchant, created_at=at, mode="test")
        subscription: Object = to_object(
            "subscription",
            chance.id("sub"),
            status=status,
            customer=self.customer.customer_id,
            items=[item],
            billing_cycle_anchor=to_millis(at),
            collection_method=method,
            payment_method=pm["id"] if method == "charge_automatically" else None,
            trial_end=None,
            business_profile=None,
            metadata={},
            created_at=to_millis(at),
        )
        self.say(at, "customers", known)
        self.say(at, "payment_methods", pm)
        self.say(at, "subscriptions", subscription)
        return subscription

    def say(self, at: datetime, collection: str, thing: Object, event: str | None = None) -> None:
        """Note a happening."""
        self.shop.ledger.happenings.append(Happening(at, collection, thing, event))

    def bill(self, subscription: Object, on: date) -> None:
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
        payment = shop.payment(self.price, paid_at + 2 * BEAT, match_document(document), subtype="credit_card")
        payment = replace(payment, customer=self.customer, metadata={"invoice": draft["id"]},
                          payment_method=subscription["payment_method"], subscription=subscription["id"])  # fmt: skip
        shop.keep_payment(payment)
        started = opened | {"payments": [self.attempt(payment.id, "in_progress")]}
        self.say(payment.created_at, "invoices", started, "invoice.payment_created")
        done = started | {"payments": [self.attempt(payment.id, "succeeded")]}
        self.say(paid_at, "invoices", done, "invoice.payment_succeeded")
        self.say(paid_at + BEAT, "invoices", done | {"status": "paid"}, "invoice.paid")

    def document(self, on: date, invoice_id: str) -> LocalDocument:
        """Return the merchant's own tax document, whose order reference is the provider's invoice."""
        drafted = self.shop.invoice(self.customer, on, days=15)
        vat = self.shop.included_vat(self.price)
        known_at = self.shop.chance.moment(on, since=time(8), until=time(8, 30))
        return self.shop.keep_document(
            replace(drafted, net=self.price - vat, vat=vat, total=self.price, order_ref=invoice_id, known_at=known_at)
        )

    def draft(self, subscription: Object, created_at: datetime) -> Object:
        """Return the invoice as it begins, and the news of it."""
        draft = self.to_invoice(self.shop.chance.id("inv"), subscription, created_at)
        self.say(created_at, "invoices", draft, "invoice.created")
        return draft

    def open(self, draft: Object, created_at: datetime) -> Object:
        """Return the invoice once it is final, and the news of it."""
        opened = draft | {"status": "open"}
        self.say(created_at + DRAFT_FOR, "invoices", opened, "invoice.finalized")
        return opened

    def announce(self, subscription: Object, on: date) -> None:
        """The preview of the next invoice, which has no id yet."""
        at = self.shop.chance.moment(on)
        preview = self.to_invoice(None, subscription, at)
        self.say(at, "previews", preview, "invoice.upcoming")

    def to_invoice(self, id_: str | None, subscription: Object, at: datetime) -> Object:
        """Return an invoice over one month of the plan."""
        line = {"id": self.shop.chance.id("il"), "object": "line_item", "amount": self.price, "currency": "CLP",
                "quantity": 1, "period_start": to_millis(at), "period_end": to_millis(at + MONTH),
                "product": subscription["items"][0]["price"]["product"]}  # fmt: skip
        return to_object(
            "invoice",
            id_,
            status="draft",
            customer=self.customer.customer_id,
            subscription=subscription["id"],
            currency="CLP",
            total=self.price,
            lines=[line],
            payments=[],
            collection_method=subscription["collection_method"],
            default_payment_method=subscription["payment_method"],
            hosted_invoice_url=None,
            external_payment=False,
            business_profile=None,
            metadata={},
            created_at=to_millis(at),
        )

    def attempt(self, intent_id: str, status: str) -> Object:
        """Return one attempt to collect an invoice."""
        return {"amount": self.price, "currency": "CLP", "payment_intent": intent_id, "status": status}


def recur(shop: Shop, merchant: Merchant, span: Span) -> None:
    """Three subscribers who pay every month, the second only at the second attempt, and four who do not."""
    for place, (plan, day, currency) in enumerate(PLANS):
        biller = to_biller(shop, merchant, plan, day, currency=currency)
        subscription = biller.subscribe(shop.chance.moment(span.since - timedelta(days=3 + place)))
        for on in monthly(shop.ledger, day=day):
            biller.fails_once = currency == "CLF" and on >= span.start
            biller.announce(subscription, on - timedelta(days=3))
            biller.bill(subscription, on)
    try_out(to_biller(shop, merchant, "Plan Prueba", 16), span)
    send_invoices(to_biller(shop, merchant, "Plan Factura", 5), span)
    incomplete = to_biller(shop, merchant, "Plan Inconcluso", 3)
    incomplete.subscribe(shop.chance.moment(span.coming()[3]), status="incomplete")
    agree(shop, span)


def to_biller(shop: Shop, merchant: Merchant, plan: str, day: int, *, currency: str = "CLP") -> Biller:
    """Return a new subscriber with a price of its own."""
    _, _, price = shop.chance.free_total(15_000, 90_000)
    return Biller(shop, merchant, shop.chance.company(), day, price, plan, currency)


def try_out(biller: Biller, span: Span) -> None:
    """A trial that begins before the start, ends after it, and turns into a subscription with another method."""
    chance = biller.shop.chance
    trial_end = chance.moment(span.coming()[6])
    begun = biller.subscribe(trial_end - timedelta(days=14), status="trialing") | {"trial_end": to_millis(trial_end)}
    biller.say(trial_end - timedelta(days=14), "subscriptions", begun)
    active = begun | {"status": "active"}
    biller.say(trial_end, "subscriptions", active)
    biller.bill(active, add_bank_days(span.coming()[6], 1, "cl"))
    at = chance.moment(span.coming()[8])
    biller.say(at, "subscriptions", active, "subscription.payment_method_update_failed")
    changed = active | {"payment_method": chance.id("pm")}
    biller.say(chance.later(at, 200, 900), "subscriptions", changed, "subscription.payment_method_updated")


def send_invoices(biller: Biller, span: Span) -> None:
    """A subscriber who gets invoices by mail: one paid elsewhere, one voided, then no more."""
    chance = biller.shop.chance
    begun = biller.subscribe(chance.moment(span.past()[0]), method="send_invoice")
    for on, end, event in ((span.past()[1], "paid", "invoice.paid"), (span.coming()[2], "void", "invoice.voided")):
        created_at = chance.moment(on)
        opened = biller.open(biller.draft(begun, created_at), created_at)
        ended = opened | {"status": end, "external_payment": end == "paid"}
        biller.say(created_at + DRAFT_FOR + timedelta(days=2), "invoices", ended, event)
    biller.say(chance.moment(span.coming()[7]), "subscriptions", begun | {"status": "canceled"})


def agree(shop: Shop, span: Span) -> None:
    """Methods saved and lost, links sent, and consents to direct debit that worked or did not."""
    chance, happenings = shop.chance, shop.ledger.happenings
    coming = span.coming()
    happenings += save_method(chance, "bank_transfer", chance.human(), chance.moment(coming[1]))
    happenings += save_method(chance, "pac", chance.human(), chance.moment(span.past()[2]))
    happenings += lose_method(chance, "pac", chance.human(), chance.moment(coming[2]))
    for on, end in (
        (span.past()[3], "expired"),
        (coming[3], "canceled"),
        (coming[9], "active"),
        (coming[11], "active"),
    ):
        at = chance.moment(on)
        link = to_payment_link(chance, chance.price(), shop.ledger.currency, at)
        happenings.append(Happening(at, "payment_links", link))
        if end != "active":
            happenings.append(Happening(at + LINK_LIFE, "payment_links", link | {"status": end}))
    for on, end, error in ((coming[4], "succeeded", None), (coming[5], "failed", "login_invalid_credentials"),
                           (coming[6], "rejected", None)):  # fmt: skip
        happenings += consent(shop, chance.moment(on), end, error)


def consent(shop: Shop, at: datetime, end: str, error: str | None) -> list[Happening]:
    """Return a widget in which a payer allows direct debit, or does not."""
    started = to_object(
        "subscription_intent",
        shop.chance.id("si", 20),
        status="created",
        subscription=None,
        public_error=None,
        widget_token=None,
        business_profile=None,
        created_at=to_millis(at),
    )
    ended = started | {"status": end, "public_error": error}
    ended_at = shop.chance.later(at, 60, 400)
    return [
        Happening(at, "subscription_intents", started),
        Happening(ended_at, "subscription_intents", ended, f"subscription_intent.{end}"),
    ]


def to_payment_method(chance: Chance, kind: str, owner: Person, at: datetime, *, status: str) -> Object:
    """Return a saved method, its details under the name of its type."""
    details: dict[str, Object] = {
        "card": {"brand": "visa", "last_four_digits": chance.digits(4), "status": status},
        "pac": {"institution_id": owner.institution, "account_holder_id": to_provider_tax_id(owner.tax_id),
                "account_number": owner.account, "status": status},
        "bank_transfer": {
            "account_holder_id": to_provider_tax_id(owner.tax_id), "account_number": owner.account,
            "account_type": "sight_account", "institution_id": owner.institution, "institution_name": None,
            "mfa_type": "app", "status": status,
        },
        "mx_direct_debit": {
            "status": status, "institution": institution_of("mx", owner.account, owner.institution),
            "account_number_last4": owner.account[-4:], "max_amount": 500_000,
            "account_holder_id": to_provider_tax_id(owner.tax_id),
        },
    }  # fmt: skip
    return {
        "id": chance.id("pm"),
        "object": "payment_method",
        "mode": "test",
        "type": kind,
        "customer": owner.customer_id,
        "metadata": {},
        "created_at": to_millis(at),
        kind: details[kind],
    }


def save_method(chance: Chance, kind: str, owner: Person, at: datetime) -> list[Happening]:
    """Return a method waiting for its bank, then active, as events show it."""
    pending = to_payment_method(chance, kind, owner, at, status="pending")
    active = pending | {kind: pending[kind] | {"status": "active"}}
    intent = to_object(
        "setup_intent",
        chance.id("seti"),
        status="succeeded",
        customer=owner.customer_id,
        payment_method=pending["id"],
        payment_type=kind,
        error_reason=None,
        created_at=to_millis(at - timedelta(minutes=2)),
    )
    return [
        Happening(at, "payment_methods", pending),
        Happening(at, "setup_intents", intent),
        Happening(chance.later(at, 3_600, 90_000), "payment_methods", active, "payment_method.activated"),
    ]


def lose_method(chance: Chance, kind: str, owner: Person, at: datetime) -> list[Happening]:
    """Return a method whose bank never answered: pending for a week, then gone."""
    pending = to_payment_method(chance, kind, owner, at, status="pending")
    gone = pending | {kind: pending[kind] | {"status": "expired"}}
    ended_at = at + timedelta(days=7)
    return [
        Happening(at, "payment_methods", pending),
        Happening(ended_at, "payment_methods", gone, "payment_method.canceled"),
    ]


def to_payment_link(chance: Chance, amount: int, currency: str, at: datetime) -> Object:
    """Return an address that asks for one payment."""
    id_ = chance.id("plink")
    return to_object(
        "payment_link",
        id_,
        status="active",
        amount=amount,
        currency=currency,
        url=f"https://pagos.example/l/{chance.digits(10)}",
        expires_at=to_millis(at + LINK_LIFE),
        customer_email=None,
        checkout={"description": "Pedido por teléfono"},
        recipient_account=None,
        metadata={},
        created_at=to_millis(at),
    )


def collect(shop: Shop, merchant: Merchant) -> None:
    """Three subscribers pay by direct debit each month; one attempt of one of them fails the day before."""
    for place in range(SUBSCRIBERS):
        payer = shop.chance.human()
        subscription = shop.chance.id("sub")
        _, _, price = shop.chance.free_total(8_000, 40_000)
        shop.ledger.happenings += tell_subscription(shop.ledger, shop.chance, payer, subscription)
        for month, on in enumerate(monthly(shop.ledger, day=6 + 7 * place)):
            at = shop.chance.moment(on, since=time(10), until=time(13))
            receipt = shop.keep_document(shop.receipt(at - timedelta(hours=1, minutes=30), price=price))
            drafted = replace(shop.payment(price, at, match_document(receipt), subtype="pac"), id=shop.chance.id("ch"))
            payment = replace(drafted, created_at=at - timedelta(hours=1), metadata=shop.name(receipt),
                              subscription=subscription, sender=payer)  # fmt: skip
            shop.keep_payment(payment)
            if place == 0 and month == 1:
                shop.ledger.happenings += failed_attempt(payment, shop.chance, merchant)


def monthly(ledger: Ledger, *, day: int) -> Iterator[date]:
    """Yield the bank day on or after this day of each month of the ledger."""
    month = ledger.since.replace(day=1)
    while month < ledger.until:
        on = add_bank_days(month.replace(day=day), 0, ledger.country)
        if ledger.since < on < ledger.until:
            yield on
        month = next_month(month)


def failed_attempt(payment: Payment, chance: Chance, merchant: Merchant) -> list[Happening]:
    """Return the same charge tried a day earlier without money on the account."""
    at, failed_at = payment.created_at - timedelta(days=1), payment.succeeded_at - timedelta(days=1)
    pending = to_charge(payment, merchant) | {
        "id": chance.id("ch"),
        "created_at": to_millis(at),
        "updated_at": to_millis(at),
    }
    failed = {"status": "failed", "failure_code": "insufficient_funds", "updated_at": to_millis(failed_at)}
    return [Happening(at, "charges", pending), Happening(failed_at, "charges", pending | failed, "charge.failed")]


def tell_subscription(ledger: Ledger, chance: Chance, payer: Person, subscription: str) -> list[Happening]:
    """Return the consent of before the log begins: an intent that succeeded and the subscription it made."""
    at = chance.moment(ledger.since - timedelta(days=chance.whole(40, 200)))
    holder = {"holder_id": to_provider_tax_id(payer.tax_id), "holder_name": payer.name,
              "institution_id": payer.institution, "number": payer.account, "type": "checking_account"}  # fmt: skip
    made = to_object("subscription", subscription, status="active", account=holder,
            subscribed_at=to_millis(at), created_at=to_millis(at), reference_id=None, metadata={},
            )  # fmt: skip
    intent = to_object("subscription_intent", chance.id("si", 20), status="succeeded",
              subscription=made, public_error=None, widget_token=None, business_profile=None,
              created_at=to_millis(at - timedelta(minutes=4)))  # fmt: skip
    return [
        Happening(at, "legacy_subscriptions", made),
        Happening(at, "subscription_intents", intent),
    ]
