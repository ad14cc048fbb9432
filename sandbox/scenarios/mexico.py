"""A month of a Mexican merchant: CFDI paid at once or later, SPEI transfers, and the same kinds of trouble."""

from dataclasses import replace
from datetime import datetime, timedelta

from sandbox.scenarios.accounts import Teller
from sandbox.scenarios.books import to_major
from sandbox.scenarios.busy_month import CASES, PAST_CASES
from sandbox.scenarios.calendar import local_date
from sandbox.scenarios.chance import Chance
from sandbox.scenarios.disputes import dispute
from sandbox.scenarios.entities import admit_seller, found_entity, verify_account
from sandbox.scenarios.fees import MEXICO_TARIFF
from sandbox.scenarios.institutions import tell_institutions
from sandbox.scenarios.intents import Till
from sandbox.scenarios.ledger import Ledger
from sandbox.scenarios.links import connect
from sandbox.scenarios.live import live_happenings
from sandbox.scenarios.methods import LINK_LIFE, lose_method, save_method, to_payment_link
from sandbox.scenarios.payouts import Mishaps, pay_out
from sandbox.scenarios.plan import Span, chance_of, compose, plant, span_of, tell
from sandbox.scenarios.shop import Shop
from sandbox.scenarios.spei import collect_and_sweep
from sandbox.scenarios.trade import leave_open, sell_by_instalments, trade
from sandbox.scenarios.wire import MEXICAN_MERCHANT, to_millis
from sandbox.state.happening import Happening, WholeScenario

COMPANIES = 20


def build(*, seed: int, scale: float, start: datetime) -> WholeScenario:
    """The scenario for one seed, size and start of the clock."""
    chance = chance_of("mexico", "mx", seed=seed, scale=scale)
    span = span_of(start, "mx")
    ledger = Ledger("mx", "MXN", span.since, span.until)
    shop = Shop(chance, ledger)
    companies = [chance.company() for _ in range(max(COMPANIES, round(COMPANIES * scale)))]
    trade(shop, companies, scale=scale)
    leave_open(shop, companies, count=max(5, round(6 * scale)))
    times = max(1, round(scale))
    plant(shop, PAST_CASES, span.past(), times=times)
    plant(shop, CASES, span.coming(), times=times)
    for ending, on in zip(("lost", "won", None), chance.order(span.coming()[5::2]), strict=False):
        dispute(shop, ending, on)
    days = chance.order(span.coming()[2::2])
    mishaps = Mishaps(
        returned=frozenset({days[0]}), canceled=frozenset({days[1]}), short={days[2]: chance.whole(40_000, 90_000)}
    )
    sell_by_instalments(ledger)
    pay_out(ledger, chance, MEXICO_TARIFF, mishaps)
    collect_and_sweep(ledger, chance, MEXICAN_MERCHANT)
    told = tell(ledger, Till(chance, MEXICAN_MERCHANT), MEXICAN_MERCHANT) + surroundings(chance, ledger, span)
    told += tell_institutions(min(happening.at for happening in told))
    composed = compose("mexico", ledger, told + live_happenings(span, seed), MEXICO_TARIFF)
    return replace(composed, bank_lines=bank_lines(ledger))


def surroundings(chance: Chance, ledger: Ledger, span: Span) -> list[Happening]:
    """Holders, accounts, a link, mandates: what lies around the payments."""
    own, other = chance.id("ent"), chance.id("ent")
    told = found_entity(own, MEXICAN_MERCHANT, chance.moment(span.since - timedelta(days=200)))
    told += admit_seller(other, chance.company(), "mx", chance, chance.moment(span.past()[0]))
    told += reject_seller(chance, chance.moment(span.coming()[1]))
    told += verify_account(chance.company(), "mx", chance, chance.moment(span.coming()[3]), works=True)
    teller = Teller(chance, MEXICAN_MERCHANT, ledger, own, MEXICAN_MERCHANT.collecting_account)
    told += teller.tell()
    told += delete_number(chance, teller, span)
    told += connect(chance, MEXICAN_MERCHANT, span, "MXN")[1]
    told += save_method(chance, "mx_direct_debit", chance.company(), chance.moment(span.coming()[2]))
    told += lose_method(chance, "mx_direct_debit", chance.company(), chance.moment(span.coming()[0]))
    for end, on in (("expired", span.past()[2]), ("active", span.coming()[6])):
        at = chance.moment(on)
        link = to_payment_link(chance, chance.price(), ledger.currency, at, status="active")
        told += [
            Happening(at, "payment_links", link),
            Happening(at + LINK_LIFE, "payment_links", link | {"status": end}),
        ]
    # Last, so that the trade of every seed is what it was without them.
    for on, works in ((span.past()[3], True), (span.past()[9], False)):
        told += verify_account(chance.company(), "mx", chance, chance.moment(on), works=works)
    return told


def reject_seller(chance: Chance, at: datetime) -> list[Happening]:
    """A seller whose review ends badly."""
    told = admit_seller(chance.id("ent"), chance.company(), "mx", chance, at)
    ended = []
    for happening in told:
        if happening.event:
            rejected = happening.object | {"status": "rejected"}
            ended.append(replace(happening, object=rejected, event="entity.onboarding.rejected"))
        elif happening.object.get("status") == "operational":
            ended.append(replace(happening, object=happening.object | {"status": "rejected"}))
        else:
            ended.append(happening)
    return ended


def delete_number(chance: Chance, teller: Teller, span: Span) -> list[Happening]:
    """A second account number, made for one campaign and deleted after it."""
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
    """The merchant's own bank: every payout that was not sent back, on the day it succeeded."""
    lines = []
    for payout in ledger.payouts:
        if payout.succeeded_at is not None and payout.returned_at is None:
            on = local_date(payout.succeeded_at, "mx").isoformat()
            amount = to_major(payout.amount, payout.currency)
            lines.append({"date": on, "description": "SPEI RECIBIDO PASARELA", "reference": payout.id,
                          "amount": amount, "currency": payout.currency})  # fmt: skip
    return tuple(lines)
