"""A merchant with its tax papers: what it sells goes into the books, the XML archive and the tax office's register."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal

from sandbox.scenarios.bank import PROVIDER, PROVIDER_TAX_IDS
from sandbox.scenarios.books import DECIMALS, to_row
from sandbox.scenarios.calendar import ZONES, add_bank_days, at_local, local_date, next_month, previous_month
from sandbox.scenarios.chance import VAT_BPS
from sandbox.scenarios.entities import found_entity
from sandbox.scenarios.fees import TARIFFS, divide_half_up
from sandbox.scenarios.ledger import Ledger, LocalDocument, Payment, Verdict
from sandbox.scenarios.payments import Till
from sandbox.scenarios.payouts import Mishaps, pay_out
from sandbox.scenarios.people import CURRENCIES, MERCHANTS
from sandbox.scenarios.plan import chance_of, compose, span_of, tell
from sandbox.scenarios.planted_keys import orphan
from sandbox.scenarios.shop import Shop, match_document
from sandbox.state.happening import Document, Truth, WholeScenario
from sandbox.state.papers import (
    CORRECTS,
    CREDITS,
    NOTES,
    PUBLIC,
    REPLACES,
    Cause,
    Entry,
    Paper,
    Party,
    Relation,
    TaxView,
    Vouchers,
)

PAST = timedelta(days=92)
COMING = timedelta(days=21)
CARDS = {"credit_card", "debit_card"}


@dataclass(slots=True)
class TaxShop:
    """Sells into the books and the papers; troubles are planted in `month`, two months before the clock's start."""

    shop: Shop
    month: date
    papers: list[Paper] = field(default_factory=list)
    register: list[Entry] = field(default_factory=list)
    causes: list[Cause] = field(default_factory=list)
    unreported: set[str] = field(default_factory=set)

    @property
    def country(self) -> str:
        """Return where it is."""
        return self.shop.ledger.country

    def day(self, number: int, *, after: int = 0) -> date:
        """Return the bank day on or after a day of the month, or of a later or earlier month."""
        month = self.month
        for _ in range(abs(after)):
            month = next_month(month) if after > 0 else previous_month(month)
        return add_bank_days(month.replace(day=number), 0, self.country)

    def draft(self, on: date, **changes: object) -> LocalDocument:
        """Return an invoice to a new customer, in nothing yet."""
        return replace(self.shop.invoice(self.shop.chance.company(), on), **changes)  # type: ignore[arg-type] # fields

    def paper(self, document: LocalDocument) -> Paper:
        """Return the tax document of a row of the books."""
        return to_paper(to_row(document), self.country)

    def bill(self, on: date, **changes: object) -> LocalDocument:
        """Return an invoice that books, archive and register all hold."""
        document = self.shop.keep_document(self.draft(on, **changes))
        self.file(self.paper(document))
        return document

    def file(self, paper: Paper, *, period: str = "", received_at: datetime | None = None, **entry: object) -> Paper:
        """Put a document into the archive and the register."""
        self.papers.append(paper)
        self.enter(paper, period=period, received_at=received_at, **entry)
        return paper

    def enter(self, paper: Paper, *, period: str = "", received_at: datetime | None = None, **entry: object) -> None:
        """Put a document into the register alone."""
        at = received_at or paper.issued_at + timedelta(minutes=45)
        self.register.append(Entry(paper, period or paper.month, received_at=at, **entry))  # type: ignore[arg-type] # fields

    def pay(self, document: LocalDocument, on: date, amount: int | None = None, **changes: object) -> Payment:
        """Return a payment of an invoice that names it; part of it by instalments."""
        assert document.buyer is not None
        sum_ = document.total if amount is None else amount
        paid = sum(one[1] for p in self.shop.ledger.payments for one in p.verdict.applied if one[0] == document.key)
        outcome = "matched" if paid + sum_ == document.total else "partial"
        drafted = self.shop.transfer(sum_, on, document.buyer, Verdict(outcome, ((document.key, sum_),)))
        key = {"uuid": document.uuid} if document.uuid else {"doc_type": document.doc_type, "folio": document.folio}
        known = replace(drafted, metadata=key, reference_id=f"MX{self.shop.chance.digits(14)}", customer=document.buyer)
        return self.shop.keep_payment(replace(known, **changes))  # type: ignore[arg-type] # fields

    def charge(self, on: date, amount: int, subtype: str) -> Payment:
        """Return a payment without a document in the books."""
        at = self.shop.chance.moment(on, since=time(10), until=time(13))
        return self.shop.keep_payment(self.shop.payment(amount, at, orphan(amount), subtype=subtype))

    def pay_by_card(self, document: LocalDocument, on: date) -> Payment:
        """Return a card payment that names its document."""
        at = self.shop.chance.moment(on, since=time(10), until=time(13))
        paid = self.shop.payment(document.total, at, match_document(document), subtype="credit_card")
        return self.shop.keep_payment(replace(paid, metadata=self.shop.name(document)))

    def pay_under_another(self, document: LocalDocument, on: date) -> None:
        """File a document without its buyer's name, paid by a company: it needed another one."""
        self.file(self.paper(self.shop.keep_document(document)))
        paid = replace(match_document(document), code="EXPECTED_DOC_MISSING", at_risk=document.total)
        self.pay(replace(document, buyer=self.shop.chance.company()), on, verdict=paid)

    def blame(self, code: str, subject: Paper | Payment, *, amount: int | None = None, tax: int | None = None) -> None:
        """Note a planted cause, of the whole amount and tax of its subject unless said otherwise."""
        bps = VAT_BPS[self.country]
        if isinstance(subject, Paper):
            name, whole, vat, month = subject.key, subject.total, subject.vat, subject.month
        else:
            whole, name = subject.amount, subject.id
            vat = whole - divide_half_up(whole * 10_000, 10_000 + bps)
            month = f"{local_date(subject.succeeded_at, self.country):%Y-%m}"
        self.causes.append(Cause(code, month, name, whole if amount is None else amount, vat if tax is None else tax))


def build_tax(name: str, country: str, plant: Callable[[TaxShop], None], *, seed: int, scale: float,
              start: datetime) -> WholeScenario:  # fmt: skip
    """Return three months of quiet trade with every cause of a tax difference planted once."""
    chance = chance_of(name, country, seed=seed, scale=scale)
    span = span_of(start, country, past=PAST, future=COMING)
    ledger = Ledger(country, CURRENCIES[country], span.since, span.until)
    first = (span.start + timedelta(days=1)).replace(day=1)
    own = TaxShop(Shop(chance, ledger), previous_month(previous_month(first)))
    for after in (-1, 0, 1):
        for number in range(2, 2 + max(1, round(6 * scale))):
            document = own.bill(own.day(number, after=after))
            own.pay(document, own.day(number + 4, after=after))
    plant(own)
    tariff = TARIFFS[country]
    pay_out(ledger, chance, tariff, Mishaps())
    bill_fees(own)
    till = Till(chance, MERCHANTS[country])
    happenings = tell(ledger, till, MERCHANTS[country])
    happenings += found_entity(chance.id("ent"), MERCHANTS[country], chance.moment(span.since - timedelta(days=9)))
    composed = compose(name, ledger, happenings, tariff)
    view = TaxView(tuple(sorted(own.papers, key=lambda paper: paper.issued_at)), tuple(own.register),
                   count_vouchers(own), tuple(own.causes), frozenset(own.unreported))  # fmt: skip

    def truth(at: datetime) -> list[Truth]:
        return composed.truth(at) + [tell_cause(cause, ledger.currency) for cause in view.causes]

    return replace(composed, tax=view, truth=truth)


def tell_cause(cause: Cause, currency: str) -> Truth:
    """Return a planted cause as a line of the truth: what it is of, its period, and the tax it moves."""
    links = (cause.period, str(cause.tax))
    return Truth("tax_cause", cause.subject, links, cause.code, (), cause.amount, currency, decidable=True)


def _sum_fees(own: TaxShop, on: date) -> tuple[int, int]:
    """Return fees without VAT, and their VAT, of the payouts made in a month."""
    lines = [line for payout in own.shop.ledger.payouts for line in payout.lines
             if local_date(payout.created_at, own.country).replace(day=1) == on.replace(day=1)]  # fmt: skip
    return sum(line.fee - line.fee_vat for line in lines), sum(line.fee_vat for line in lines)


def bill_fees(own: TaxShop) -> None:
    """Bill the provider's fees: of the first month never, of the second a month late, of the third too high."""
    country, ledger = own.country, own.shop.ledger
    merchant = MERCHANTS[country]
    issuer = Party(PROVIDER_TAX_IDS[country], PROVIDER.name)
    kept = {after: _sum_fees(own, own.day(1, after=after)) for after in (-1, 0, 1)}
    # A bill that is by chance that of another month would be no wrong one.
    extra = next(
        more
        for more in range(1_500, 9_000, 500)
        if all(abs(sum(kept[1]) + more * 116 // 100 - sum(other)) > more // 10 for other in kept.values())
    )
    for after, code in ((-1, "fee_not_invoiced"), (0, "fee_invoice_other_period"), (1, "fee_invoice_differs")):
        month = own.day(1, after=after).replace(day=1)
        net, vat = kept[after]
        period, subject = f"{month:%Y-%m}", issuer.tax_id
        amount, tax = net + vat, vat
        if after >= 0:
            billed = net + (extra if after else 0)
            billed_vat = divide_half_up(billed * VAT_BPS[country], 10_000)
            at = at_local(next_month(month) - timedelta(days=1 if after else -4), time(12), country)
            uuid = own.shop.chance.uuid() if country == "mx" else ""
            bill = Paper(
                country, "I" if uuid else "33", issuer, Party(merchant.tax_id, merchant.name),
                own.shop.chance.digits(6), at.astimezone(ZONES[country]), ledger.currency, billed, 0, billed_vat,
                billed + billed_vat, uuid=uuid, method="PUE" if uuid else "", form="17" if uuid else "",
                is_received=True,
            )  # fmt: skip
            own.file(bill, side="purchases")
            subject, amount = bill.key, bill.total
            if after:
                amount, tax = bill.total - net - vat, billed_vat - vat
        own.causes.append(Cause(code, period, subject, amount, tax))


def count_vouchers(own: TaxShop) -> tuple[Vouchers, ...]:
    """Return the vouchers of Chilean card payments by local day, as their operator sends them."""
    if own.country != "cl":
        return ()
    days: dict[date, list[int]] = {}
    for paid in own.shop.ledger.payments:
        if paid.subtype in CARDS:
            days.setdefault(local_date(paid.succeeded_at, "cl"), []).append(paid.amount)
    return tuple(Vouchers(on, len(amounts), sum(amounts)) for on, amounts in sorted(days.items()))


def to_paper(document: Document, country: str) -> Paper:
    """Return the tax document of a row of the books."""
    row = document.row
    own = MERCHANTS[country]
    minor = {name: to_minor(row[name], row["currency"]) for name in ("net", "exempt", "vat", "total")}
    issued_on = date.fromisoformat(row["issue_date"])
    buyer = row["customer_tax_id"] or PUBLIC[country]
    name = row["customer_name"] or ("PUBLICO EN GENERAL" if country == "mx" else "Cliente sin nombre")
    issued_at = datetime.combine(issued_on, to_local(document.known_at, country).time(), ZONES[country])
    return Paper(
        country, row["doc_type"], Party(own.tax_id, own.name), Party(buyer, name), row["folio"], issued_at,
        row["currency"], minor["net"], minor["exempt"], minor["vat"], minor["total"],
        series=row["series"], uuid=row["uuid"], method=row["payment_method"], form=row["payment_form"],
        due_on=date.fromisoformat(row["due_date"]) if row["due_date"] else None,
        order_ref=row["order_ref"], relations=_relate(row, country, issued_on),
        cancelled_at=document.known_at if row["status"] == "void" and country == "mx" else None,
    )  # fmt: skip


def _relate(row: dict[str, str], country: str, on: date) -> tuple[Relation, ...]:
    if not row["ref_number"]:
        return ()
    is_note = row["doc_type"] in NOTES[country]
    if country == "mx":
        return (Relation(CREDITS if is_note else REPLACES, row["ref_type"], row["ref_number"], on),)
    reason = "Devolucion" if is_note else "Reemplaza documento"
    return (Relation(CORRECTS if is_note else "", row["ref_type"], row["ref_number"], on, reason),)


def to_minor(text: str, currency: str) -> int:
    """Return decimal text of the major unit in minor units."""
    return int(Decimal(text).scaleb(DECIMALS[currency]))


def to_local(at: datetime, country: str) -> datetime:
    """Return a moment on the clock of the country."""
    return at.astimezone(ZONES[country])
