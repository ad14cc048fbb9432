"""Pure: collected money against the books, the vouchers of a month, and what Mexico's tax office would compute."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, timedelta
from typing import NamedTuple

from reconcile.fiscal.comparing import Part, Side, Tie, Verdict, explain_declared
from reconcile.fiscal.witnesses import Complement, Paper, Payment, State, Witness, World

TRANSFER = "bank_transfer"
CARDS = frozenset({"credit_card", "debit_card", "prepaid_card", "card"})
_VOUCHER, _RECEIPTS, _EXEMPT = "48", frozenset({"39", "41"}), frozenset({"34", "41"})
_CLAIMS = frozenset({"30", "32", "33", "34", "39", "41", "43", "55", "56", "110", "111", "I"})
# Causes that move no tax of a month: what complements and forms of payment say wrongly.
_OF_PAPERS = frozenset({"rep_late", "rep_chain_broken", "ppd_form_not_99", "payment_form_wrong"})


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
        Side(Witness.BOOKS, billed, world.books.as_of), tuple(parts) if is_priced else (),
    )  # fmt: skip


def _of_payment(payment: Payment, known: AbstractSet[str]) -> Part:
    if payment.doc_key:
        cause = "period_shift" if payment.doc_key in known else "not_in_books"
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
            exempt, doubled = (payment.amount if payment.doc_kind in kinds else 0 for kinds in (_EXEMPT, _RECEIPTS))
            days[payment.on] = VoucherDay(
                day.on, day.payments + 1, day.total + payment.amount, day.exempt + exempt, day.with_receipt + doubled
            )
    return list(days.values())


class _Sale(NamedTuple):
    """The VAT of one invoice: what the tax office computes by month, what was collected, and what counts twice."""

    office: dict[str, int]
    collected: dict[str, int]
    paid: list[int]
    extra: dict[str, list[Part]]


def tie_computed(world: World, period: str) -> Tie:
    """Tie the VAT that Mexico's tax office would compute with the VAT of the money that was collected.

    An invoice paid at once counts in its month, one paid later by the days of its complements, a note against the
    invoice it refers to. One that was replaced counts as long as the tax office's list has it alive.
    """
    papers = _list_papers(world, "sales")
    sales: defaultdict[str, _Sale] = defaultdict(lambda: _Sale({}, {}, [], {}))
    for key, month, amount, part in _office_entries(papers, world.complements):
        sale = sales[key]
        sale.office[month] = sale.office.get(month, 0) + amount
        if part is not None:
            sale.extra.setdefault(month, []).append(part)
    for payment in world.payments:
        if payment.doc_key and payment.vat:
            months = sales[payment.doc_key].collected
            sales[payment.doc_key].paid.append(payment.amount)
            months[payment.period] = months.get(payment.period, 0) + payment.vat
    known = {paper.key for paper in world.register.papers}
    # Without any XML the office's side is not known, and no sale has failed to reach it.
    asked = sorted(sales.items()) if world.xml.is_known else ()
    parts = [part for key, sale in asked for part in _explain(key, sale, papers, known, period)]
    parts += [Part(one.code, 0, one.doc_key, one.tax, one.opened_on) for one in world.causes
              if one.code in _OF_PAPERS and f"{one.opened_on:%Y-%m}" == period]  # fmt: skip
    is_priced = _are_priced(world, papers, period)
    shown = tuple(parts) if is_priced else ()
    office = sum(sale.office.get(period, 0) for sale in sales.values()) if world.xml.is_known and is_priced else None
    money = sum(sale.collected.get(period, 0) for sale in sales.values()) if world.collected_as_of else None
    return Tie(
        period, "vat_caused", Side(Witness.TAX_OFFICE, office, world.xml.as_of),
        Side(Witness.COLLECTED, money, world.collected_as_of), shown, _withhold(world, "sales", period),
    )  # fmt: skip


def tie_creditable(world: World, period: str) -> Iterator[Tie]:
    """Tie the VAT of what was bought, as the tax office would let it be deducted, with the declared one.

    A bill paid at once counts in its month, one paid later by the days of its complements, less notes.
    """
    papers, figure = _list_papers(world, "purchases"), "vat_creditable"
    declared = (world.declared or {}).get(period)
    stated = declared.amounts.get(figure) if declared else None
    if not papers and stated is None:
        return
    entries = list(_office_entries(papers, world.complements))
    is_known = world.xml.is_known and _are_priced(world, papers, period)
    extra = [part for _, month, _, part in entries if part is not None and month == period]
    office = sum(amount for _, month, amount, _ in entries if month == period) if is_known else None
    groups = {cause: [part for part in extra if part.cause == cause] for cause in {part.cause for part in extra}}
    parts = [] if office is None or stated is None else explain_declared(office - stated, groups, types=1)
    # Whether all bills are here only the list of the tax office says.
    is_asked = world.register.asked_at("purchases", period) is not None
    withheld = _withhold(world, "purchases", period) if is_asked else Verdict.NOT_ASKED
    yield Tie(
        period, figure, Side(Witness.TAX_OFFICE, office, world.xml.as_of),
        Side(Witness.DECLARED, stated, declared.as_of if declared else None), tuple(parts),
        withheld if office is not None and stated is not None else None,
    )  # fmt: skip


def _list_papers(world: World, side: str) -> dict[str, Paper]:
    """Return the tax documents of one side as the tax office has them: alive until its list says otherwise."""
    listed = {paper.key: paper.state for paper in world.register.papers}
    return {
        paper.key: paper._replace(state=listed.get(paper.key, paper.state))
        if paper.state is State.VALID or paper.is_replaced
        else paper
        for paper in world.xml.papers
        if paper.side == side
    }


def _are_priced(world: World, papers: Mapping[str, Paper], period: str) -> bool:
    """Return True if every document and complement of a month is in the country's money."""
    unpriced = {one.period for one in papers.values() if not one.is_priced}
    return period not in unpriced | {one.period for one in world.complements if one.key in papers and not one.is_priced}


def _withhold(world: World, side: str, period: str) -> Verdict | None:
    """Return no verdict where the list of the tax office names documents whose XML is not here."""
    here = {paper.key for paper in world.xml.papers}
    listed = (paper for paper in world.register.papers if paper.side == side and paper.period == period)
    is_short = any(paper.state is State.VALID and paper.key not in here for paper in listed)
    return Verdict.NOT_ASKED if is_short and world.xml.is_known else None


def _office_entries(
    papers: Mapping[str, Paper], complements: Sequence[Complement]
) -> Iterator[tuple[str, str, int, Part | None]]:
    """Yield the invoice, month and VAT of everything that the tax office adds up, and the cause where it should not."""
    for paper in papers.values():
        if paper.state is not State.VALID:
            continue
        if paper.kind == "I" and paper.method != "PPD":
            others = paper.vat * paper.third_party // paper.total if paper.third_party else 0
            yield paper.key, paper.period, paper.vat - others, None
        elif paper.kind == "E":
            for key, vat in paper.lowered or ((paper.ref_key or paper.key, paper.vat),):
                yield key, paper.period, -vat, None
    seen: set[tuple[str, int, int]] = set()
    issued = {paper.key: paper.on for paper in papers.values() if paper.on}
    # Of two complements of one payment the one that was issued first stands.
    for one in sorted(complements, key=lambda each: (issued.get(each.key, each.on), each.key)):
        if (host := papers.get(one.key)) is None or host.state is not State.VALID:
            continue
        invoice = papers.get(one.paid_key)
        mark = (one.paid_key, one.instalment, one.paid)
        cause = "rep_on_pue" if invoice and invoice.method == "PUE" else "rep_duplicate" if mark in seen else ""
        seen.add(mark)
        part = Part(cause, one.vat, one.key, one.vat, one.on, invoice.tax_id if invoice else "") if cause else None
        yield one.paid_key, one.period, one.vat, part


def _explain(
    key: str, sale: _Sale, papers: Mapping[str, Paper], known: set[str], period: str
) -> Iterator[Part]:  # fmt: skip
    extra = sale.extra.get(period, [])
    yield from extra
    left = sale.office.get(period, 0) - sale.collected.get(period, 0) - sum(part.amount for part in extra)
    if not left:
        return
    paper = papers.get(key)
    counted_twice = sum(part.amount for parts in sale.extra.values() for part in parts)
    office = sum(sale.office.values()) - counted_twice
    is_here = set(sale.collected) == set(sale.office) == {period}
    is_paid = is_here and paper is not None and sum(sale.paid) == paper.total
    cause = _name_cause(paper, key in known, office, sum(sale.collected.values()))
    if cause in {"pue_unpaid", "amount_differs", "rep_missing"} and abs(left) <= max(1, len(sale.paid)):
        cause = "rounding"
    elif cause in {"pue_unpaid", "amount_differs"} and is_paid:
        # All of it was paid in its month, so only its VAT is another one.
        cause = "tax_split_differs"
    if cause:
        yield Part(cause, left, key, left, paper.on if paper else None, paper.tax_id if paper else "")


def _name_cause(paper: Paper | None, is_listed: bool, office: int, collected: int) -> str:  # noqa: FBT001 - a row
    """Name why the tax office and the money differ about an invoice; a global one sums up many sales."""
    if paper is None:
        return "xml_missing" if is_listed else "not_in_register"
    if paper.is_global:
        return "global_invoice"
    if paper.third_party:
        return "third_party_income"
    if paper.is_replaced:
        return "replaced"
    if paper.state is not State.VALID:
        return "cancelled_alive" if collected else ""
    if paper.method != "PPD":
        return "pue_unpaid" if collected <= office else "amount_differs"
    if office == collected:
        return "period_shift"
    return "rep_missing" if office < collected else "amount_differs"
