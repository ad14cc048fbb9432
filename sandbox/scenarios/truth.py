"""What a right reconciliation finds as of a moment, read off the plan and never off a matcher."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TypeVar

from sandbox.scenarios.bank import last_bank_day
from sandbox.scenarios.calendar import add_bank_days, bank_day, local_date
from sandbox.scenarios.ledger import Dispute, Ledger, LocalDocument, Payment, Payout, Refund, Transfer
from sandbox.state.happening import Truth

T = TypeVar("T")
UNDATED_TERM = timedelta(days=30)
WENT_BACK = {"returned", "reversed"}
PATIENCE = 2  # bank days a payment may wait for its payout
FEE_TOLERANCE = 1


@dataclass(frozen=True, slots=True)
class Standing:
    """Where one document stands at a moment."""

    outcome: str
    balance: int


class Assessor:
    """Answers for one ledger what is true at any moment."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self._paid = _group((key, (paid, amount)) for paid in ledger.payments for key, amount in paid.verdict.applied)
        self._suggested = _group((key, paid) for paid in ledger.payments for key in paid.verdict.suggested)
        self._refunds = _group((r.doc_key, r) for r in ledger.refunds if r.doc_key is not None)
        self._notes = _group((d.refers_to.key, d) for d in ledger.documents if d.is_note and d.refers_to is not None)
        self._disputed = _group((case.payment.id, case) for case in ledger.disputes if case.costs)
        self._taken = _group((case.id, payout) for payout in ledger.payouts for case in payout.disputes)
        self._carried = _group((line.resource, payout) for payout in ledger.payouts for line in payout.lines)
        lines = [line for payout in ledger.payouts for line in payout.lines if abs(line.fee_off) > FEE_TOLERANCE]
        self._overcharged = {line.resource: abs(line.fee_off) for line in lines}

    def assess(self, at: datetime) -> list[Truth]:
        """Return every subject that exists at the moment, in the order of its kind."""
        ledger = self.ledger
        rows = [self._document(d, at) for d in ledger.documents if d.known_at <= at]
        rows += [self._payment(p, at) for p in ledger.payments if p.succeeded_at <= at]
        for refund in ledger.refunds:
            rows += self._refund(refund, at)
        rows += [self._payout(p, at) for p in ledger.payouts if p.created_at <= at]
        rows += [row for case in ledger.disputes if case.opened_at <= at for row in self._dispute(case, at)]
        rows += [_tell_return(t) for t in ledger.transfers if t.undoing in WENT_BACK and _has_happened(t.undone_at, at)]
        return rows + list(self._bank_days(at))

    def _today(self, at: datetime) -> date:
        return local_date(at, self.ledger.country)

    def _document(self, document: LocalDocument, at: datetime) -> Truth:
        standing = self._standing_of(document, at)
        payments = [paid.id for paid, _ in self._paid[document.key] if paid.succeeded_at <= at]
        notes = [] if document.refers_to is None else [document.refers_to.key]
        code, risk = None, 0
        if standing.outcome == "overdue":
            code, risk = "INVOICE_NO_PAYMENT", standing.balance
        elif document.owed_back and not self._was_lost(document.refers_to, at):
            code, risk = "CREDIT_NOTE_NO_REFUND", document.total
        return Truth("document", document.key, (*payments, *notes), standing.outcome,
                     () if code is None else (code,), risk, document.currency, decidable=True)  # fmt: skip

    def _standing_of(self, document: LocalDocument, at: datetime) -> Standing:
        if document.status == "void":
            return Standing("void", 0)
        if document.is_note:
            return Standing("paid", 0)
        credited = sum(note.total for note in self._notes[document.key] if note.known_at <= at)
        paid = sum(amount for payment, amount in self._paid[document.key] if payment.succeeded_at <= at)
        back = sum(r.amount for r in self._refunds[document.key] if _has_happened(r.succeeded_at, at))
        back += self._lost(document.key, at)
        balance = document.total - credited - paid + back
        if credited >= document.total:
            return Standing("credited", balance)
        if balance <= 0:
            return Standing("paid" if balance == 0 else "overpaid", balance)
        due_on = document.due_on or document.issue_on + UNDATED_TERM
        if due_on < self._today(at):
            return Standing("overdue", balance)
        return Standing("partly_paid" if paid - back > 0 else "open_not_due", balance)

    def _lost(self, key: str, at: datetime) -> int:
        """Return what lost disputes took back of what was paid on a document."""
        return sum(
            min(amount, case.payment.amount)
            for paid, amount in self._paid[key]
            for case in self._disputed[paid.id]
            if _has_happened(case.ended_at, at)
        )

    def _was_lost(self, sale: LocalDocument | None, at: datetime) -> bool:
        return sale is not None and self._lost(sale.key, at) > 0

    def _dispute(self, case: Dispute, at: datetime) -> list[Truth]:
        """Return a lost dispute with what its documents still ask for, or one that waits; a won one is over."""
        links = (*(payout.id for payout in self._taken[case.id] if payout.created_at <= at), case.payment.id)
        outcome, code, risk = "waiting_documentation", "DISPUTE_OPEN", case.payment.amount
        if _has_happened(case.ended_at, at):
            if not case.costs:
                return []
            outcome, code, risk = "adjustment", "DISPUTE_LOST", self._still_open(case, at)
        elif _has_happened(case.review_at, at):
            outcome = "in_review"
        codes = (code,) if risk else ()
        return [Truth("dispute", case.id, links, outcome, codes, risk, case.payment.currency, decidable=True)]

    def _still_open(self, case: Dispute, at: datetime) -> int:
        """Return what a lost dispute took back and no note or payment made up for."""
        keys = {key for key, _ in case.payment.verdict.applied}
        sales = [document for document in self.ledger.documents if document.key in keys]
        return min(case.payment.amount, sum(max(0, self._standing_of(sale, at).balance) for sale in sales))

    def _payment(self, payment: Payment, at: datetime) -> Truth:
        verdict = payment.verdict
        codes = () if verdict.code is None else (verdict.code,)
        risk = verdict.at_risk
        trouble = self._trouble(payment, at)
        if trouble is not None:
            codes, risk = (*codes, trouble), risk + payment.own_amount
        if payment.id in self._overcharged and self._payouts_of(payment.id, at):
            codes, risk = (*codes, "FEE_OUT_OF_BAND"), risk + self._overcharged[payment.id]
        keys = [key for key, _ in verdict.applied] + list(verdict.suggested)
        links = (*keys, *self._payouts_of(payment.id, at))
        kind = "charge" if payment.is_charge else "payment"
        return Truth(kind, payment.id, links, verdict.outcome, codes, risk, payment.currency, verdict.decidable)

    def _trouble(self, payment: Payment, at: datetime) -> str | None:
        """Return whether the payment is in two payouts, or has waited too long for one."""
        known = [payout for payout in self._carried[payment.id] if payout.created_at <= at]
        alive = [payout for payout in known if _gone_at(payout, at) is None]
        if alive:
            return "ITEM_IN_TWO_PAYOUTS" if len(alive) > 1 else None
        country = self.ledger.country
        freed = [gone for payout in known if (gone := _gone_at(payout, at)) is not None]
        waiting_since = bank_day(max(freed, default=payment.succeeded_at), country)
        late = self._today(at) >= add_bank_days(waiting_since, PATIENCE, country)
        return "ITEM_IN_NO_PAYOUT" if late else None

    def _refund(self, refund: Refund, at: datetime) -> list[Truth]:
        if refund.in_progress_at > at:
            return []
        payouts = [(p, line) for p in self._carried[refund.id] if p.created_at <= at
                   for line in p.lines if line.resource == refund.id]  # fmt: skip
        taken = tuple(p.id for p, line in payouts if line.resource_type == "refund")
        back = tuple(p.id for p, line in payouts if line.resource_type == "refund_adjustment")
        lonely = (
            _has_happened(refund.succeeded_at, at) and refund.doc_key is not None and not self._is_noted(refund, at)
        )
        codes = ("REFUND_NO_CREDIT_NOTE",) if lonely else ()
        documents = () if refund.doc_key is None else (refund.doc_key,)
        currency = refund.payment.currency
        rows = [Truth("refund", refund.id, (*documents, *dict.fromkeys(taken)), "refund", codes,
                      refund.amount if lonely else 0, currency, decidable=True)]  # fmt: skip
        if back:
            links = tuple(dict.fromkeys(back))
            rows.append(Truth("refund_adjustment", refund.id, links, "adjustment", (), 0, currency, decidable=True))
        return rows

    def _is_noted(self, refund: Refund, at: datetime) -> bool:
        assert refund.doc_key is not None
        return any(note.known_at <= at for note in self._notes[refund.doc_key])

    def _payout(self, payout: Payout, at: datetime) -> Truth:
        troubles = self._payout_troubles(payout, at)
        links = tuple(dict.fromkeys(line.resource for line in payout.lines))
        outcome = "open" if troubles else self._payout_state(payout, at)
        if _has_happened(payout.canceled_at, at):
            outcome = "canceled"
        if _has_happened(payout.returned_at, at):
            outcome = "returned"
        codes = tuple(code for code, _ in troubles)
        risk = sum(risk for _, risk in troubles)
        return Truth("payout", payout.id, links, outcome, codes, risk, payout.currency, decidable=True)

    def _payout_state(self, payout: Payout, at: datetime) -> str:
        if not self.ledger.has_bank:
            return "no_bank" if _has_happened(payout.succeeded_at, at) else "not_due"
        return "closed" if _has_happened(payout.arrived_at, at) else "not_due"

    def _payout_troubles(self, payout: Payout, at: datetime) -> list[tuple[str, int]]:
        """Exceptions of the payout itself and the amount at risk of each."""
        country, today = self.ledger.country, self._today(at)
        troubles = [("PAYOUT_IDENTITY", payout.short_by)] if payout.short_by else []
        if _has_happened(payout.returned_at, at):
            return [*troubles, ("PAYOUT_RETURNED", payout.amount)]
        if _has_happened(payout.canceled_at, at):
            return troubles
        expected = local_date(payout.created_at, country)
        if country == "mx":
            expected = add_bank_days(expected, 1, country)
        if not _has_happened(payout.succeeded_at, at):
            late = today >= add_bank_days(expected, 1, country)
            return [*troubles, ("PAYOUT_LATE", payout.amount)] if late else troubles
        if not self.ledger.has_bank:
            return troubles
        if not _has_happened(payout.arrived_at, at):
            missing = today >= add_bank_days(expected, PATIENCE, country)
            return [*troubles, ("PAYOUT_NOT_IN_BANK", payout.amount)] if missing else troubles
        gap = payout.amount - payout.arrived
        return [*troubles, ("BANK_AMOUNT_DIFF", gap)] if gap else troubles

    def _bank_days(self, at: datetime) -> Iterator[Truth]:
        """Return the day of the deposit that the bank's own file lacks, once both sources must tell it."""
        country, file = self.ledger.country, self.ledger.bank_file
        for transfer in self.ledger.transfers:
            if file is None or transfer.id != file.lacks:
                continue
            if last_bank_day(transfer.at, country) < self._today(at):
                name = f"{file.account[-4:]}:{local_date(transfer.at, country)}"
                yield Truth("bank_day", name, (transfer.id,), "differs", ("BANK_SOURCES_DIFFER",), transfer.amount,
                            transfer.currency, decidable=True)  # fmt: skip

    def _payouts_of(self, resource: str, at: datetime) -> tuple[str, ...]:
        return tuple(payout.id for payout in self._carried[resource] if payout.created_at <= at)


def truth_of(ledger: Ledger) -> Callable[[datetime], list[Truth]]:
    """Return the truth of a finished ledger as a function of the moment."""
    return Assessor(ledger).assess


def _tell_return(transfer: Transfer) -> Truth:
    codes = ("TRANSFER_RETURNED",)
    outcome = str(transfer.undoing)
    return Truth("transfer", transfer.id, (), outcome, codes, transfer.amount, transfer.currency, decidable=True)


def _group(pairs: Iterable[tuple[str, T]]) -> defaultdict[str, list[T]]:
    grouped: defaultdict[str, list[T]] = defaultdict(list)
    for key, value in pairs:
        grouped[key].append(value)
    return grouped


def _has_happened(moment: datetime | None, at: datetime) -> bool:
    return moment is not None and moment <= at


def _gone_at(payout: Payout, at: datetime) -> datetime | None:
    """Return when a payout's items became free again, if they have by this moment."""
    return payout.gone_at if _has_happened(payout.gone_at, at) else None
