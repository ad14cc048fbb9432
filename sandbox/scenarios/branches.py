"""One day of one branch of a merchant too large to be planned at once: a small ledger that shares nothing but payouts.

Branches never meet: each has customers, folios and, for invoices, amounts that no other branch of any day has.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import partial
from typing import Any

from sandbox.scenarios.calendar import add_bank_days, bank_days
from sandbox.scenarios.chance import VAT_BPS, Chance
from sandbox.scenarios.damages import TABLE
from sandbox.scenarios.disputes import dispute
from sandbox.scenarios.fees import BPS, divide_half_up
from sandbox.scenarios.ledger import Ledger, Payout
from sandbox.scenarios.payouts import Clearing, Mishaps, lost_before, waiting_items
from sandbox.scenarios.people import to_rut
from sandbox.scenarios.plan import Case, Span
from sandbox.scenarios.shop import Shop
from sandbox.scenarios.splits import sell_for_two
from sandbox.scenarios.trade import cross_the_cut, trade_on

BRANCH_SALES = 300  # of one branch on one day
COMPANIES = 12
FOLIOS = 2_000  # set aside for one branch on one day
ENOUGH = 600  # amounts of a range to each branch that make it worth keeping them apart
MILLION = 1_000_000
DISPUTED_AFTER = timedelta(days=11)
ENDINGS = ("won", "lost", "expired")


@dataclass(frozen=True, slots=True)
class Terms:
    """What all branches of a merchant share."""

    key: str
    country: str
    currency: str
    span: Span
    tariff: dict[str, Any]
    rates: Mapping[str, float]
    mishaps: Mishaps
    payouts: dict[date, Payout]  # of each bank day, still empty
    roomy: frozenset[date]
    own: str
    seller: str
    branches: int  # of all days together


class BranchChance(Chance):
    """Draws tax ids, and amounts where there are enough of them, from a share no other branch draws from."""

    def __init__(self, country: str, key: str, *, place: int, branches: int) -> None:
        super().__init__(country, key)
        self._place, self._branches = place, branches

    def whole(self, low: int, high: int) -> int:
        """A whole number, both ends included, drawn in a third of the time."""
        return low + int(self._random.random() * (high - low + 1))

    def happens(self, percent: int) -> bool:
        """Whether something with this chance happens."""
        return self._random.random() * 100 < percent

    def free_total(self, low: int, high: int) -> tuple[int, int, int]:
        """Net, VAT and total of a sale, the total being no other branch's where the range is wide enough."""
        bps = BPS + VAT_BPS[self.country]
        first = low * bps // BPS
        share = (high * bps // BPS - first) // self._branches
        while share > ENOUGH:
            total = first + self._place + self._branches * self._random.randrange(share)
            net = divide_half_up(total * BPS, bps)
            if self.claim(total):
                return net, total - net, total
        net = self._random.randint(low, high)
        vat = divide_half_up(net * VAT_BPS[self.country], BPS)
        return net, vat, net + vat

    def free_amount(self, low: int, high: int) -> int:
        """An amount nothing else of the branch has, nor another branch."""
        return self.free_total(low, high)[2]

    def _rut(self, *, company: bool) -> str:
        low, high = (50_000_000, 78_999_999) if company else (7_000_000, 24_999_999)
        share = (high - low) // self._branches
        return to_rut(low + self._place + self._branches * self._random.randrange(share))


def plan_branch(terms: Terms, on: date, place: int, *, sales: int) -> Shop:
    """The branch's day: its sales, what is wrong with them, and what follows from it."""
    chance = BranchChance(terms.country, f"{terms.key}/{place}", place=place, branches=terms.branches)
    ledger = Ledger(terms.country, terms.currency, terms.span.since, terms.span.until)
    shop = Shop(chance, ledger, used=(place + 1) * FOLIOS)
    companies = [chance.company() for _ in range(COMPANIES)]
    trade_on(shop, companies, on, count=sales)
    if on in terms.roomy:
        spoil(shop, terms, on)
        contest(shop, terms, on)
    if on in terms.roomy and chance.whole(1, MILLION) <= terms.rates.get("cut_crossed", 0) * MILLION:
        cross_the_cut(shop, companies, on)
    return shop


def spoil(shop: Shop, terms: Terms, on: date) -> None:
    """Plant what is wrong with sales of the day, as a share of them."""
    whole = len(shop.ledger.payments)
    off = partial(sell_for_two, own_entity=terms.own, seller_entity=terms.seller, off_by=1)
    own_cases: dict[str, tuple[Case, ...]] = {"split_short": (off,)} if terms.country == "cl" else {}
    for damage in TABLE:
        cases = own_cases.get(damage.name, damage.cases)
        for _ in range(drawn(shop.chance, terms.rates.get(damage.name, 0) * whole) if cases else 0):
            shop.chance.pick(cases)(shop, on)


def contest(shop: Shop, terms: Terms, on: date) -> None:
    """Dispute card payments of the day; each dispute ends on a later day without mishaps."""
    whole = len(shop.ledger.payments)
    later = add_bank_days(on + DISPUTED_AFTER, 0, terms.country)
    while later in terms.mishaps.days():
        later = add_bank_days(later, 1, terms.country)
    for ending in ENDINGS:
        for _ in range(drawn(shop.chance, terms.rates.get(f"dispute_{ending}", 0) * whole)):
            dispute(shop, ending, later)


def drawn(chance: Chance, expected: float) -> int:
    """A whole number that is as expected on average."""
    whole = int(expected)
    return whole + (chance.whole(1, MILLION) <= (expected - whole) * MILLION)


def clear(ledger: Ledger, terms: Terms, on: date) -> list[Payout]:
    """The branch's lines of each payout from that day on."""
    clearing = Clearing(waiting_items(ledger), country=terms.country, tariff=terms.tariff, mishaps=terms.mishaps)
    disputes = [case for case in ledger.disputes if case.costs]
    payouts = []
    for day in bank_days(on, ledger.until, terms.country):
        if clearing.is_done() and not disputes:
            break
        drafted = terms.payouts[day]
        lines, lost = clearing.open(day), lost_before(drafted, disputes)
        if lines or lost:
            payouts.append(replace(drafted, lines=lines, disputes=lost))
        disputes = [case for case in disputes if case not in lost]
        clearing.close(day, drafted.gone_at)
    return payouts
