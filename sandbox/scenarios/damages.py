"""The kinds of damage trade may take, how often, and what a right reconciliation says of each."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_HALF_UP, Decimal

from sandbox.scenarios import planted_keys as keys
from sandbox.scenarios import planted_people as people
from sandbox.scenarios import planted_refunds as refunds
from sandbox.scenarios.payouts import Mishaps
from sandbox.scenarios.plan import Case

SALES, PAYOUTS, BANK_DAYS, DOCUMENTS, STATEMENTS = "sales", "payouts", "bank days", "documents", "statements"


@dataclass(frozen=True, slots=True)
class Damage:
    """One kind; several of one number are its variants. Rates are choices, not measured facts."""

    number: int  # in the list of discrepancies the measurements are made with
    name: str
    base: float
    stress: float
    truth: str
    cases: tuple[Case, ...] = ()  # planted in turn
    share_of: str = SALES
    instead: str = ""  # what to use where trade itself cannot hold the damage


TABLE = (
    Damage(1, "clean", 0, 0, "matched", instead="what the other kinds leave of a month"),
    Damage(2, "reference_missing", 0.08, 0.30, "matched by customer and amount", (people.pay_unnamed,)),
    Damage(3, "reference_damaged", 0.04, 0.15, "as a missing one, never the neighbour", (people.pay_misnamed,)),
    Damage(4, "reference_of_another", 0.003, 0.02, "AMBIGUOUS, or PAYMENT_NO_INVOICE of a stranger's amount",
           (keys.name_the_neighbour, keys.name_a_stranger)),
    Damage(5, "tax_id_missing", 0.10, 0.40, "matched by its key, by its text, or PAYMENT_NO_INVOICE and suggested",
           (people.pay_unsigned, people.refer_without_name, people.suggest)),
    Damage(5, "tax_id_of_relative", 0.01, 0.05, "matched; CUSTOMER_DIFF where no customer is known",
           (keys.pay_through_another_account, keys.pay_for_another)),
    Damage(6, "amount_short", 0.01, 0.05, "partial, AMOUNT_DIFF of the rest", (keys.pay_short,)),
    Damage(6, "amount_over", 0.005, 0.03, "matched_with_difference, AMOUNT_DIFF of what is over", (keys.pay_over,)),
    Damage(7, "rounded_by_one", 0.01, 0.05, "matched_with_difference, no exception", (keys.pay_one_unit_off,)),
    Damage(8, "paid_twice", 0.005, 0.03, "DUPLICATE_PAYMENT on the second only", (keys.pay_twice,)),
    Damage(9, "delivered_twice", 0.02, 0.20, "no effect at all", instead="the fault duplicate"),
    Damage(10, "paid_together", 0.02, 0.08, "set, or AMBIGUOUS where two sets fit", (people.pay_set,
                                                                                    people.pay_two_sets)),
    Damage(11, "instalments", 0.02, 0.08, "partial, the last one matched", (keys.pay_in_parts,)),
    Damage(12, "identical_invoices", 0.01, 0.05, "interchangeable, oldest due first", (people.pay_interchangeably,)),
    Damage(13, "identical_amounts", 0.01, 0.08, "PAYMENT_NO_INVOICE, undecidable", (people.pay_one_of_two_strangers,)),
    Damage(14, "unpaid", 0.05, 0.15, "INVOICE_NO_PAYMENT once overdue", (keys.leave_overdue, keys.leave_not_due)),
    Damage(15, "orphan", 0.01, 0.05, "PAYMENT_NO_INVOICE", (people.pay_from_nowhere, people.pay_unknown_order)),
    Damage(16, "void_paid", 0.002, 0.01, "PAID_CANCELLED_DOC", (keys.pay_void, keys.pay_credited)),
    Damage(17, "refund_full", 0.02, 0.06, "netted, its sale credited", (refunds.refund_with_note,)),
    Damage(17, "refund_part", 0.01, 0.03, "netted, its sale lowered", (refunds.refund_part_with_note,)),
    Damage(17, "refund_failed", 0.003, 0.009, "an adjustment in a later payout", (refunds.refund_that_fails,)),
    Damage(18, "dispute_won", 0.001, 0.007, "nothing"),
    Damage(18, "dispute_lost", 0.001, 0.007, "DISPUTE_LOST, its document open again, a line of the payout after it"),
    Damage(18, "dispute_expired", 0.001, 0.007, "DISPUTE_LOST, its document open again, a line of the payout after it"),
    Damage(19, "fee_tariff_wrong", 0.002, 0.02, "FEE_OUT_OF_BAND on the item", (refunds.overcharge,)),
    Damage(19, "fee_vat_wrong", 0.002, 0.02, "FEE_OUT_OF_BAND on the item", (refunds.leave_out_vat,)),
    Damage(19, "fee_rounding_wrong", 0.002, 0.02, "no exception within one unit", (refunds.round_too_far,)),
    Damage(20, "payout_short", 0.001, 0.01, "PAYOUT_IDENTITY of what one item is worth", share_of=PAYOUTS),
    Damage(20, "item_in_two_payouts", 0.001, 0.01, "ITEM_IN_TWO_PAYOUTS", (refunds.pay_out_twice,)),
    Damage(20, "item_in_no_payout", 0.001, 0.01, "ITEM_IN_NO_PAYOUT after two bank days", (refunds.pay_and_forget,)),
    Damage(21, "payout_late", 0.005, 0.03, "PAYOUT_LATE until it succeeds", share_of=PAYOUTS),
    Damage(21, "payout_returned", 0.005, 0.03, "PAYOUT_RETURNED", share_of=PAYOUTS),
    Damage(21, "payout_canceled", 0.005, 0.03, "no exception, its items in the next", share_of=PAYOUTS),
    Damage(21, "payout_absent", 0.005, 0.03, "PAYOUT_NOT_IN_BANK", share_of=PAYOUTS),
    Damage(21, "bank_amount_differs", 0.005, 0.03, "BANK_AMOUNT_DIFF", share_of=PAYOUTS),
    Damage(22, "cut_crossed", 0, 1, "no exception", share_of=BANK_DAYS),
    Damage(23, "other_currency", 0.003, 0.03, "CURRENCY_DIFF", (keys.pay_in_other_currency, keys.pay_in_pesos)),
    Damage(24, "source_incomplete", 0, 1, "DATA_GAP, nothing called missing",
           instead="the faults drop, empty-page and pruned-cursor, or no invoice file"),
    Damage(25, "file_variant", 0, 1, "the same books, or a refusal", instead="invoices.csv?variant="),
    Damage(26, "split_short", 0.01, 0.05, "SPLIT_MISMATCH of one unit"),
    Damage(27, "f29_rectified", 0.005, 0.005, "the earlier filing replaced", share_of=STATEMENTS),
    Damage(27, "register_lacks", 0.005, 0.005, "the sale is in the books alone", share_of=DOCUMENTS),
)  # fmt: skip
BY_NAME = {damage.name: damage for damage in TABLE}
SWITCHABLE = tuple(damage.name for damage in TABLE if not damage.instead)
BASE = {name: BY_NAME[name].base for name in SWITCHABLE}
STRESS = {name: BY_NAME[name].stress for name in SWITCHABLE}


def rates_of(usual: Mapping[str, float], wanted: Mapping[str, float]) -> dict[str, float]:
    """Return the rate of every damage that is switched on. Raise ValueError with a sentence."""
    for name, rate in wanted.items():
        if name not in BY_NAME:
            raise ValueError(f"there is no damage {name!r}: choose one of {', '.join(SWITCHABLE)}")
        if BY_NAME[name].instead:
            raise ValueError(f"{name} is no damage of trade: use {BY_NAME[name].instead}")
        if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 <= rate <= 1:
            raise ValueError(f"the rate of {name} must be a number from 0 to 1, not {rate!r}")
    return {name: rate for name, rate in {**usual, **wanted}.items() if rate}


def count_of(rate: float, whole: int) -> int:
    """Return how many of the whole are damaged: none without a rate, else at least one."""
    if not rate:
        return 0
    return max(1, int((Decimal(str(rate)) * whole).quantize(Decimal(1), ROUND_HALF_UP)))


def draw_mishaps(rates: Mapping[str, float], days: list[date], whole: int) -> Mishaps:
    """Return what goes wrong with the payouts of the first of these days, as a share of the whole."""
    chosen: list[frozenset[date]] = []
    for name in ("payout_late", "payout_returned", "payout_canceled", "payout_short"):
        count = count_of(rates.get(name, 0), whole)
        chosen.append(frozenset(days[:count]))
        days = days[count:]
    late, returned, canceled, lacking = chosen
    return Mishaps(late=late, returned=returned, canceled=canceled, lacking=lacking)
