"""Pure: what Mexico's tax office would compute of a month, against the money and against the return."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import NamedTuple, Self

from consumer.facts.money import split_amount
from reconcile.books.vat_rates import EXEMPT, GENERAL, RateSum
from reconcile.fiscal.comparing import Part, Side, Tie, Verdict, explain_declared, share
from reconcile.fiscal.facts import Measure, facts_of
from reconcile.fiscal.witnesses import Complement, Figures, Paper, Payment, Said, State, Witness, World

_NO_FIGURES = Figures({})
# The VAT of a document and that of its part are each rounded.
_ROUNDING = 1
_TAX, _INCOME = "vat_caused", "income"
_ALWAYS = (_TAX, _INCOME)
_COUNTRY = "mx"
# Causes that move no tax of a month: what complements and forms of payment say wrongly.
_OF_PAPERS = frozenset({"rep_late", "rep_chain_broken", "ppd_form_not_99", "payment_form_wrong"})


class _Entry(NamedTuple):
    """What the tax office adds up of an invoice in a month, and the cause where it should not."""

    key: str
    period: str
    amount: int
    part: Part | None = None


class _Sale(NamedTuple):
    """A figure of one invoice: what the tax office computes by month, what was collected, and what counts twice."""

    office: dict[str, int]
    collected: dict[str, int]
    paid: list[int]
    extra: dict[str, list[Part]]


def tie_office(world: World, period: str) -> Iterator[Tie]:
    """Tie each figure that Mexico's tax office would compute with the money, and with the return.

    Figures of one rate are told where there are several rates, or one of them is declared. Income by issue follows no
    money (`income_by`).
    """
    papers = _list_papers(world, "sales")
    declared = (world.declared or {}).get(period, _NO_FIGURES)
    has_rates = any(paper.rates or paper.exempt for paper in papers.values() if paper.kind != "P") or any(
        one.rates for one in world.complements if one.key in papers
    )
    for of in facts_of(_COUNTRY).office.values():
        if of.code not in _ALWAYS and not has_rates and of.code not in declared.amounts:
            continue
        computed = tie_computed(world, papers, period, of)
        is_empty = not computed.a.amount and not computed.b.amount
        if of.code != _TAX and is_empty and of.code not in declared.amounts:
            continue
        if of.code == _INCOME and world.terms.income_by == "issued":
            computed = replace(computed, parts=())
        else:
            yield computed
        yield _tie_with_return(computed, declared, period)


def tie_computed(world: World, papers: Mapping[str, Paper], period: str, of: Measure) -> Tie:
    """Tie a figure as the tax office would compute it with that of the money that was collected.

    An invoice paid at once counts in its month, one paid later by the days of its complements, a note against the
    invoice it refers to. One that was replaced counts as long as the tax office's list has it alive.
    """
    sales: defaultdict[str, _Sale] = defaultdict(lambda: _Sale({}, {}, [], {}))
    for key, month, amount, part in _office_entries(papers, world, of):
        sale = sales[key]
        sale.office[month] = sale.office.get(month, 0) + amount
        if part is not None:
            sale.extra.setdefault(month, []).append(part)
    for payment, amount in _share_payments(world.payments, papers, of):
        months = sales[payment.doc_key].collected
        sales[payment.doc_key].paid.append(payment.amount)
        months[payment.period] = months.get(payment.period, 0) + amount
    parts = list[Part]()
    is_money_known = world.collected_as_of is not None and not _lacks_tax(world, papers, period, of)
    if world.xml.is_known and is_money_known:
        listing = _Listing.of(world)
        parts = [part for key, sale in sorted(sales.items()) for part in _explain(key, sale, papers, listing, period)]
    elif world.xml.is_known:
        # Where no money is known, of no invoice can be said that it is not paid.
        parts = [part for _, sale in sorted(sales.items()) for part in sale.extra.get(period, [])]
    if of.code == _TAX:
        parts += [Part(one.code, 0, one.doc_key, one.tax, one.opened_on) for one in world.causes
                  if one.code in _OF_PAPERS and f"{one.opened_on:%Y-%m}" == period]  # fmt: skip
    elif of.column != "vat":
        parts = [part._replace(tax=0) for part in parts]
    is_priced = _are_priced(world, papers, period)
    shown = tuple(parts) if is_priced else ()
    office = sum(sale.office.get(period, 0) for sale in sales.values()) if world.xml.is_known and is_priced else None
    money = sum(sale.collected.get(period, 0) for sale in sales.values()) if is_money_known else None
    return Tie(
        period, of.code, Side(Witness.TAX_OFFICE, office, world.xml.as_of),
        Side(Witness.COLLECTED, money, world.collected_as_of), shown, _withhold(world, "sales", period),
    )  # fmt: skip


def _tie_with_return(computed: Tie, declared: Figures, period: str) -> Tie:
    """Tie what the tax office would compute with what was declared; what the money explains may explain it too."""
    stated = declared.amounts.get(computed.figure)
    side = Side(Witness.DECLARED, stated, declared.as_of)
    if computed.a.amount is None or stated is None:
        return Tie(period, computed.figure, computed.a, side)
    groups: dict[str, list[Part]] = {}
    for part in computed.parts:
        groups.setdefault(part.cause, []).append(part)
    parts = explain_declared(computed.a.amount - stated, groups, types=1)
    return Tie(period, computed.figure, computed.a, side, tuple(parts), computed.withheld)


def measure(one: Paper | Complement, of: Measure) -> int:
    """Return base or tax of a document or complement, of one rate or of all."""
    base, exempt = (one.base, 0) if isinstance(one, Complement) else (one.net, one.exempt)
    if not of.rate:
        return one.vat if of.column == "vat" else base + exempt
    sums = (*(one.rates or (RateSum(GENERAL, base, one.vat),)), RateSum(EXEMPT, exempt, 0))
    return sum(rate.vat if of.column == "vat" else rate.base for rate in sums if rate.rate == of.rate)


def _share_payments(
    payments: Sequence[Payment], papers: Mapping[str, Paper], of: Measure
) -> Iterator[tuple[Payment, int]]:
    """Yield what each payment collected of a figure: its own VAT, by the rates of its invoice; of a base its share.

    Shares are of all that was paid so far less what they were before, so that all payments give the whole figure.
    """
    so_far: dict[str, int] = {}
    for payment in payments:
        key = payment.doc_key
        paper = papers.get(key)
        is_tax = of.column == "vat"
        amount = payment.vat if is_tax else payment.amount - (0 if paper else payment.vat)
        if paper is not None and (of.rate or not is_tax):
            before = so_far.get(key, 0)
            after = so_far[key] = before + amount
            whole, figure = paper.vat if is_tax else paper.total, measure(paper, of)
            amount = share(figure, after, whole) - share(figure, before, whole)
        elif of.rate not in {"", GENERAL}:
            continue
        if key and amount:
            yield payment, amount


def _lacks_tax(world: World, papers: Mapping[str, Paper], period: str, of: Measure) -> bool:
    """Return True if money of a month is of a sale whose XML is not here, and the books do not tell its tax or rate.

    All of a sale is at the general rate where its VAT is as much: no other rate is higher.
    """
    unread = [one for one in world.payments if one.period == period and one.doc_key and one.doc_key not in papers]
    if not of.rate:
        unsplit = {paper.key for paper in world.books.papers if not paper.is_split}
        return any(one.doc_key in unsplit for one in unread)
    percent = int(GENERAL)
    return any(abs(one.vat - share(percent, one.amount, 100 + percent)) > _ROUNDING for one in unread)


def tie_creditable(world: World, period: str) -> Iterator[Tie]:
    """Tie the VAT of what was bought, as the tax office would let it be deducted, with the declared one.

    A bill paid at once counts in its month, one paid later by the days of its complements, less notes.
    """
    papers, figure = _list_papers(world, "purchases"), "vat_creditable"
    declared = (world.declared or {}).get(period)
    stated = declared.amounts.get(figure) if declared else None
    if not papers and stated is None:
        return
    entries = [one for one in _office_entries(papers, world, Measure(figure, "vat")) if one.period == period]
    is_known = world.xml.is_known and _are_priced(world, papers, period)
    extra = [one.part for one in entries if one.part is not None]
    office = sum(one.amount for one in entries) if is_known else None
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


def _office_entries(papers: Mapping[str, Paper], world: World, of: Measure) -> Iterator[_Entry]:
    """Yield everything that the tax office adds up of a figure."""
    by_issue = of.code == _INCOME and world.terms.income_by == "issued"
    for paper in papers.values():
        if paper.state is not State.VALID:
            continue
        amount = measure(paper, of)
        if paper.kind == "I" and (paper.method != "PPD" or by_issue):
            others = amount * paper.third_party // paper.total if paper.third_party else 0
            yield _Entry(paper.key, paper.period, amount - others)
        elif paper.kind == "E":
            lowered = paper.lowered or ((paper.ref_key or paper.key, 1),)
            shares = split_amount(amount, [weight for _, weight in lowered])
            for (key, _), share in zip(lowered, shares, strict=True):
                yield _Entry(key, paper.period, -share)
    if not by_issue:
        yield from _complement_entries(papers, world.complements, of)


def _complement_entries(
    papers: Mapping[str, Paper], complements: Sequence[Complement], of: Measure
) -> Iterator[_Entry]:  # fmt: skip
    seen: set[tuple[str, int, int]] = set()
    issued = {paper.key: paper.on for paper in papers.values() if paper.on}
    # Of two complements of one payment the one that was issued first stands.
    for one in sorted(complements, key=lambda each: (issued.get(each.key, each.on), each.key)):
        if (host := papers.get(one.key)) is None or host.state is not State.VALID:
            continue
        invoice, amount = papers.get(one.paid_key), measure(one, of)
        mark = (one.paid_key, one.instalment, one.paid)
        cause = _name_needless(invoice) or ("rep_duplicate" if mark in seen else "")
        seen.add(mark)
        part = Part(cause, amount, one.key, amount, one.on, invoice.tax_id if invoice else "") if cause else None
        yield _Entry(one.paid_key, one.period, amount, part)


def _name_needless(invoice: Paper | None) -> str:
    """Name why an invoice should have no complement at all; the tax office counts it until it is cancelled too."""
    if invoice is None:
        return ""
    if invoice.state is not State.VALID:
        return "rep_on_cancelled"
    return "rep_on_pue" if invoice.method == "PUE" else ""


class _Listing(NamedTuple):
    """Which sales the tax office's list holds, the months of sales by the books, and the months it was asked for."""

    keys: AbstractSet[str]
    months: Mapping[str, str]
    register: Said

    @classmethod
    def of(cls, world: World) -> Self:
        months = {paper.key: paper.period for paper in world.books.papers}
        return cls({paper.key for paper in world.register.papers}, months, world.register)

    def lacks(self, key: str, first: str) -> bool:
        """Return True if the list of a sale's month is here without it; else only its XML is missing.

        `first` is its month where the books do not say.
        """
        return key not in self.keys and self.register.asked_at("sales", self.months.get(key, first)) is not None


def _explain(
    key: str, sale: _Sale, papers: Mapping[str, Paper], listing: _Listing, period: str
) -> Iterator[Part]:  # fmt: skip
    extra = sale.extra.get(period, [])
    yield from extra
    left = sale.office.get(period, 0) - sale.collected.get(period, 0) - sum(part.amount for part in extra)
    if not left:
        return
    paper = papers.get(key)
    counted_twice = sum(part.amount for parts in sale.extra.values() for part in parts)
    office, collected = sum(sale.office.values()) - counted_twice, sum(sale.collected.values())
    is_here = set(sale.collected) == set(sale.office) == {period}
    is_paid = is_here and paper is not None and sum(sale.paid) == paper.total
    # Each part was rounded by itself.
    limit = max(1, len(sale.paid))
    cause = _name_cause(
        paper, office, collected, is_same=abs(office - collected) <= limit,
        is_unsent=listing.lacks(key, min((*sale.office, *sale.collected))),
    )  # fmt: skip
    may_be_rounding = {"pue_unpaid", "amount_differs", "rep_missing", "period_shift" if office != collected else ""}
    if cause in may_be_rounding and abs(left) <= limit:
        cause = "rounding"
    elif cause in {"pue_unpaid", "amount_differs"} and is_paid:
        # All of it was paid in its month, so only its VAT is another one.
        cause = "tax_split_differs"
    if cause:
        yield Part(cause, left, key, left, paper.on if paper else None, paper.tax_id if paper else "")


def _name_cause(paper: Paper | None, office: int, collected: int, *, is_same: bool, is_unsent: bool) -> str:
    """Name why the tax office and the money differ about an invoice; a global one sums up many sales.

    That a sale never reached the tax office only its list can say: without the list the XML is missing here.
    """
    if paper is None:
        return "not_in_register" if is_unsent else "xml_missing"
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
    if is_same:
        return "period_shift"
    return "rep_missing" if office < collected else "amount_differs"
