"""Trade in which most things go wrong: a Chilean merchant at the stress rates of the accuracy measurements."""

from dataclasses import replace
from datetime import date, datetime, timedelta
from functools import partial

from sandbox.scenarios import planted_keys as keys
from sandbox.scenarios import planted_people as people
from sandbox.scenarios import planted_refunds as refunds
from sandbox.scenarios.accounts import Teller
from sandbox.scenarios.bank import keep_house, receive
from sandbox.scenarios.busy_month import disagree, mishaps_of, open_business
from sandbox.scenarios.calendar import bank_days, is_bank_day
from sandbox.scenarios.fees import CHILE_TARIFF
from sandbox.scenarios.ledger import Ledger, Payment
from sandbox.scenarios.payments import Till
from sandbox.scenarios.payouts import pay_out
from sandbox.scenarios.people import CHILEAN_MERCHANT, Person
from sandbox.scenarios.plan import Case, Span, chance_of, compose, span_of, tell
from sandbox.scenarios.shop import Shop, match_document
from sandbox.scenarios.trade import cross_the_cut, leave_open, refer, sell_over_the_counter
from sandbox.state.happening import WholeScenario

PLAIN = 300
# How often of a thousand sales; what remains to PLAIN is an invoice paid once, named well, badly or not at all.
RATES: list[tuple[Case, int]] = [
    (keys.name_the_neighbour, 20),
    (keys.name_a_stranger, 10),
    (keys.pay_through_another_account, 50),
    (keys.pay_for_another, 10),
    (keys.pay_short, 40),
    (keys.pay_part, 10),
    (keys.pay_over, 30),
    (keys.pay_one_unit_off, 50),
    (keys.pay_twice, 30),
    (people.pay_set, 60),
    (people.pay_two_sets, 20),
    (keys.pay_in_instalments, 80),
    (people.pay_interchangeably, 50),
    (people.refer_to_twins, 10),
    (people.pay_one_of_two_strangers, 60),
    (people.suggest, 20),
    (people.refer_without_name, 10),
    (people.name_by_folio, 10),
    (keys.leave_overdue, 150),
    (keys.credit_unpaid, 10),
    (keys.pay_lowered, 10),
    (people.pay_from_nowhere, 40),
    (people.pay_unknown_order, 10),
    (keys.pay_void, 10),
    (keys.pay_reissued, 10),
    (keys.pay_credited, 10),
    (refunds.refund_with_note, 50),
    (refunds.refund_part_with_note, 30),
    (refunds.refund_without_note, 10),
    (refunds.refund_with_late_note, 5),
    (refunds.refund_that_fails, 9),
    (refunds.note_without_refund, 10),
    (refunds.pay_and_forget, 10),
    (refunds.pay_out_twice, 10),
    (keys.pay_in_other_currency, 30),
    (sell_over_the_counter, 100),
]
EVIDENCE = {"key": 40, "customer": 30, "damaged": 15, "reference": 15}
NAMELESS_PERCENT = 40
COMPANIES = 24


def build(*, seed: int, scale: float, start: datetime) -> WholeScenario:
    """Return the scenario for one seed, size and start of the clock."""
    chance = chance_of("stress", "cl", seed=seed, scale=scale)
    span = span_of(start, "cl")
    ledger = Ledger("cl", "CLP", span.since, span.until)
    shop = Shop(chance, ledger)
    companies = [chance.company() for _ in range(max(COMPANIES, round(COMPANIES * scale)))]
    trade_badly(shop, companies, span, scale=scale)
    leave_open(shop, companies, count=max(6, round(30 * scale)))
    for on in bank_days(span.start, span.until - timedelta(days=9), "cl")[1::3]:
        cross_the_cut(shop, companies, on)
    own = open_business(shop, span)
    disagree(shop, span)
    pay_out(ledger, chance, CHILE_TARIFF, mishaps_of(shop, span))
    receive(ledger, chance, span.coming())
    keep_house(ledger, chance)
    happenings = tell(ledger, Till(chance, CHILEAN_MERCHANT), CHILEAN_MERCHANT)
    happenings += Teller(chance, CHILEAN_MERCHANT, ledger, own, CHILEAN_MERCHANT.account).tell()
    return compose("stress", ledger, happenings, CHILE_TARIFF)


def trade_badly(shop: Shop, companies: list[Person], span: Span, *, scale: float) -> None:
    """Every day's sales, on days with room for consequences at the stress rates."""
    roomy = {*span.past(), *span.coming()}
    plain: Case = partial(sell_with_evidence, companies)
    rough: list[tuple[Case, int]] = [*RATES, (plain, PLAIN)]
    quiet: list[tuple[Case, int]] = [(plain, 1), (sell_over_the_counter, 1)]
    day = span.since
    while day < span.until:
        low, high = (6, 12) if is_bank_day(day, "cl") else (1, 4)
        for _ in range(max(1, round(shop.chance.whole(low, high) * scale))):
            shop.chance.weigh_first(rough if day in roomy else quiet)(shop, day)
        day += timedelta(days=1)


def sell_with_evidence(companies: list[Person], shop: Shop, on: date) -> Payment:
    """Return an invoice paid once by its buyer, however well the payment says so."""
    chance = shop.chance
    issue_on = on - timedelta(days=chance.whole(0, 30))
    document = shop.bill(chance.pick(companies), issue_on)
    assert document.buyer is not None
    payment = shop.transfer(document.total, on, document.buyer, match_document(document))
    evidence = chance.weigh(EVIDENCE)
    if evidence == "key":
        payment = replace(payment, metadata=shop.name(document))
        if chance.happens(NAMELESS_PERCENT):
            payment = replace(payment, sender=None, customer=None)
    if evidence == "reference":
        payment = refer(shop, payment, document)
    if evidence == "damaged":
        payment = replace(payment, comment=f"Pago factura {people.mistype(shop, document)}")
    return shop.keep_payment(payment)
