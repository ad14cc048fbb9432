"""Busy months of a Chilean and a Mexican merchant: ordinary trade with every kind of exception planted in it."""

from dataclasses import replace
from datetime import date, datetime, timedelta

from sandbox.scenarios import planted_keys as keys
from sandbox.scenarios import planted_people as people
from sandbox.scenarios import planted_refunds as refunds
from sandbox.scenarios.accounts import Teller
from sandbox.scenarios.bank import collect_and_sweep, keep_house, receive, withhold
from sandbox.scenarios.billing import LINK_LIFE, collect, lose_method, recur, save_method, to_payment_link
from sandbox.scenarios.books import to_major
from sandbox.scenarios.calendar import local_date
from sandbox.scenarios.chance import Chance
from sandbox.scenarios.entities import admit_seller, found_entity, tell_institutions, verify_account
from sandbox.scenarios.fees import CHILE_TARIFF, MEXICO_TARIFF
from sandbox.scenarios.fiscal import TaxOffice
from sandbox.scenarios.ledger import Ledger, Verdict
from sandbox.scenarios.links import connect
from sandbox.scenarios.payments import Till
from sandbox.scenarios.payouts import Mishaps, pay_out
from sandbox.scenarios.people import CHILEAN_MERCHANT, MEXICAN_MERCHANT, to_millis
from sandbox.scenarios.plan import Case, Span, chance_of, compose, live_happenings, plant, span_of, tell
from sandbox.scenarios.shop import Shop
from sandbox.scenarios.trade import cross_the_cut, dispute, leave_open, sell_by_instalments, sell_for_two, trade
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
MEXICAN_COMPANIES = 20


def build(*, seed: int, scale: float, start: datetime) -> WholeScenario:
    """Return the Chilean scenario for one seed, size and start of the clock."""
    chance = chance_of("busy-month", "cl", seed=seed, scale=scale)
    span = span_of(start, "cl")
    ledger = Ledger("cl", "CLP", span.since, span.until)
    shop = Shop(chance, ledger)
    fill(shop, span, scale=scale)
    own = open_business(shop, span)
    collect(shop, CHILEAN_MERCHANT)
    recur(shop, CHILEAN_MERCHANT, span)
    disagree(shop, span)
    sell_by_instalments(ledger)
    pay_out(ledger, chance, CHILE_TARIFF, mishaps_of(shop, span))
    receive(ledger, chance, span.coming())
    keep_house(ledger, chance)
    withhold(ledger, CHILEAN_MERCHANT.account, span.start)
    till = Till(chance, CHILEAN_MERCHANT)
    happenings = tell(ledger, till, CHILEAN_MERCHANT) + tell_abandoned(shop, till)
    happenings += Teller(chance, CHILEAN_MERCHANT, ledger, own, CHILEAN_MERCHANT.account).tell()
    link_id, linked = connect(chance, CHILEAN_MERCHANT, span, "CLP")
    happenings += linked + TaxOffice(chance, CHILEAN_MERCHANT, ledger, link_id).tell()
    happenings += tell_institutions(min(happening.at for happening in happenings))
    return compose("busy-month", ledger, happenings + live_happenings(span, seed), CHILE_TARIFF)


def fill(shop: Shop, span: Span, *, scale: float) -> None:
    """Add ordinary trade and the planted cases to the ledger."""
    companies = [shop.chance.company() for _ in range(max(COMPANIES, round(COMPANIES * scale)))]
    trade(shop, companies, scale=scale)
    leave_open(shop, companies, count=max(6, round(8 * scale)))
    coming = span.coming()
    for on in (span.past()[3], coming[2], coming[9]):
        cross_the_cut(shop, companies, on)
    times = max(1, round(scale))
    plant(shop, PAST_CASES, span.past(), times=times)
    plant(shop, CASES, coming, times=times)


def open_business(shop: Shop, span: Span) -> str:
    """Add the merchant's entity, the seller it shares sales with and those sales; return the entity's id."""
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
    """Add disputes that end on days without mishaps, or do not end."""
    clean = shop.chance.order(span.coming()[5::2])
    for ending, on in zip(("lost", "expired", "won"), clean, strict=False):
        dispute(shop, ending, on)
    dispute(shop, None, span.until - timedelta(days=6))
    dispute(shop, "lost", span.past()[7])


def mishaps_of(shop: Shop, span: Span) -> Mishaps:
    """Return the days on which the payout itself goes wrong, never two in a row."""
    days = shop.chance.order(span.coming()[2::2])
    past = span.past()
    return Mishaps(
        late=frozenset({days[5]}),
        returned=frozenset({days[0], days[1], past[5]}),
        canceled=frozenset({days[2]}),
        short={day: shop.chance.whole(9_000, 40_000) for day in (days[3], days[4], past[9])},
    )


def tell_abandoned(shop: Shop, till: Till) -> list[Happening]:
    """Return unfinished checkouts, one or two a week."""
    happenings: list[Happening] = []
    day: date = shop.ledger.since
    while day < shop.ledger.until - timedelta(days=2):
        at = shop.chance.moment(day)
        draft = shop.payment(shop.chance.price(), at, Verdict("no_document"))
        happenings += till.abandon(replace(draft, metadata={"order_ref": shop.order()}))
        day += timedelta(days=shop.chance.whole(3, 6))
    return happenings


def build_mexico(*, seed: int, scale: float, start: datetime) -> WholeScenario:
    """Return the Mexican scenario for one seed, size and start of the clock."""
    chance = chance_of("mexico", "mx", seed=seed, scale=scale)
    span = span_of(start, "mx")
    ledger = Ledger("mx", "MXN", span.since, span.until)
    shop = Shop(chance, ledger)
    companies = [chance.company() for _ in range(max(MEXICAN_COMPANIES, round(MEXICAN_COMPANIES * scale)))]
    trade(shop, companies, scale=scale)
    leave_open(shop, companies, count=max(5, round(6 * scale)))
    times = max(1, round(scale))
    plant(shop, PAST_CASES, span.past(), times=times)
    plant(shop, CASES, span.coming(), times=times)
    for ending, on in zip(("lost", "won"), chance.order(span.coming()[5::2]), strict=False):
        dispute(shop, ending, on)
    dispute(shop, None, span.until - timedelta(days=6))
    days = chance.order(span.coming()[2::2])
    mishaps = Mishaps(
        returned=frozenset({days[0]}), canceled=frozenset({days[1]}), short={days[2]: chance.whole(40_000, 90_000)}
    )
    sell_by_instalments(ledger)
    pay_out(ledger, chance, MEXICO_TARIFF, mishaps)
    collect_and_sweep(ledger, chance, MEXICAN_MERCHANT)
    happenings = tell(ledger, Till(chance, MEXICAN_MERCHANT), MEXICAN_MERCHANT) + surroundings(chance, ledger, span)
    happenings += tell_institutions(min(happening.at for happening in happenings))
    composed = compose("mexico", ledger, happenings + live_happenings(span, seed), MEXICO_TARIFF)
    return replace(composed, bank_lines=bank_lines(ledger))


def surroundings(chance: Chance, ledger: Ledger, span: Span) -> list[Happening]:
    """Return what happens around the payments: entities, accounts, a link, mandates."""
    own, other = chance.id("ent"), chance.id("ent")
    happenings = found_entity(own, MEXICAN_MERCHANT, chance.moment(span.since - timedelta(days=200)))
    happenings += admit_seller(other, chance.company(), "mx", chance, chance.moment(span.past()[0]))
    happenings += reject_seller(chance, chance.moment(span.coming()[1]))
    happenings += verify_account(chance.company(), "mx", chance, chance.moment(span.coming()[3]), works=True)
    teller = Teller(chance, MEXICAN_MERCHANT, ledger, own, MEXICAN_MERCHANT.collecting_account)
    happenings += teller.tell()
    happenings += delete_number(chance, teller, span)
    happenings += connect(chance, MEXICAN_MERCHANT, span, "MXN")[1]
    happenings += save_method(chance, "mx_direct_debit", chance.company(), chance.moment(span.coming()[2]))
    happenings += lose_method(chance, "mx_direct_debit", chance.company(), chance.moment(span.coming()[0]))
    for end, on in (("expired", span.past()[2]), ("active", span.coming()[6])):
        at = chance.moment(on)
        link = to_payment_link(chance, chance.price(), ledger.currency, at)
        happenings += [
            Happening(at, "payment_links", link),
            Happening(at + LINK_LIFE, "payment_links", link | {"status": end}),
        ]
    # Last, so that they do not change the other trade of a seed.
    for on, works in ((span.past()[3], True), (span.past()[9], False)):
        happenings += verify_account(chance.company(), "mx", chance, chance.moment(on), works=works)
    return happenings


def reject_seller(chance: Chance, at: datetime) -> list[Happening]:
    """Return the onboarding of a seller that is rejected."""
    happenings = admit_seller(chance.id("ent"), chance.company(), "mx", chance, at)
    ended = []
    for happening in happenings:
        if happening.event:
            rejected = happening.object | {"status": "rejected"}
            ended.append(replace(happening, object=rejected, event="entity.onboarding.rejected"))
        elif happening.object.get("status") == "operational":
            ended.append(replace(happening, object=happening.object | {"status": "rejected"}))
        else:
            ended.append(happening)
    return ended


def delete_number(chance: Chance, teller: Teller, span: Span) -> list[Happening]:
    """Return a second account number, made for one campaign and deleted after it."""
    made_at, deleted_at = chance.moment(span.past()[1]), chance.moment(span.coming()[5])
    number = teller.number(made_at) | {
        "id": chance.id("acno", 24),
        "number": chance.company().account,
        "is_root": False,
        "description": "Campaña",
    }
    gone = number | {"status": "disabled", "deleted_at": to_millis(deleted_at), "updated_at": to_millis(deleted_at)}
    return [
        Happening(made_at, "account_numbers", number),
        Happening(deleted_at, "account_numbers", gone, "account_number.deleted"),
    ]


def bank_lines(ledger: Ledger) -> tuple[dict[str, str], ...]:
    """Return the lines of the merchant's own bank: every payout that was not sent back, on the day it succeeded."""
    lines = []
    for payout in ledger.payouts:
        if payout.succeeded_at is not None and payout.returned_at is None:
            on = local_date(payout.succeeded_at, "mx").isoformat()
            amount = to_major(payout.amount, payout.currency)
            lines.append({"date": on, "description": "SPEI RECIBIDO PASARELA", "reference": payout.id,
                          "amount": amount, "currency": payout.currency})  # fmt: skip
    return tuple(lines)
