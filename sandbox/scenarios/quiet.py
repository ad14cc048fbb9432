"""Two quiet days: a few payments, two payouts, nothing to complain about."""

from dataclasses import replace
from datetime import date, datetime, time, timedelta

from sandbox.scenarios.calendar import add_bank_days
from sandbox.scenarios.fees import CHILE_TARIFF
from sandbox.scenarios.intents import Till
from sandbox.scenarios.ledger import Ledger
from sandbox.scenarios.payouts import Mishaps, pay_out
from sandbox.scenarios.plan import chance_of, compose, span_of, tell
from sandbox.scenarios.shop import Shop, matched
from sandbox.scenarios.wire import CHILEAN_MERCHANT
from sandbox.state.happening import WholeScenario

SALES_A_DAY = 3


def build(*, seed: int, scale: float, start: datetime) -> WholeScenario:
    """Three invoices paid on the last bank day before the start, and three on the first from it."""
    chance = chance_of("quiet", "cl", seed=seed, scale=scale)
    span = span_of(start, "cl", past=timedelta(days=7), future=timedelta(days=7))
    ledger = Ledger("cl", "CLP", span.since, span.until)
    shop = Shop(chance, ledger)
    for on in (add_bank_days(span.start, -1, "cl"), add_bank_days(span.start, 0, "cl")):
        for _ in range(max(1, round(SALES_A_DAY * scale))):
            sell_in_the_morning(shop, on)
    pay_out(ledger, chance, CHILE_TARIFF, Mishaps())
    return compose("quiet", ledger, tell(ledger, Till(chance, CHILEAN_MERCHANT), CHILEAN_MERCHANT), CHILE_TARIFF)


def sell_in_the_morning(shop: Shop, on: date) -> None:
    """An invoice paid before the day's payout closes, by a transfer that names it."""
    document = shop.bill(shop.chance.company(), on - timedelta(days=4))
    at = shop.chance.moment(on, since=time(9), until=time(13))
    payment = shop.payment(document.total, at, matched(document))
    payment = replace(payment, sender=document.buyer, customer=document.buyer, metadata=shop.name(document))
    shop.keep_payment(payment)
