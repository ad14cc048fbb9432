"""Pure: the payment complements a Mexican merchant has to issue, those it issued, and what is wrong with either."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import NamedTuple, Protocol, TypeVar

from reconcile.fiscal.facts import facts_of
from reconcile.rules.names import normalize

DEFERRED, AT_ONCE = "PPD", "PUE"
TO_DEFINE = "99"
_MEXICO = facts_of("mx")
FORMS, VAGUE = _MEXICO.law.forms, frozenset(_MEXICO.law.vague)
_DUE_DAY = next(duty.day for duty in _MEXICO.duties if duty.code == "complements")


class State(StrEnum):
    """How the complement of a payment stands; `UNKNOWN` is overdue, and the tax office's list does not prove it."""

    TO_ISSUE = "to_issue"
    MISSING = "missing"
    UNKNOWN = "unknown"
    ISSUED = "issued"
    LATE = "late"
    DIFFERS = "differs"
    DOUBLED = "doubled"


class Invoice(NamedTuple):
    """A valid invoice of income."""

    key: str
    uuid: str
    series: str
    folio: str
    tax_id: str
    currency: str
    total: int
    vat: int
    method: str
    form: str
    on: date


class Collected(NamedTuple):
    """What one payment paid of one invoice; `at` is on the merchant's clock, `amount` the whole payment."""

    payment_id: str
    doc_key: str
    at: datetime
    form: str
    tracking_key: str
    reference: str
    amount: int
    paid: int

    @property
    def operation(self) -> str:
        """Return the number that a complement states: the tracking key, where its transfer is known."""
        return self.tracking_key or self.reference

    def bears(self, operation: str) -> bool:
        """Return whether this is the operation's number, however it is written."""
        name = normalize(operation)
        return bool(name) and name in {normalize(self.tracking_key), normalize(self.reference)}


class Listing(NamedTuple):
    """The tax office's list: when each month of sales was asked for, and whose complements it has without XML here."""

    asked_on: Mapping[str, date]
    unread: AbstractSet[str] = frozenset()

    def proves_absence(self, customer: str, paid_on: date) -> bool:
        """Return True if a complement in time would be known: every month up to its due day was asked for after it."""
        due_on = due_day(paid_on)
        whole, last = (self.asked_on.get(f"{on:%Y-%m}", date.min) for on in (paid_on, due_on))
        return whole >= due_on.replace(day=1) and last > due_on and customer not in self.unread


class Break(StrEnum):
    """What of an instalment does not follow from the one before it."""

    CURRENCY = "currency"
    INSTALMENT = "instalment"
    BEFORE = "balance_before"
    AFTER = "balance_after"


class Instalment(Protocol):
    """What a complement says of one payment of one document, however it is kept."""

    @property
    def doc_key(self) -> str: ...
    @property
    def paid_at(self) -> datetime: ...
    @property
    def instalment(self) -> int: ...
    @property
    def paid_currency(self) -> str: ...
    @property
    def balance_before(self) -> int: ...
    @property
    def paid(self) -> int: ...
    @property
    def balance_after(self) -> int: ...


InstalmentT = TypeVar("InstalmentT", bound=Instalment)


class Lowering(Protocol):
    """A note, or its part, that takes from what is owed."""

    @property
    def on(self) -> date: ...
    @property
    def amount(self) -> int: ...


class Issued(NamedTuple):
    """What one valid complement says one of its payments paid of one invoice."""

    doc_key: str
    uuid: str
    on: date
    paid_key: str
    paid_at: datetime
    form: str
    operation: str
    instalment: int
    balance_before: int
    paid: int
    balance_after: int
    vat: int
    paid_currency: str


class Cause(NamedTuple):
    """One cause of a difference of tax: of a complement where there is one, else of the invoice."""

    code: str
    doc_key: str
    amount: int
    tax: int
    opened_on: date


@dataclass(frozen=True, slots=True)
class Complement:
    """One payment of one invoice as its complement must say it; `issued` are those found for it, the first to stand."""

    invoice: Invoice
    payment: Collected
    instalment: int
    before: int
    due_on: date
    state: State
    issued: tuple[Issued, ...] = ()
    differing: tuple[str, ...] = ()

    @property
    def after(self) -> int:
        return self.before - self.payment.paid

    @property
    def difference(self) -> int | None:
        """Return what the complements issued say was paid, less what was."""
        return sum(one.paid for one in self.issued) - self.payment.paid if self.issued else None


@dataclass(frozen=True, slots=True)
class Sale:
    """An invoice with its payments and complements, each paired with a payment or not."""

    invoice: Invoice
    payments: Sequence[Collected]
    issued: Sequence[Issued]
    pairs: Mapping[str, Sequence[Issued]]  # by payment id
    notes: Sequence[Lowering] = ()

    @property
    def extra(self) -> set[str]:
        """Return the keys of complements that say again what an earlier one says."""
        return {one.doc_key for found in self.pairs.values() for one in found[1:]}

    @property
    def chain(self) -> list[tuple[Issued, Break | None]]:
        """Return the complements in the order of their instalments, without doubled ones."""
        single = [one for one in self.issued if one.doc_key not in self.extra]
        return list(check_chain(single, self.invoice.total, self.invoice.currency, self.notes))


def due_day(on: date) -> date:
    """Return the day by which a payment of that day must have its complement: the fifth of the next month."""
    return date(on.year + on.month // 12, on.month % 12 + 1, _DUE_DAY)


def join_sales(
    invoices: Sequence[Invoice], payments: Sequence[Collected], issued: Sequence[Issued],
    notes: Mapping[str, Sequence[Lowering]] | None = None,
) -> list[Sale]:  # fmt: skip
    """Join invoices with their payments and complements, and each complement with the payment it is about."""
    paid, said = defaultdict(list), defaultdict(list)
    for payment in sorted(payments, key=lambda each: (each.at, each.payment_id)):
        paid[payment.doc_key].append(payment)
    for one in sorted(issued, key=lambda each: (each.on, each.doc_key)):
        said[one.paid_key].append(one)
    return [
        Sale(
            invoice,
            paid[invoice.key],
            said[invoice.key],
            _pair(paid[invoice.key], said[invoice.key]),
            (notes or {}).get(invoice.key, ()),
        )
        for invoice in sorted(invoices)
    ]


def _pair(payments: Sequence[Collected], issued: Sequence[Issued]) -> dict[str, list[Issued]]:
    """Pair by operation, then by day and sum, by sum, by day; a second one alike is doubled."""
    pairs: dict[str, list[Issued]] = {payment.payment_id: [] for payment in payments}
    left = list(issued)
    for is_same in (_has_operation, _has_day_and_sum, _has_sum, _has_day):
        for payment in payments:
            found = (
                next((one for one in left if is_same(payment, one)), None) if not pairs[payment.payment_id] else None
            )
            if found is not None:
                pairs[payment.payment_id].append(found)
                left.remove(found)
    for one in left:
        again = next((p for p in payments if _has_operation(p, one) or _has_day_and_sum(p, one)), None)
        if again is not None:
            pairs[again.payment_id].append(one)
    return pairs


def _has_operation(payment: Collected, one: Issued) -> bool:
    return payment.bears(one.operation)


def _has_day_and_sum(payment: Collected, one: Issued) -> bool:
    return _has_day(payment, one) and _has_sum(payment, one)


def _has_sum(payment: Collected, one: Issued) -> bool:
    return payment.paid == one.paid


def _has_day(payment: Collected, one: Issued) -> bool:
    return payment.at.date() == one.paid_at.date()


def plan_complements(sales: Sequence[Sale], *, today: date, listing: Listing) -> Iterator[Complement]:
    """Yield a row for each payment of a deferred invoice."""
    for sale in sales:
        if sale.invoice.method != DEFERRED:
            continue
        chain = [one for one, _ in sale.chain]
        stands = {one.doc_key: number for number, one in enumerate(chain, start=1)}
        balance, number = sale.invoice.total - sum(one.paid for one in chain), len(chain)
        for payment in sale.payments:
            found, due_on = tuple(sale.pairs[payment.payment_id]), due_day(payment.at.date())
            if found:
                place = stands[found[0].doc_key]
                before = sale.invoice.total - sum(one.paid for one in chain[: place - 1])
                differing = tuple(_compare(payment, found[0], place, before))
                state = _judge(found, differing, due_on)
                yield Complement(sale.invoice, payment, place, before, due_on, state, found, differing)
                continue
            number += 1
            state = State.TO_ISSUE
            if today > due_on:
                is_proven = listing.proves_absence(sale.invoice.tax_id, payment.at.date())
                state = State.MISSING if is_proven else State.UNKNOWN
            yield Complement(sale.invoice, payment, number, balance, due_on, state)
            balance -= payment.paid


def _judge(found: Sequence[Issued], differing: Sequence[str], due_on: date) -> State:
    if len(found) > 1:
        return State.DOUBLED
    if differing:
        return State.DIFFERS
    return State.LATE if found[0].on > due_on else State.ISSUED


def _compare(payment: Collected, one: Issued, instalment: int, before: int) -> Iterator[str]:
    """Yield the columns in which a complement says something else; an unknown form or operation is not compared."""
    pairs = {
        "paid_at_local": (payment.at.date(), one.paid_at.date()),
        "payment_form": (payment.form or one.form, one.form),
        "operation_number": (True, payment.bears(one.operation)),
        "instalment_number": (instalment, one.instalment),
        "balance_before": (before, one.balance_before),
        "paid": (payment.paid, one.paid),
        "balance_after": (before - payment.paid, one.balance_after),
    }
    if not payment.operation or not one.operation:
        del pairs["operation_number"]
    yield from (name for name, (ours, theirs) in pairs.items() if ours != theirs)


def find_causes(sales: Sequence[Sale], *, today: date, listing: Listing) -> Iterator[Cause]:
    """Yield every cause of complements and of payment forms, in the order of the invoices."""
    planned = defaultdict(list)
    for row in plan_complements(sales, today=today, listing=listing):
        planned[row.invoice.key].append(row)
    for sale in sales:
        if sale.invoice.method == AT_ONCE:
            yield from (Cause("rep_on_pue", one.doc_key, one.paid, one.vat, one.on) for one in sale.issued)
        yield from _find_unpunctual(planned[sale.invoice.key])
        yield from (Cause("rep_duplicate", one.doc_key, one.paid, one.vat, one.on)
                    for one in sale.issued if one.doc_key in sale.extra)  # fmt: skip
        if sale.invoice.method == DEFERRED:
            yield from (Cause("rep_chain_broken", one.doc_key, one.paid, one.vat, one.on)
                        for one, broken in sale.chain if broken)  # fmt: skip
        yield from _find_wrong_forms(sale)


def _find_unpunctual(rows: Sequence[Complement]) -> Iterator[Cause]:
    for row in rows:
        vat = share_of_vat(row.invoice, row.payment.paid)
        if row.state is State.MISSING:
            yield Cause("rep_missing", row.invoice.key, row.payment.paid, vat, row.due_on)
        elif row.issued and row.issued[0].on > row.due_on:
            yield Cause("rep_late", row.issued[0].doc_key, row.issued[0].paid, row.issued[0].vat, row.issued[0].on)


def check_chain(
    said: Iterable[InstalmentT], total: int, currency: str, notes: Sequence[Lowering] = ()
) -> Iterator[tuple[InstalmentT, Break | None]]:
    """Yield instalments in their order, each with what does not follow: the first begins at the total.

    Where a number is left out, its complement may only not be here, so that any lower balance may be right. What notes
    have lowered by then may be off the balance or not: both are done.
    """
    number, rest, netted = 1, total, 0
    for one in sorted(said, key=lambda each: (each.instalment, each.paid_at, each.doc_key)):
        if one.paid_currency != currency:
            yield one, Break.CURRENCY
            continue
        lowered = sum(note.amount for note in notes if note.on <= one.paid_at.date())
        if one.balance_before == rest - lowered + netted:
            rest, netted = one.balance_before, lowered
        yield one, _find_break(one, number, rest)
        number, rest = one.instalment + 1, one.balance_after


def _find_break(one: Instalment, number: int, rest: int) -> Break | None:
    if one.instalment < number or (one.instalment > number and one.balance_before == rest):
        return Break.INSTALMENT
    if one.balance_before > rest or (one.instalment == number and one.balance_before != rest):
        return Break.BEFORE
    return None if one.balance_after == one.balance_before - one.paid else Break.AFTER


def _find_wrong_forms(sale: Sale) -> Iterator[Cause]:
    """Yield what names no form, or another one, where the money says it: transfer, credit or debit card."""
    invoice, forms = sale.invoice, {payment.form for payment in sale.payments}
    if invoice.method == DEFERRED and invoice.form not in {TO_DEFINE, ""}:
        yield Cause("ppd_form_not_99", invoice.key, invoice.total, invoice.vat, invoice.on)
    if invoice.method == AT_ONCE and invoice.form in VAGUE and len(forms) == 1 and forms <= set(FORMS.values()):
        yield Cause("payment_form_wrong", invoice.key, invoice.total, invoice.vat, invoice.on)
    for payment in sale.payments:
        for one in sale.pairs[payment.payment_id][:1]:
            if one.form in VAGUE and payment.form:
                yield Cause("payment_form_wrong", one.doc_key, one.paid, one.vat, one.on)


def share_of_vat(invoice: Invoice, paid: int) -> int:
    """Return the VAT inside a part of an invoice, half up."""
    return (2 * paid * invoice.vat + invoice.total) // (2 * invoice.total) if invoice.total else 0
