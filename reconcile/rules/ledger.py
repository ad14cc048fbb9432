"""The state of matching: what each payment became, what was applied to each document, and what is still open."""

from dataclasses import dataclass, field
from itertools import repeat

import numpy as np
import pandas as pd
from msgspec import Struct
from pandas import DataFrame

from reconcile.rules.columns import Indices, Ints, Mask, Words
from reconcile.rules.documents import Books
from reconcile.rules.inputs import Evidence
from reconcile.rules.outcomes import Code, Outcome, Stage
from reconcile.rules.payments import LATEST, Payments, Reversal
from reconcile.rules.terms import RuleSet


class Reason(Struct, frozen=True):
    """Why an outcome: the stage and rule that decided, the rivals it left, and what was compared."""

    stage: Stage
    rule: str
    rivals: tuple[int, ...] = ()
    evidence: Evidence = {}


@dataclass(slots=True)
class Ledger:
    """Payments and documents while they are matched. Every payment starts as unexplained."""

    payments: Payments
    books: Books
    rules: RuleSet
    outcome: Words = field(init=False)
    left: Mask = field(init=False)
    reasons: dict[int, Reason] = field(default_factory=dict)
    codes: dict[int, list[Code]] = field(default_factory=dict)
    paid: Ints = field(init=False)
    reopened: Ints = field(init=False)
    adjusted: Ints = field(init=False)
    forbidden: set[tuple[int, int]] = field(default_factory=set)
    accepted: dict[int, int] = field(default_factory=dict)
    written_off: list[tuple[int, int]] = field(default_factory=list)
    bulk: list[tuple[Indices, Indices, Ints, Ints]] = field(default_factory=list)
    single: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    unsearched: dict[int, dict[str, str]] = field(default_factory=dict)
    given_back: dict[Reversal, int] = field(default_factory=dict)
    went_back: dict[int, list[tuple[Reversal, int]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.outcome = np.full(len(self.payments), str(Outcome.UNEXPLAINED), dtype=object)
        self.left = np.ones(len(self.payments), dtype=bool)
        self.paid = np.zeros(len(self.books), dtype=np.int64)
        self.reopened = np.zeros(len(self.books), dtype=np.int64)
        self.adjusted = np.zeros(len(self.books), dtype=np.int64)

    def balances(self) -> Ints:
        """Return the balance of every document: its total less notes and payments, plus what of these went back."""
        books = self.books
        return books.total - books.credited - self.adjusted - self.paid + self.reopened

    def balance(self, doc: int) -> int:
        books = self.books
        taken = books.credited[doc] + self.adjusted[doc] + self.paid[doc] - self.reopened[doc]
        return int(books.total[doc] - taken)

    def open_now(self) -> Ints:
        """Return the open balance of every document that can be paid; zero for all others."""
        is_open = self.books.is_claim & ~self.books.is_void
        return np.where(is_open, np.maximum(self.balances(), 0), 0)

    def is_left(self) -> Mask:
        """Return which payments no stage has decided yet."""
        return self.left.copy()

    def net_paid(self, doc: int, at: int = LATEST) -> int:
        """Return what is paid on a document, less what went back before a moment."""
        back = sum(amount for reversal, amount in self.went_back.get(doc, ()) if reversal.at <= at)
        return int(self.paid[doc]) + int(self.adjusted[doc]) - back

    def open_at(self, doc: int, payment: int) -> int:
        """Return the balance a payment finds: notes written before its day, what went back before its moment."""
        credited = self.books.credited_by(doc, int(self.payments.day[payment]))
        return int(self.books.total[doc]) - credited - self.net_paid(doc, int(self.payments.moment[payment]))

    def is_open_for(self, doc: int, payment: int) -> bool:
        """Return whether a document asked for money when a payment came, and was not opened again only later."""
        return doc not in self.went_back or self.open_at(doc, payment) > 0

    def is_equal(self, doc: int, payment: int) -> bool:
        """Return whether a payment equals the open balance, before or after the notes of its own day or later ones.

        A note may put right beforehand what a payment does, or be dated the same day; either way both agree.
        """
        amount, found = int(self.payments.amount[payment]), self.open_at(doc, payment)
        if found == amount:
            return True
        if doc not in self.books.notes:
            return False
        before = self.books.credited_by(doc, int(self.payments.day[payment]))
        same_day = self.books.credited_by(doc, int(self.payments.day[payment]) + 1)
        everything = int(self.books.credited[doc])
        return found > 0 and amount in (found + before - same_day, found + before - everything)

    def are_equal(self, docs: Indices, payments: Indices) -> Mask:
        """Return `is_equal` of many pairs at once; only what notes or reversals changed is compared one by one."""
        books = self.books
        equal: Mask = books.total[docs] - self.paid[docs] - self.adjusted[docs] == self.payments.amount[payments]
        for place in np.flatnonzero(np.isin(docs, [*books.notes, *self.went_back])):
            equal[place] = self.is_equal(int(docs[place]), int(payments[place]))
        return equal

    def decide(self, payment: int, outcome: Outcome, reason: Reason, *codes: Code) -> None:
        self.outcome[payment] = str(outcome)
        self.left[payment] = False
        self.reasons[payment] = reason
        if codes:
            self.codes[payment] = list(codes)

    def undo(self, payment: int) -> None:
        """Take back a decision that applied no amount."""
        self.outcome[payment] = str(Outcome.UNEXPLAINED)
        self.left[payment] = True
        self.reasons.pop(payment, None)
        self.codes.pop(payment, None)

    def apply(self, payment: int, doc: int, amount: int, *, difference: int = 0) -> None:
        """Apply an amount of a payment to a document; what went back of the payment opens the document again."""
        self.paid[doc] += amount
        self._reopen(payment, doc, amount)
        self.single.append((payment, doc, amount, self.balance(doc), difference))

    def match_exactly(self, payments: Indices, docs: Indices, reason: Reason) -> None:
        """Match many payments at once, each with a document of exactly its amount; no document occurs twice."""
        if len(payments) == 0:
            return
        amounts = self.payments.amount[payments]
        self.paid[docs] += amounts
        self.outcome[payments] = str(Outcome.MATCHED)
        self.left[payments] = False
        self.reasons.update(zip(payments.tolist(), repeat(reason)))
        for place in np.flatnonzero(np.isin(payments, list(self.payments.reversals))):
            self._reopen(int(payments[place]), int(docs[place]), int(amounts[place]))
        self.bulk.append((payments, docs, amounts, self.balances()[docs]))

    def leave_unsearched(self, payment: int, what: str, pool: str) -> None:
        """Note of what there was too much to search."""
        self.unsearched.setdefault(payment, {})[what] = f"not searched: {pool}"

    def leave_rest(self) -> None:
        """Decide every payment that is left: it has no document."""
        reason = Reason(Stage.NONE, "none:nothing")
        for payment in np.flatnonzero(self.is_left()).tolist():
            self.decide(payment, Outcome.NO_DOCUMENT, reason, Code.PAYMENT_NO_INVOICE)

    def accept_rests(self) -> None:
        """Close what people accepted, once all else is applied; what disputes that were lost later took stays open."""
        for doc, amount in self.written_off:
            self.adjusted[doc] += amount
        for doc, at in sorted(self.accepted.items()):
            self.adjusted[doc] += self.balance(doc) - self._lost_since(doc, at)

    def _lost_since(self, doc: int, at: int) -> int:
        """Return what disputes lost after a moment left open: what they took back less what was paid after them."""
        lost = [(one.at, amount) for one, amount in self.went_back.get(doc, ()) if one.is_dispute and one.at > at]
        if not lost:
            return 0
        applied = self.applications()
        own = applied[applied["doc"] == doc]
        is_later = self.payments.moment[own["payment"].to_numpy()] > min(lost)[0]
        left = sum(amount for _, amount in lost) - int(own["applied"].to_numpy()[is_later].sum())
        return max(0, min(left, self.balance(doc)))

    def _reopen(self, payment: int, doc: int, amount: int) -> None:
        rest = amount
        for reversal in self.payments.reversals.get(payment, ()):
            given = self.given_back.get(reversal, 0)
            back = min(rest, reversal.amount - given)
            if back > 0:
                self.went_back.setdefault(doc, []).append((reversal, back))
                self.given_back[reversal] = given + back
                self.reopened[doc] += back
                rest -= back

    def applications(self) -> DataFrame:
        """Return every amount applied: payment, document, amount, balance after it and difference shown."""
        names = ["payment", "doc", "applied", "balance_after", "difference"]
        many = [DataFrame(dict(zip(names, (*chunk, 0), strict=True))) for chunk in self.bulk]
        return pd.concat([DataFrame(self.single, columns=names, dtype="int64"), *many], ignore_index=True)
