"""Trade too large to be held: planned branch by branch and day by day, told in order, forgotten once told.

It is for sizes at which no day's refunds outweigh its sales, and holds payments, refunds, disputes, payouts and the
books; accounts, links, billing and the tax office are left to scenarios of ordinary size. A customer buys on one day.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Generic, TypeVar

from sandbox.scenarios.books import to_row
from sandbox.scenarios.branches import BRANCH_SALES, Terms, clear, plan_branch
from sandbox.scenarios.calendar import bank_days
from sandbox.scenarios.damages import BY_NAME, SALES, count_of
from sandbox.scenarios.entities import admit_seller, found_entity
from sandbox.scenarios.fees import CHILE_TARIFF, MEXICO_TARIFF
from sandbox.scenarios.institutions import tell_institutions
from sandbox.scenarios.intents import Till
from sandbox.scenarios.ledger import Ledger, Payout
from sandbox.scenarios.payouts import Mishaps, draft_payout, tell_lines, tell_states, worth_of
from sandbox.scenarios.plan import Span, chance_of, span_of, tell
from sandbox.scenarios.trade import sales_on
from sandbox.scenarios.truth import Assessor
from sandbox.scenarios.wire import CHILEAN_MERCHANT, MEXICAN_MERCHANT, Merchant
from sandbox.state.happening import Document, Happening, Scenario, Truth

T = TypeVar("T")
CURRENCIES = {"cl": "CLP", "mx": "MXN"}
MERCHANTS = {"cl": CHILEAN_MERCHANT, "mx": MEXICAN_MERCHANT}
TARIFFS = {"cl": CHILE_TARIFF, "mx": MEXICO_TARIFF}
MISHAPS = ("payout_late", "payout_returned", "payout_canceled", "payout_short")
SHORT_RANGE = (9_000, 40_000)


@dataclass(frozen=True, slots=True)
class Walk(Generic[T]):
    """Something made anew whenever somebody walks through it."""

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
            # A day of America begins after that of UTC: whatever is still to be planned happens on a later date.
            yield from sorted(later.pop(on, []), key=lambda happening: happening.at)
        for on in sorted(later):
            yield from sorted(later[on], key=lambda happening: happening.at)

    def _branch(self, day: Day, worth: dict[date, int]) -> Iterator[Happening]:
        """What is told of one branch; what its lines are worth is added to that of their payouts."""
        shop = plan_branch(self.terms, day.on, day.place, sales=day.sales)
        yield from tell(shop.ledger, Till(shop.chance, self.merchant), self.merchant)
        for payout in clear(shop.ledger, self.terms, day.on):
            worth[_day_of(payout, self.terms)] += _worth(payout)
            yield from tell_lines(payout, mode="test")

    def _total(self, on: date, worth: int) -> Payout:
        payout = self.terms.payouts[on]
        return replace(payout, amount=worth - payout.short_by)

    def documents(self) -> Iterator[Document]:
        """The books, those of one day's payments at a time."""
        for days in self.days.values():
            rows = [
                to_row(document)
                for day in days
                for document in plan_branch(self.terms, day.on, day.place, sales=day.sales).ledger.documents
            ]
            yield from sorted(rows, key=lambda row: row.known_at)

    def truth(self, at: datetime) -> Iterator[Truth]:
        """Every subject that exists at the moment, branch by branch, the payouts last."""
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
    """A scenario of any size for one seed and start of the clock, damaged at these rates."""
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
    mishaps = _mishaps(rates, chosen, len(bank_days(span.since, span.until, country)))
    ledger = Ledger(country, currency, span.since, span.until)
    payouts = {on: draft_payout(ledger, chance, on, mishaps) for on in bank_days(span.since, span.until, country)}
    for on in mishaps.lacking:
        payouts[on] = replace(payouts[on], short_by=chance.whole(*SHORT_RANGE))
    thick = _thicken(rates, sum(sales[on] for on in roomy) / sum(sales.values()))
    terms = Terms(
        f"{name}/{seed}/{scale:g}", country, currency, span, TARIFFS[country], thick, mishaps, payouts,
        frozenset(roomy), own, seller, sum(map(len, days.values())),
    )  # fmt: skip
    told = Stream(terms, merchant, days, sorted(opening, key=lambda happening: happening.at))
    return Scenario(name, country, Walk(told.happenings), Walk(told.documents), TARIFFS[country], told.truth)


def _dates(span: Span) -> list[date]:
    return [span.since + timedelta(days=n) for n in range((span.until - span.since).days)]


def _thicken(rates: Mapping[str, float], share: float) -> dict[str, float]:
    """The rates of sales on that share of them which is on days with room, so that they hold for all of them."""
    return {name: rate / share if BY_NAME[name].share_of == SALES else rate for name, rate in rates.items()}


def _days(sales: Mapping[date, int], per_branch: int) -> dict[date, list[Day]]:
    """The sales of each date, shared out among branches."""
    days: dict[date, list[Day]] = {}
    place = 0
    for on, whole in sales.items():
        count = -(-whole // per_branch)
        shares = [whole // count + (n < whole % count) for n in range(count)]
        days[on] = [Day(on, place + n, share) for n, share in enumerate(shares)]
        place += count
    return days


def _mishaps(rates: Mapping[str, float], days: list[date], whole: int) -> Mishaps:
    chosen: dict[str, frozenset[date]] = {}
    for name in MISHAPS:
        count = count_of(rates.get(name, 0), whole)
        chosen[name] = frozenset(days[:count])
        days = days[count:]
    return Mishaps(late=chosen["payout_late"], returned=chosen["payout_returned"],
                   canceled=chosen["payout_canceled"], lacking=chosen["payout_short"])  # fmt: skip


def _day_of(payout: Payout, terms: Terms) -> date:
    return next(on for on, drafted in terms.payouts.items() if drafted.id == payout.id)


def _worth(payout: Payout) -> int:
    return worth_of(payout.lines) - sum(case.payment.amount for case in payout.disputes)
