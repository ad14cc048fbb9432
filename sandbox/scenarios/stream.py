"""Trade too large to be held: planned by branch and day, made in order and forgotten once it is out."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import partial
from typing import Generic, TypeVar

from sandbox.scenarios.books import to_row
from sandbox.scenarios.calendar import add_bank_days, bank_days
from sandbox.scenarios.chance import VAT_BPS, Chance
from sandbox.scenarios.damages import BY_NAME, SALES, TABLE, draw_mishaps
from sandbox.scenarios.entities import admit_seller, found_entity, tell_institutions
from sandbox.scenarios.fees import BPS, TARIFFS, divide_half_up
from sandbox.scenarios.ledger import Ledger, Payout
from sandbox.scenarios.payments import Till
from sandbox.scenarios.payouts import (
    Clearing,
    Mishaps,
    draft_payout,
    lost_before,
    tell_lines,
    tell_states,
    waiting_items,
    worth_of,
)
from sandbox.scenarios.people import CURRENCIES, MERCHANTS, Merchant, to_rut
from sandbox.scenarios.plan import Case, Span, chance_of, span_of, tell
from sandbox.scenarios.shop import Shop
from sandbox.scenarios.trade import cross_the_cut, dispute, sales_on, sell_for_two, trade_on
from sandbox.scenarios.truth import Assessor
from sandbox.state.happening import Document, Happening, Scenario, Truth
from sandbox.state.store import Object

BRANCH_SALES = 300  # of one branch on one day
COMPANIES = 12
FOLIOS = 2_000  # set aside for one branch on one day
ENOUGH = 600  # amounts of a range to each branch that make it worth keeping them apart
MILLION = 1_000_000
DISPUTED_AFTER = timedelta(days=11)
ENDINGS = ("won", "lost", "expired")
T = TypeVar("T")
SHORT_RANGE = (9_000, 40_000)


@dataclass(frozen=True, slots=True)
class Terms:
    """What all branches of a merchant share."""

    key: str
    country: str
    currency: str
    span: Span
    tariff: Object
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
        """Return a whole number, both ends included, drawn in a third of the time."""
        return low + int(self._random.random() * (high - low + 1))

    def happens(self, percent: int) -> bool:
        """Return whether something with this chance happens."""
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
        """Return an amount unique in the branch, and in all branches where the range is wide enough."""
        return self.free_total(low, high)[2]

    def _rut(self, *, company: bool) -> str:
        low, high = (50_000_000, 78_999_999) if company else (7_000_000, 24_999_999)
        share = (high - low) // self._branches
        return to_rut(low + self._place + self._branches * self._random.randrange(share))


def plan_branch(terms: Terms, on: date, place: int, *, sales: int) -> Shop:
    """Return the branch's day: its sales, what is wrong with them, and what follows from it."""
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
        for _ in range(draw_count(shop.chance, terms.rates.get(damage.name, 0) * whole) if cases else 0):
            shop.chance.pick(cases)(shop, on)


def contest(shop: Shop, terms: Terms, on: date) -> None:
    """Dispute card payments of the day; each dispute ends on a later day without mishaps."""
    whole = len(shop.ledger.payments)
    later = add_bank_days(on + DISPUTED_AFTER, 0, terms.country)
    while later in terms.mishaps.days():
        later = add_bank_days(later, 1, terms.country)
    for ending in ENDINGS:
        for _ in range(draw_count(shop.chance, terms.rates.get(f"dispute_{ending}", 0) * whole)):
            dispute(shop, ending, later)


def draw_count(chance: Chance, expected: float) -> int:
    """Return a whole number that is as expected on average."""
    whole = int(expected)
    return whole + (chance.whole(1, MILLION) <= (expected - whole) * MILLION)


def clear(ledger: Ledger, terms: Terms, on: date) -> list[Payout]:
    """Return the branch's lines of each payout from that day on."""
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


@dataclass(frozen=True, slots=True)
class Walk(Generic[T]):
    """An iterable whose items are made anew for each iteration."""

    begin: Callable[[], Iterator[T]]

    def __iter__(self) -> Iterator[T]:
        return self.begin()


@dataclass(frozen=True, slots=True)
class Day:
    """One branch on one day."""

    on: date
    place: int
    sales: int


@dataclass(slots=True)
class Stream:
    """Tells one large scenario."""

    terms: Terms
    merchant: Merchant
    days: dict[date, list[Day]]
    opening: list[Happening]

    def happenings(self) -> Iterator[Happening]:
        """Everything the provider tells, in order; of one day and what is still to come of earlier ones at a time."""
        later = defaultdict[date, list[Happening]](list)
        worth: dict[date, int] = defaultdict(int)
        yield from self.opening
        for on, days in self.days.items():
            for day in days:
                for happening in self._branch(day, worth):
                    later[happening.at.date()].append(happening)
            if on in worth:
                total = self._total(on, worth.pop(on))
                for happening in tell_states(total, self.merchant, mode="test"):
                    later[happening.at.date()].append(happening)
            # A day of America begins after that of UTC: what is still to be planned happens on a later date.
            yield from sorted(later.pop(on, []), key=lambda happening: happening.at)
        for on in sorted(later):
            yield from sorted(later[on], key=lambda happening: happening.at)

    def _branch(self, day: Day, worth: dict[date, int]) -> Iterator[Happening]:
        """Return the happenings of one branch, and add what its lines are worth to their payouts."""
        shop = plan_branch(self.terms, day.on, day.place, sales=day.sales)
        yield from tell(shop.ledger, Till(shop.chance, self.merchant), self.merchant)
        for payout in clear(shop.ledger, self.terms, day.on):
            worth[_day_of(payout, self.terms)] += _worth(payout)
            yield from tell_lines(payout, mode="test")

    def _total(self, on: date, worth: int) -> Payout:
        payout = self.terms.payouts[on]
        return replace(payout, amount=worth - payout.short_by)

    def documents(self) -> Iterator[Document]:
        """Return the books, those of one day's payments at a time."""
        for days in self.days.values():
            rows = [
                to_row(document)
                for day in days
                for document in plan_branch(self.terms, day.on, day.place, sales=day.sales).ledger.documents
            ]
            yield from sorted(rows, key=lambda row: row.known_at)

    def truth(self, at: datetime) -> Iterator[Truth]:
        """Return every subject that exists at the moment, branch by branch, the payouts last."""
        worth: dict[date, int] = defaultdict(int)
        links: dict[date, list[str]] = defaultdict(list)
        for day in (day for days in self.days.values() for day in days):
            ledger = plan_branch(self.terms, day.on, day.place, sales=day.sales).ledger
            ledger.payouts = clear(ledger, self.terms, day.on)
            for payout in ledger.payouts:
                on = _day_of(payout, self.terms)
                worth[on] += _worth(payout)
                links[on] += dict.fromkeys(line.resource for line in payout.lines)
            yield from (row for row in Assessor(ledger).assess(at) if row.kind != "payout")
        whole = Ledger(self.terms.country, self.terms.currency, self.terms.span.since, self.terms.span.until)
        whole.payouts = [self._total(on, worth[on]) for on in self.terms.payouts if on in worth]
        named = {self.terms.payouts[on].id: tuple(links[on]) for on in worth}
        for row in Assessor(whole).assess(at):
            yield Truth(row.kind, row.id, named[row.id], row.outcome, row.exceptions, row.amount_at_risk, row.currency,
                        row.decidable)  # fmt: skip


def stream(  # noqa: PLR0913 - the arguments of a scenario, all by name
    *,
    name: str,
    country: str,
    rates: Mapping[str, float],
    seed: int,
    scale: float,
    start: datetime,
    per_branch: int = BRANCH_SALES,
) -> Scenario:
    """Return a scenario of any size for one seed and start of the clock, damaged at these rates."""
    chance = chance_of(name, country, seed=seed, scale=scale)
    span = span_of(start, country)
    merchant, currency = MERCHANTS[country], CURRENCIES[country]
    own, seller = chance.id("ent"), chance.id("ent")
    opening = found_entity(own, merchant, chance.moment(span.since - timedelta(days=250)))
    opening += admit_seller(seller, chance.company(), country, chance, chance.moment(span.since - timedelta(days=40)))
    opening += tell_institutions(min(happening.at for happening in opening))
    sales = {on: sales_on(chance, on, scale=scale) for on in _dates(span)}
    days = _days(sales, per_branch)
    roomy = span.past() + span.coming()
    chosen = chance.order([*span.coming()[2::2], *span.past()[4::2]])
    mishaps = draw_mishaps(rates, chosen, len(bank_days(span.since, span.until, country)))
    ledger = Ledger(country, currency, span.since, span.until)
    payouts = {on: draft_payout(ledger, chance, on, mishaps) for on in bank_days(span.since, span.until, country)}
    for on in mishaps.lacking:
        payouts[on] = replace(payouts[on], short_by=chance.whole(*SHORT_RANGE))
    thick = _thicken(rates, sum(sales[on] for on in roomy) / sum(sales.values()))
    terms = Terms(
        f"{name}/{seed}/{scale:g}", country, currency, span, TARIFFS[country], thick, mishaps, payouts,
        frozenset(roomy), own, seller, sum(map(len, days.values())),
    )  # fmt: skip
    trade = Stream(terms, merchant, days, sorted(opening, key=lambda happening: happening.at))
    return Scenario(name, country, Walk(trade.happenings), Walk(trade.documents), TARIFFS[country], trade.truth)


def _dates(span: Span) -> list[date]:
    return [span.since + timedelta(days=n) for n in range((span.until - span.since).days)]


def _thicken(rates: Mapping[str, float], share: float) -> dict[str, float]:
    """Return the rates of sales on that share of them which is on days with room, so that they hold for all of them."""
    return {name: rate / share if BY_NAME[name].share_of == SALES else rate for name, rate in rates.items()}


def _days(sales: Mapping[date, int], per_branch: int) -> dict[date, list[Day]]:
    """Return the sales of each date, shared out among branches."""
    days: dict[date, list[Day]] = {}
    place = 0
    for on, whole in sales.items():
        count = -(-whole // per_branch)
        shares = [whole // count + (n < whole % count) for n in range(count)]
        days[on] = [Day(on, place + n, share) for n, share in enumerate(shares)]
        place += count
    return days


def _day_of(payout: Payout, terms: Terms) -> date:
    return next(on for on, drafted in terms.payouts.items() if drafted.id == payout.id)


def _worth(payout: Payout) -> int:
    return worth_of(payout.lines) - sum(case.payment.amount for case in payout.disputes)
