"""The shared steps of planning a scenario: its dates, its cases, and the happenings of its ledger."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

from sandbox.scenarios.books import to_row
from sandbox.scenarios.calendar import add_bank_days, bank_days, local_date
from sandbox.scenarios.chance import Chance
from sandbox.scenarios.fees import TARIFFS
from sandbox.scenarios.ledger import Ledger
from sandbox.scenarios.payments import Till, tell_charge, tell_dispute, tell_refund
from sandbox.scenarios.payouts import Mishaps, pay_out, tell_payout
from sandbox.scenarios.people import CURRENCIES, MERCHANTS, Merchant, to_customer
from sandbox.scenarios.shop import Shop
from sandbox.scenarios.truth import truth_of
from sandbox.state.happening import Happening, WholeScenario
from sandbox.state.store import Object

Case = Callable[[Shop, date], object]
HISTORY = timedelta(days=30)
FUTURE = timedelta(days=35)
SETTLING = 8  # bank days at the end left free of cases, so that every consequence shows
SALES = 3


@dataclass(frozen=True, slots=True)
class Span:
    """The days of a scenario: history before the clock's start, trade to come after it."""

    country: str
    since: date
    start: date
    until: date

    def past(self) -> list[date]:
        """Bank days of history that have room for a case and its consequences."""
        return bank_days(self.since + timedelta(days=7), self.start - timedelta(days=6), self.country)

    def coming(self) -> list[date]:
        """Bank days after the start that have room for a case and its consequences."""
        return bank_days(self.start, self.until, self.country)[:-SETTLING]


def span_of(start: datetime, country: str, *, past: timedelta = HISTORY, future: timedelta = FUTURE) -> Span:
    """Return the span around a clock's start."""
    today = local_date(start, country)
    return Span(country, today - past, today, today + future)


def plant(shop: Shop, cases: dict[Case, int], days: Sequence[date], *, times: int = 1) -> None:
    """Let every case happen as often as it says, on days left to chance."""
    for case, count in cases.items():
        for _ in range(count * times):
            case(shop, shop.chance.pick(days))


def tell(ledger: Ledger, till: Till, merchant: Merchant) -> list[Happening]:
    """Return everything the provider says about a finished ledger, in the order of writing."""
    happenings = introduce(ledger, till)
    for payment in ledger.payments:
        happenings += tell_charge(payment, merchant) if payment.is_charge else till.tell(payment)
    for refund in ledger.refunds:
        happenings += tell_refund(refund, mode=till.mode)
    for case in ledger.disputes:
        happenings += tell_dispute(case)
    for payout in ledger.payouts:
        happenings += tell_payout(payout, merchant, mode=till.mode)
    return happenings + ledger.happenings


def introduce(ledger: Ledger, till: Till) -> list[Happening]:
    """Return every customer, a while before its first payment, unless the plan made it earlier."""
    known = {happening.object["id"] for happening in ledger.happenings if happening.collection == "customers"}
    latest_first = sorted(ledger.payments, key=lambda payment: payment.created_at, reverse=True)
    first = {p.customer: p.created_at for p in latest_first if p.customer and p.customer.customer_id not in known}
    happenings = []
    for customer, began in first.items():
        at = began - timedelta(minutes=till.chance.whole(20, 90))
        made = to_customer(customer, till.merchant, created_at=at, mode=till.mode)
        happenings.append(Happening(at, "customers", made))
    return happenings


def compose(name: str, ledger: Ledger, happenings: Iterable[Happening], tariff: Object) -> WholeScenario:
    """Return a scenario out of a finished ledger and its happenings."""
    documents = sorted((to_row(document) for document in ledger.documents), key=lambda document: document.known_at)
    return WholeScenario(
        name=name,
        country=ledger.country,
        happenings=tuple(sorted(happenings, key=lambda happening: happening.at)),
        documents=tuple(documents),
        tariff=tariff,
        truth=truth_of(ledger),
        bank_file=ledger.bank_file,
    )


def chance_of(name: str, country: str, *, seed: int, scale: float) -> Chance:
    """Return the generator of one scenario."""
    return Chance(country, f"{name}/{seed}/{scale:g}")


def live_happenings(span: Span, seed: int) -> list[Happening]:
    """Three payments of three customers and their payout, in live mode, in the middle of the trade."""
    merchant, currency = MERCHANTS[span.country], CURRENCIES[span.country]
    chance = Chance(span.country, f"live/{span.country}/{seed}")
    on = add_bank_days(span.start + timedelta(days=2), 0, span.country)
    ledger = Ledger(span.country, currency, on, on + timedelta(days=5))
    shop = Shop(chance, ledger)
    for _ in range(SALES):
        document = shop.bill(chance.company(), on - timedelta(days=3))
        paid = shop.settle(document, on)
        ledger.payments[-1] = replace(paid, customer=document.buyer)
    pay_out(ledger, chance, TARIFFS[span.country], Mishaps())
    return tell(ledger, Till(chance, merchant, mode="live"), merchant)
