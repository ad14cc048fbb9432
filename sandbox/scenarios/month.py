"""Chilean trade without any trouble but the damages that are switched on: a month, or two quiet days."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from functools import partial

from sandbox.scenarios.accounts import Teller
from sandbox.scenarios.bank import keep_account, receive_mostly
from sandbox.scenarios.billing import collect
from sandbox.scenarios.calendar import add_bank_days, at_local, bank_days
from sandbox.scenarios.damages import TABLE, count_of, draw_mishaps
from sandbox.scenarios.entities import admit_seller, found_entity, tell_institutions
from sandbox.scenarios.fees import CHILE_TARIFF
from sandbox.scenarios.fiscal import TaxOffice
from sandbox.scenarios.ledger import Ledger
from sandbox.scenarios.links import connect
from sandbox.scenarios.payments import Till
from sandbox.scenarios.payouts import Mishaps, pay_out
from sandbox.scenarios.people import CHILEAN_MERCHANT, Person
from sandbox.scenarios.plan import Case, Span, chance_of, compose, span_of, tell
from sandbox.scenarios.shop import Shop, match_document
from sandbox.scenarios.trade import cross_the_cut, dispute, leave_open, sell, sell_for_two, trade
from sandbox.state.happening import Happening, WholeScenario

COMPANIES = 24
RUSH = 24  # more sales on each bank day around the end of a month
LAST_MOMENT = time(23, 59, 59, 999_000)
SALES_A_DAY = 3


@dataclass(frozen=True, slots=True)
class Market:
    """Where damages happen: the shop, its days and customers, and the two holders that share sales."""

    shop: Shop
    span: Span
    companies: list[Person]
    own: str
    seller: str

    @property
    def roomy(self) -> list[date]:
        """Return days with room for a case and its consequences."""
        return self.span.past() + self.span.coming()


def build(
    *, name: str, rates: Mapping[str, float], is_rushed: bool, seed: int, scale: float, start: datetime
) -> WholeScenario:
    """Return the scenario for one seed, size and start of the clock, damaged at these rates."""
    chance = chance_of(name, "cl", seed=seed, scale=scale)
    span = span_of(start, "cl")
    ledger = Ledger("cl", "CLP", span.since, span.until)
    shop = Shop(chance, ledger)
    companies = [chance.company() for _ in range(max(COMPANIES, round(COMPANIES * scale)))]
    market = Market(shop, span, companies, chance.id("ent"), chance.id("ent"))
    trade(shop, companies, scale=scale, late=0)
    leave_open(shop, companies, count=max(6, round(8 * scale)))
    if is_rushed:
        rush(market, scale=scale)
    collect(shop, CHILEAN_MERCHANT)
    spoil_sales(market, rates)
    spoil_cards(market, rates)
    pay_out(ledger, chance, CHILE_TARIFF, mishaps_of(market, rates))
    whole = len(ledger.payouts)
    receive_mostly(ledger, chance, span.coming(), absent=count_of(rates.get("payout_absent", 0), whole),
                   clipped=count_of(rates.get("bank_amount_differs", 0), whole))  # fmt: skip
    keep_account(ledger, chance)
    happenings = tell(ledger, Till(chance, CHILEAN_MERCHANT), CHILEAN_MERCHANT) + surroundings(market, rates)
    happenings += tell_institutions(min(happening.at for happening in happenings))
    return compose(name, ledger, happenings, CHILE_TARIFF)


def rush(market: Market, *, scale: float) -> None:
    """Many sales on the two bank days before and after the end of a month, and some around its last midnight."""
    shop, span = market.shop, market.span
    for first in month_starts(span):
        days = bank_days(first - timedelta(days=7), first, "cl")[-2:] + bank_days(first, span.until, "cl")[:2]
        for on in days:
            for _ in range(max(1, round(RUSH * scale))):
                sell(shop, market.companies, on, late=0)
            cross_the_cut(shop, market.companies, on)
    for on in sorted({first - timedelta(days=1) for first in month_starts(span)} | clock_changes(span)):
        cross_midnight(market, on)


def month_starts(span: Span) -> list[date]:
    """Return the first days of months inside the span that have days on both sides of them."""
    days = [span.since + timedelta(days=n) for n in range(2, (span.until - span.since).days - 2)]
    return [day for day in days if day.day == 1]


def clock_changes(span: Span) -> set[date]:
    """Return the days at whose end, or during which, clocks are put forward or back."""
    days = [span.since + timedelta(days=n) for n in range((span.until - span.since).days)]
    return {day for day in days if _lasts(day) != timedelta(days=1)}


def _lasts(on: date) -> timedelta:
    return at_local(on + timedelta(days=1), time(12), "cl") - at_local(on, time(12), "cl")


def cross_midnight(market: Market, on: date) -> None:
    """Two payments around the end of a day: its last moment and the first hour of the next."""
    shop = market.shop
    for at in (at_local(on, LAST_MOMENT, "cl"), at_local(on + timedelta(days=1), time(1), "cl")):
        document = shop.bill(shop.chance.pick(market.companies), on - timedelta(days=5))
        payment = shop.payment(document.total, at, match_document(document), subtype="debit_card")
        shop.keep_payment(replace(payment, metadata=shop.name(document)))


def spoil_sales(market: Market, rates: Mapping[str, float]) -> None:
    """Plant what is wrong with sales, as a share of those there are."""
    shop, days = market.shop, market.roomy
    whole = len(shop.ledger.payments)
    off = partial(sell_for_two, own_entity=market.own, seller_entity=market.seller, off_by=1)
    own_cases: dict[str, tuple[Case, ...]] = {"split_short": (off,)}
    for damage in TABLE:
        cases = own_cases.get(damage.name, damage.cases)
        for place in range(count_of(rates.get(damage.name, 0), whole) if cases else 0):
            cases[place % len(cases)](shop, shop.chance.pick(days))
    crossed = shop.chance.order(market.span.coming())
    for on in crossed[: count_of(rates.get("cut_crossed", 0), len(crossed))]:
        cross_the_cut(shop, market.companies, on)


def spoil_cards(market: Market, rates: Mapping[str, float]) -> None:
    """Dispute card payments, at most one a day, on days without mishaps."""
    shop, whole = market.shop, len(market.shop.ledger.payments)
    days = shop.chance.order([*market.span.coming()[5::2], *market.span.past()[7::2]])
    for ending in ("won", "lost", "expired"):
        for _ in range(count_of(rates.get(f"dispute_{ending}", 0), whole)):
            if days:
                dispute(shop, ending, days.pop())


def mishaps_of(market: Market, rates: Mapping[str, float]) -> Mishaps:
    """Return the days on which the payout itself goes wrong, never two in a row."""
    days = market.shop.chance.order([*market.span.coming()[2::2], *market.span.past()[4::2]])
    return draw_mishaps(rates, days, len(bank_days(market.span.since, market.span.until, "cl")))


def surroundings(market: Market, rates: Mapping[str, float]) -> list[Happening]:
    """Holders, the account payouts arrive on, a link to another bank, and the tax office."""
    shop, span, ledger = market.shop, market.span, market.shop.ledger
    chance = shop.chance
    happenings = found_entity(market.own, CHILEAN_MERCHANT, chance.moment(span.since - timedelta(days=250)))
    happenings += admit_seller(market.seller, chance.company(), "cl", chance, chance.moment(span.since))
    happenings += Teller(chance, CHILEAN_MERCHANT, ledger, market.own, CHILEAN_MERCHANT.account).tell()
    link_id, linked = connect(chance, CHILEAN_MERCHANT, span, "CLP")
    lacking = count_of(rates.get("register_lacks", 0), len(ledger.documents))
    invoices = [document.key for document in ledger.documents if document.doc_type == "33"]
    office = TaxOffice(chance, CHILEAN_MERCHANT, ledger, link_id, rectifies="f29_rectified" in rates,
                       unregistered=frozenset(chance.order(invoices)[:lacking]))  # fmt: skip
    return happenings + linked + office.tell()


def build_quiet(*, seed: int, scale: float, start: datetime) -> WholeScenario:
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
    payment = shop.payment(document.total, at, match_document(document))
    payment = replace(payment, sender=document.buyer, customer=document.buyer, metadata=shop.name(document))
    shop.keep_payment(payment)
