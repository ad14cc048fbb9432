"""Pure: the provider's own tax documents against the fees that it kept from payouts, month by month."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from math import isqrt
from typing import NamedTuple

from reconcile.fiscal.comparing import Part, Side, Tie
from reconcile.fiscal.facts import facts_of
from reconcile.fiscal.witnesses import Fee, Paper, Said, State, Witness, World
from reconcile.rules.kinds import CREDIT_NOTES

_MONTHS, _LEAST_ROUNDING = 12, 5


class Bill(NamedTuple):
    """A document over fees; a note is below zero. `is_registered` says that its period's return may deduct its VAT."""

    paper: Paper
    is_registered: bool
    has_vat: bool

    @property
    def period(self) -> str:
        return self.paper.period

    def worth(self, column: str) -> int:
        amount = self.paper.vat if column == "vat" else self.paper.total
        return -amount if self.paper.kind in CREDIT_NOTES else amount


class FeeDocument(NamedTuple):
    """A document over the fees of a month, as the journal posts it; a credit note has negative amounts."""

    key: str
    on: date
    period: str
    currency: str
    total: int
    vat: int
    tax_id: str
    doc_type: str
    folio: str = ""
    uuid: str = ""


def add_months(period: str, count: int) -> str:
    year, month = map(int, period.split("-"))
    year, index = divmod(year * _MONTHS + month - 1 + count, _MONTHS)
    return f"{year}-{index + 1:02}"


def list_bills(world: World) -> list[Bill]:
    """Return the provider's valid documents: amounts as their XML states them, the period as the register does."""
    listed, linked, plain = (_of_provider(said, world) for said in (world.register, world.link, world.xml))
    bills = []
    for key in sorted(listed.keys() | linked.keys() | plain.keys()):
        row, shown, xml = listed.get(key), linked.get(key), plain.get(key)
        entered = row or shown
        if any(one and one.state not in {State.VALID, State.WAITING} for one in (entered, xml)):
            continue
        paper = xml or entered
        assert paper is not None
        if not paper.is_priced:
            continue
        period = entered.period if entered else paper.period
        source_id = next((one.source_id for one in (row, shown) if one and one.source_id), "")
        is_asked = world.register.asked_at("purchases", period) is not None
        is_registered = row is not None and row.state is State.VALID if is_asked else True
        has_vat = xml is not None or world.terms.country == "cl"
        bills.append(Bill(paper._replace(period=period, source_id=source_id), is_registered, has_vat))
    return sorted(bills, key=lambda bill: (bill.paper.on or date.min, bill.paper.key))


def _of_provider(said: Said, world: World) -> dict[str, Paper]:
    issuer = world.terms.provider_tax_id
    return {
        paper.key: paper
        for paper in sorted(said.papers, key=lambda one: one.state is State.VALID)
        if issuer and paper.side == "purchases" and paper.tax_id == issuer and not paper.is_sum and paper.total
    }


def match_bills(fees: Mapping[str, Fee], bills: Sequence[Bill], latest: int) -> dict[str, list[Bill]]:
    """Return by month the documents over its fees: those of its amount first, in its month or the `latest` after.

    The rest belongs to its own month, or where that has its documents to the closest month before that has none. A note
    goes with the document it refers to.
    """
    known = {bill.paper.key for bill in bills}
    notes = [bill for bill in bills if bill.paper.ref_key in known]
    left = [bill for bill in bills if bill not in notes]
    found: dict[str, list[Bill]] = {month: [] for month in sorted(fees)}
    for lag in range(latest + 1):
        for month in [month for month, has in found.items() if not has]:
            here = [bill for bill in left if bill.period == add_months(month, lag)]
            for group in ([*here], *([bill] for bill in here)):
                rest = fees[month].total - sum(bill.worth("total") for bill in group)
                if group and abs(rest) <= rounding_limit(fees[month]):
                    found[month] = group
                    left = [bill for bill in left if bill not in group]
                    break
    for bill in left:
        months = [add_months(bill.period, -lag) for lag in range(latest + 1)]
        free = [month for month in months if month in found and not found[month]]
        found.setdefault(free[0] if free else bill.period, []).append(bill)
    for note in notes:
        theirs = (month for month, has in found.items() if note.paper.ref_key in {one.paper.key for one in has})
        found.setdefault(next(theirs, note.period), []).append(note)
    return found


def _latest(world: World) -> int:
    return facts_of(world.terms.country).law.fee_months


def list_documents(world: World, currency: str) -> Iterator[FeeDocument]:
    """Yield each document with the month whose fees it bills; without its VAT it cannot be posted yet."""
    for month, bills in match_bills(world.fees, list_bills(world), _latest(world)).items():
        for bill in bills:
            key = bill.paper.key
            number = key.rpartition(":")[2]
            if bill.has_vat and bill.paper.on:
                yield FeeDocument(
                    bill.paper.source_id or key, bill.paper.on, month, currency, bill.worth("total"),
                    bill.worth("vat"), bill.paper.tax_id, bill.paper.kind,
                    **{"uuid" if key.startswith("mx:uuid:") else "folio": number},
                )  # fmt: skip


def rounding_limit(fee: Fee | None) -> int:
    """Return what rounding item by item may leave: three times its standard deviation √(n/12), and five at least."""
    return max(_LEAST_ROUNDING, isqrt(3 * fee.items // 4)) if fee else 0


def lacks_issuer(world: World, period: str) -> bool:
    """Return True if fees of a month are not tied because it is not known whose documents they must be."""
    return not world.terms.provider_tax_id and period in world.fees


def tie_fees(world: World, period: str) -> Iterator[Tie]:
    """Tie the fees of a month and their VAT with the provider's documents that the register has of it."""
    bills, issuer = list_bills(world), world.terms.provider_tax_id
    if not issuer or (period not in world.fees and not any(b.period == period for b in bills)):
        return
    found, fee = match_bills(world.fees, bills, _latest(world)), world.fees.get(period)
    asked_at = world.register.asked_at("purchases", period)
    witness = Witness.REGISTER if asked_at else Witness.XML
    asked_at = asked_at or world.xml.as_of
    here = [bill for bill in bills if bill.is_registered and bill.period == period]
    is_before = not world.fees or period < min(world.fees)
    for figure, column, amount in (
        ("fees", "total", fee.total if fee else 0),
        ("fee_vat", "vat", fee.vat if fee else 0),
    ):
        is_known = asked_at is not None and (column == "total" or all(bill.has_vat for bill in here))
        kept = None if is_before else amount
        parts = tuple(_explain(found, fee, period, column, issuer)) if is_known and kept is not None else ()
        yield Tie(
            period, figure, Side(Witness.FEES, kept, world.collected_as_of),
            Side(witness, sum(bill.worth(column) for bill in here) if is_known else None, asked_at), parts,
        )  # fmt: skip


def _explain(
    found: Mapping[str, Sequence[Bill]], fee: Fee | None, period: str, column: str, issuer: str
) -> Iterator[Part]:
    mine = found.get(period, ())
    amount = 0 if fee is None else fee.total if column == "total" else fee.vat or 0
    if amount and not mine:
        last = date.fromisoformat(f"{add_months(period, 1)}-01") - timedelta(days=1)
        yield Part("fee_not_invoiced", amount, "", fee.vat or 0 if fee else 0, last, issuer)
        amount = 0
    for bill in mine:
        amount -= bill.worth(column)
        if not bill.is_registered:
            yield _part("fee_invoice_not_registered", bill.worth(column), bill)
        elif bill.period != period:
            yield _part("fee_invoice_other_period", bill.worth(column), bill)
    if amount and mine:
        vat = (fee.vat or 0 if fee else 0) - sum(bill.worth("vat") for bill in mine)
        cause = "rounding" if abs(amount) <= rounding_limit(fee) else "fee_invoice_differs"
        yield _part(cause, amount, mine[0])._replace(tax=vat)
    for month, bills in found.items():
        for bill in bills:
            if month != period and bill.is_registered and bill.period == period:
                yield _part("fee_invoice_other_period", -bill.worth(column), bill)


def _part(cause: str, amount: int, bill: Bill) -> Part:
    return Part(cause, amount, bill.paper.key, bill.worth("vat"), bill.paper.on, bill.paper.tax_id)
