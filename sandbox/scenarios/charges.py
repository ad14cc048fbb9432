"""Charges of legacy direct debit: the same amount every month, collected by the bank."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, time, timedelta
from typing import Any

from sandbox.scenarios.calendar import add_bank_days
from sandbox.scenarios.chance import Chance
from sandbox.scenarios.ledger import Ledger, Payment
from sandbox.scenarios.people import Person, to_provider_tax_id
from sandbox.scenarios.shop import Shop, matched
from sandbox.scenarios.wire import Merchant, to_collecting_account, to_millis
from sandbox.state.happening import Happening

SUBSCRIBERS = 3


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
            drafted = replace(shop.payment(price, at, matched(receipt), subtype="pac"), id=shop.chance.id("ch"))
            payment = replace(drafted, created_at=at - timedelta(hours=1), metadata=shop.name(receipt),
                              subscription=subscription, sender=payer)  # fmt: skip
            shop.keep_payment(payment)
            if place == 0 and month == 1:
                shop.ledger.happenings += failed_attempt(payment, shop.chance, merchant)


def monthly(ledger: Ledger, *, day: int) -> Iterator[date]:
    """The bank day on or after this day of each month of the ledger."""
    month = ledger.since.replace(day=1)
    while month < ledger.until:
        on = add_bank_days(month.replace(day=day), 0, ledger.country)
        if ledger.since < on < ledger.until:
            yield on
        month = (month + timedelta(days=31)).replace(day=1)


def tell_charge(payment: Payment, merchant: Merchant) -> list[Happening]:
    """A charge waiting for the bank, then collected."""
    pending = to_charge(payment, merchant)
    done = pending | {"status": "succeeded", "updated_at": to_millis(payment.succeeded_at)}
    return [
        Happening(payment.created_at, "charges", pending),
        Happening(payment.succeeded_at, "charges", done, "charge.succeeded"),
    ]


def failed_attempt(payment: Payment, chance: Chance, merchant: Merchant) -> list[Happening]:
    """The same charge tried a day earlier without money on the account."""
    at, failed_at = payment.created_at - timedelta(days=1), payment.succeeded_at - timedelta(days=1)
    pending = to_charge(payment, merchant) | {
        "id": chance.id("ch"),
        "created_at": to_millis(at),
        "updated_at": to_millis(at),
    }
    failed = {"status": "failed", "failure_code": "insufficient_funds", "updated_at": to_millis(failed_at)}
    return [Happening(at, "charges", pending), Happening(failed_at, "charges", pending | failed, "charge.failed")]


def to_charge(payment: Payment, merchant: Merchant) -> dict[str, Any]:
    """A charge when it was made."""
    return {
        "id": payment.id,
        "object": "charge",
        "mode": "test",
        "amount": payment.amount,
        "currency": payment.currency,
        "status": "pending",
        "subscription_id": payment.subscription,
        "failure_code": None,
        "metadata": dict(payment.metadata),
        "business_profile": None,
        "recipient_account": to_collecting_account(merchant),
        "created_at": to_millis(payment.created_at),
        "updated_at": to_millis(payment.created_at),
    }


def tell_subscription(ledger: Ledger, chance: Chance, payer: Person, subscription: str) -> list[Happening]:
    """The consent of before the log begins: an intent that succeeded and the subscription it made."""
    at = chance.moment(ledger.since - timedelta(days=chance.whole(40, 200)))
    holder = {"holder_id": to_provider_tax_id(payer.tax_id), "holder_name": payer.name,
              "institution_id": payer.institution, "number": payer.account, "type": "checking_account"}  # fmt: skip
    made = {"id": subscription, "object": "subscription", "mode": "test", "status": "active", "account": holder,
            "subscribed_at": to_millis(at), "created_at": to_millis(at), "reference_id": None, "metadata": {},
            }  # fmt: skip
    intent = {"id": chance.id("si", 20), "object": "subscription_intent", "mode": "test", "status": "succeeded",
              "subscription": made, "public_error": None, "widget_token": None, "business_profile": None,
              "created_at": to_millis(at - timedelta(minutes=4))}  # fmt: skip
    return [
        Happening(at, "legacy_subscriptions", made),
        Happening(at, "subscription_intents", intent),
    ]
