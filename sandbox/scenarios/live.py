"""A small set of live objects beside the test trade, to prove that the modes never mix."""

from dataclasses import replace
from datetime import timedelta

from sandbox.scenarios.calendar import add_bank_days
from sandbox.scenarios.chance import Chance
from sandbox.scenarios.fees import CHILE_TARIFF, MEXICO_TARIFF
from sandbox.scenarios.intents import Till
from sandbox.scenarios.ledger import Ledger
from sandbox.scenarios.payouts import Mishaps, pay_out
from sandbox.scenarios.plan import Span, tell
from sandbox.scenarios.shop import Shop
from sandbox.scenarios.wire import CHILEAN_MERCHANT, MEXICAN_MERCHANT
from sandbox.state.happening import Happening

SALES = 3


def live_happenings(span: Span, seed: int) -> list[Happening]:
    """Three payments of three customers and their payout, in live mode, in the middle of the trade."""
    merchant, tariff = (CHILEAN_MERCHANT, CHILE_TARIFF) if span.country == "cl" else (MEXICAN_MERCHANT, MEXICO_TARIFF)
    chance = Chance(span.country, f"live/{span.country}/{seed}")
    on = add_bank_days(span.start + timedelta(days=2), 0, span.country)
    ledger = Ledger(span.country, "CLP" if span.country == "cl" else "MXN", on, on + timedelta(days=5))
    shop = Shop(chance, ledger)
    for _ in range(SALES):
        document = shop.bill(chance.company(), on - timedelta(days=3))
        paid = shop.settle(document, on)
        ledger.payments[-1] = replace(paid, customer=document.buyer)
    pay_out(ledger, chance, tariff, Mishaps())
    return tell(ledger, Till(chance, merchant, mode="live"), merchant)
