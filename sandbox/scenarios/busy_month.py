"""A busy month of a Chilean merchant: ordinary trade with every kind of trouble planted in it."""

from dataclasses import replace
from datetime import date, datetime, timedelta

from sandbox.scenarios import planted_keys as keys
from sandbox.scenarios import planted_people as people
from sandbox.scenarios import planted_refunds as refunds
from sandbox.scenarios.accounts import Teller
from sandbox.scenarios.bank import keep_house, receive, withhold
from sandbox.scenarios.charges import collect
from sandbox.scenarios.disputes import dispute
from sandbox.scenarios.entities import admit_seller, found_entity, verify_account
from sandbox.scenarios.fees import CHILE_TARIFF
from sandbox.scenarios.fiscal import TaxOffice
from sandbox.scenarios.institutions import tell_institutions
from sandbox.scenarios.intents import Till
from sandbox.scenarios.ledger import Ledger, Verdict
from sandbox.scenarios.links import connect
from sandbox.scenarios.live import live_happenings
from sandbox.scenarios.payouts import Mishaps, pay_out
from sandbox.scenarios.plan import Case, Span, chance_of, compose, plant, span_of, tell
from sandbox.scenarios.recurring import recur
from sandbox.scenarios.shop import Shop
from sandbox.scenarios.splits import sell_for_two
from sandbox.scenarios.trade import cross_the_cut, leave_open, sell_by_instalments, trade
from sandbox.scenarios.wire import CHILEAN_MERCHANT
from sandbox.state.happening import Happening, WholeScenario

CASES: dict[Case, int] = {
    people.pay_from_nowhere: 2,
    people.pay_unknown_order: 1,
    people.pay_one_of_two_strangers: 1,
    people.suggest: 1,
    people.refer_without_name: 2,
    people.name_by_folio: 1,
    people.refer_to_twins: 1,
    people.pay_interchangeably: 1,
    people.pay_set: 2,
    people.pay_two_sets: 1,
    keys.pay_short: 2,
    keys.pay_part: 1,
    keys.pay_over: 2,
    keys.pay_one_unit_off: 2,
    keys.pay_for_another: 2,
    keys.pay_through_another_account: 1,
    keys.name_a_stranger: 1,
    keys.name_the_neighbour: 1,
    keys.pay_twice: 2,
    keys.pay_void: 1,
    keys.pay_reissued: 1,
    keys.pay_credited: 1,
    keys.pay_in_other_currency: 1,
    keys.pay_lowered: 1,
    keys.credit_unpaid: 1,
    keys.leave_overdue: 3,
    keys.pay_in_instalments: 2,
    refunds.refund_with_note: 3,
    refunds.refund_part_with_note: 2,
    refunds.refund_without_note: 2,
    refunds.refund_with_late_note: 1,
    refunds.note_without_refund: 2,
    refunds.refund_that_fails: 1,
    refunds.pay_and_forget: 2,
    refunds.pay_out_twice: 1,
}
PAST_CASES: dict[Case, int] = {
    people.pay_from_nowhere: 1,
    people.suggest: 1,
    people.pay_set: 1,
    people.pay_two_sets: 1,
    people.pay_interchangeably: 1,
    keys.pay_short: 1,
    keys.pay_over: 1,
    keys.pay_for_another: 1,
    keys.pay_twice: 1,
    keys.pay_void: 1,
    keys.leave_overdue: 2,
    keys.pay_in_instalments: 1,
    refunds.refund_with_note: 2,
    refunds.refund_without_note: 1,
    refunds.note_without_refund: 1,
    refunds.refund_that_fails: 1,
    refunds.pay_and_forget: 1,
    refunds.pay_out_twice: 1,
}
COMPANIES = 24


def build(*, seed: int, scale: float, start: datetime) -> WholeScenario:
    """The scenario for one seed, size and start of the clock."""
    chance = chance_of("busy-month", "cl", seed=seed, scale=scale)
    span = span_of(start, "cl")
    ledger = Ledger("cl", "CLP", span.since, span.until)
    shop = Shop(chance, ledger)
    fill(shop, span, scale=scale)
    own = found(shop, span)
    collect(shop, CHILEAN_MERCHANT)
    recur(shop, CHILEAN_MERCHANT, span)
    disagree(shop, span)
    sell_by_instalments(ledger)
    pay_out(ledger, chance, CHILE_TARIFF, mishaps_of(shop, span))
    receive(ledger, chance, span.coming())
    keep_house(ledger, chance)
    withhold(ledger, CHILEAN_MERCHANT.account, span.start)
    till = Till(chance, CHILEAN_MERCHANT)
    told = tell(ledger, till, CHILEAN_MERCHANT) + abandoned(shop, till)
    told += Teller(chance, CHILEAN_MERCHANT, ledger, own, CHILEAN_MERCHANT.account).tell()
    link_id, linked = connect(chance, CHILEAN_MERCHANT, span, "CLP")
    told += linked + TaxOffice(chance, CHILEAN_MERCHANT, ledger, link_id).tell()
    told += tell_institutions(min(happening.at for happening in told))
    return compose("busy-month", ledger, told + live_happenings(span, seed), CHILE_TARIFF)


def fill(shop: Shop, span: Span, *, scale: float) -> None:
    """Ordinary trade and the planted cases."""
    companies = [shop.chance.company() for _ in range(max(COMPANIES, round(COMPANIES * scale)))]
    trade(shop, companies, scale=scale)
    leave_open(shop, companies, count=max(6, round(8 * scale)))
    coming = span.coming()
    for on in (span.past()[3], coming[2], coming[9]):
        cross_the_cut(shop, companies, on)
    times = max(1, round(scale))
    plant(shop, PAST_CASES, span.past(), times=times)
    plant(shop, CASES, coming, times=times)


def found(shop: Shop, span: Span) -> str:
    """The merchant's holder, the seller it shares sales with, the account both live from, and those shared sales."""
    chance, ledger = shop.chance, shop.ledger
    own, other, seller = chance.id("ent"), chance.id("ent"), chance.company()
    begun_at = chance.moment(span.since - timedelta(days=250))
    ledger.happenings += found_entity(own, CHILEAN_MERCHANT, begun_at)
    ledger.happenings += admit_seller(other, seller, "cl", chance, chance.moment(span.past()[0]))
    for works, on in ((True, span.past()[2]), (False, span.coming()[4])):
        ledger.happenings += verify_account(chance.company(), "cl", chance, chance.moment(on), works=works)
    for on, off_by in zip((*span.past()[4:6], *span.coming()[3:7]), (0, 0, 0, 1, 0, 0), strict=False):
        sell_for_two(shop, on, own_entity=own, seller_entity=other, off_by=off_by)
    return own


def disagree(shop: Shop, span: Span) -> None:
    """Disputes that end on days without mishaps, or do not end."""
    clean = shop.chance.order(span.coming()[5::2])
    for ending, on in zip(("lost", "expired", "won", None), clean, strict=False):
        dispute(shop, ending, on)
    dispute(shop, "lost", span.past()[7])


def mishaps_of(shop: Shop, span: Span) -> Mishaps:
    """Days on which the payout itself goes wrong, never two in a row."""
    days = shop.chance.order(span.coming()[2::2])
    past = span.past()
    return Mishaps(
        late=frozenset({days[5]}),
        returned=frozenset({days[0], days[1], past[5]}),
        canceled=frozenset({days[2]}),
        short={day: shop.chance.whole(9_000, 40_000) for day in (days[3], days[4], past[9])},
    )


def abandoned(shop: Shop, till: Till) -> list[Happening]:
    """Checkouts nobody finished, one or two a week."""
    told: list[Happening] = []
    day: date = shop.ledger.since
    while day < shop.ledger.until - timedelta(days=2):
        at = shop.chance.moment(day)
        draft = shop.payment(shop.chance.price(), at, Verdict("no_document"))
        told += till.abandon(replace(draft, metadata={"order_ref": shop.order()}))
        day += timedelta(days=shop.chance.whole(3, 6))
    return told
