"""Pure: collected money against the books, and the vouchers of a month."""

from collections import defaultdict
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from datetime import date, timedelta
from typing import NamedTuple

from reconcile.fiscal.comparing import Part, Side, Tie, Verdict
from reconcile.fiscal.witnesses import Payment, State, Witness, World
from reconcile.rules.kinds import EXEMPT_KINDS

TRANSFER = "bank_transfer"
CARDS = frozenset({"credit_card", "debit_card", "prepaid_card", "card"})
_VOUCHER, _RECEIPTS = "48", frozenset({"39", "41"})
_CLAIMS = frozenset({"30", "32", "33", "34", "39", "41", "43", "55", "56", "110", "111", "I"})


class VoucherDay(NamedTuple):
    """One row of the daily detail of vouchers, as the merchant types it in."""

    on: date
    payments: int
    total: int
    # Of documents without VAT.
    exempt: int
    with_receipt: int


def tie_collected(world: World, period: str) -> Tie:
    """Tie the money of a month with the documents issued in it: what of it pays other months, or none."""
    paid = [payment for payment in world.payments if payment.period == period]
    issued = {
        paper.key: paper
        for paper in world.books.papers
        if paper.period == period and paper.kind in _CLAIMS and paper.state is State.VALID
    }
    known = {paper.key for paper in world.books.papers if paper.period != period and paper.state is State.VALID}
    parts = [_of_payment(payment, known) for payment in paid if payment.doc_key not in issued]
    here: defaultdict[str, int] = defaultdict(int)
    other: defaultdict[str, int] = defaultdict(int)
    for payment in world.payments:
        (here if payment.period == period else other)[payment.doc_key] += payment.amount
    for key, paper in sorted(issued.items()):
        if other[key]:
            parts.append(Part("period_shift", -other[key], key, 0, paper.on, paper.tax_id))
        if left := paper.total - here[key] - other[key]:
            parts.append(Part("not_collected" if left > 0 else "amount_differs", -left, key, 0, paper.on, paper.tax_id))
    collected = sum(payment.amount for payment in paid) if world.collected_as_of else None
    is_priced = all(paper.is_priced for paper in issued.values())
    billed = sum(paper.total for paper in issued.values()) if world.books.is_known and is_priced else None
    return Tie(
        period, "collected", Side(Witness.COLLECTED, collected, world.collected_as_of),
        Side(Witness.BOOKS, billed, world.books.as_of), () if collected is None or billed is None else tuple(parts),
    )  # fmt: skip


def _of_payment(payment: Payment, known: AbstractSet[str]) -> Part:
    if payment.doc_key:
        cause = "period_shift" if payment.doc_key in known else "not_in_books"
    elif payment.is_rounding:
        cause = "rounding"
    else:
        cause = "transfer_without_document" if payment.subtype == TRANSFER else "payment_without_document"
    return Part(cause, payment.amount, payment.doc_key or payment.id, payment.vat, payment.on, payment.tax_id)


def tie_vouchers(world: World, period: str) -> Tie:
    """Tie cards of a month with the register's sum of vouchers; the provider says both, so it proves transmission.

    Where receipts replace vouchers, or both are issued, the figures are shown without a verdict.
    """
    days = voucher_days(world.payments, period)
    collected = sum(day.total for day in days) if world.collected_as_of else None
    shown = [paper for paper in world.register.papers if paper.kind == _VOUCHER and paper.period == period]
    asked_at = world.register.asked_at("sales", period, {_VOUCHER})
    listed = sum(paper.total for paper in shown) if asked_at else None
    doubled = [
        Part("both_voucher_and_boleta", 0, payment.doc_key, payment.vat, payment.on, payment.tax_id)
        for payment in world.payments
        if payment.period == period and payment.subtype in CARDS and payment.doc_kind in _RECEIPTS
    ]
    parts, model = [], world.terms.voucher_model
    if collected is not None and listed is not None and model == "voucher" and collected > listed:
        parts.append(Part("vouchers_to_add", collected - listed))
    return Tie(
        period, "vouchers", Side(Witness.COLLECTED, collected, world.collected_as_of),
        Side(Witness.REGISTER, listed, asked_at), (*parts, *(doubled if model != "boleta" else ())),
        None if model == "voucher" or None in (collected, listed) else Verdict.SHOWN,
    )  # fmt: skip


def voucher_days(payments: Sequence[Payment], period: str) -> list[VoucherDay]:
    """Return a row for each day of a month, also for days without a card payment."""
    on = date.fromisoformat(f"{period}-01")
    days: dict[date, VoucherDay] = {}
    while f"{on:%Y-%m}" == period:
        days[on] = VoucherDay(on, 0, 0, 0, 0)
        on += timedelta(days=1)
    for payment in payments:
        if payment.period == period and payment.subtype in CARDS:
            day = days[payment.on]
            exempt, doubled = (
                payment.amount if payment.doc_kind in kinds else 0 for kinds in (EXEMPT_KINDS, _RECEIPTS)
            )
            days[payment.on] = VoucherDay(
                day.on, day.payments + 1, day.total + payment.amount, day.exempt + exempt, day.with_receipt + doubled
            )
    return list(days.values())
