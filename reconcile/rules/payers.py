"""Payers' rules that a person accepted: who pays for whom, and which words of a text are the merchant's order numbers.

A payer counts as the customer it pays for where its own documents leave a payment open; every rule then holds for it.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pandas import DataFrame

from reconcile.rules.columns import Indices, Ints, Mask, to_mask, to_texts
from reconcile.rules.inputs import Row, rows_of
from reconcile.rules.keys import ORDER_REF, Keys, Said, list_loose_words
from reconcile.rules.ledger import LATEST, Ledger, Reason, to_instant, to_instants
from reconcile.rules.outcomes import Code, Outcome, Stage

PAYER, PATTERN = "payer", "pattern"
DIGIT = "#"
BY_PATTERN = ":pattern:"
_EARLIEST = np.iinfo(np.int64).min
# What decided by the customer alone, and is therefore decided by the rule.
_BY_CUSTOMER = {Stage.CUSTOMER, Stage.SET}
_SAME_TAX_ID = "reference:tax_id"


@dataclass(frozen=True, slots=True)
class Borrow:
    """One accepted rule in the ledger's numbers: these payments may be for that customer."""

    rule: int
    payments: Indices
    customer: int


@dataclass(slots=True)
class Payers:
    """The accepted payers' rules of a run, and which payments count as another customer by which of them."""

    ledger: Ledger
    borrows: list[Borrow]
    used: dict[int, int] = field(default_factory=dict)
    claims: dict[int, Indices] = field(default_factory=dict)

    def name_keyed(self, keys: Keys) -> None:
        """Count the payers of payments that name a document as its customer, where a rule says so."""
        owners = self.ledger.books.customer[keys.docs]
        for borrow in self.borrows:
            is_meant = np.isin(keys.payments, borrow.payments) & (owners == borrow.customer)
            for payment in keys.payments[is_meant & self.ledger.is_left()[keys.payments]].tolist():
                self._use(payment, borrow)

    def find_torn(self) -> dict[int, tuple[int, ...]]:
        """Return the payments that equal open documents of two customers they may be for: a tie, which no rule ends."""
        own = self.ledger.payments.customer
        options: dict[int, dict[int, list[int]]] = {}
        for borrow in self.borrows:
            for payment in self._list_left(borrow):
                found = options.setdefault(payment, {})
                for customer in (int(own[payment]), borrow.customer):
                    if docs := self._list_equal(payment, customer):
                        found[customer] = docs
        return {
            payment: tuple(sorted(doc for docs in found.values() for doc in docs))
            for payment, found in sorted(options.items())
            if len(found) > 1
        }

    def leave_torn(self, torn: Mapping[int, tuple[int, ...]]) -> None:
        """Call what is still a tie ambiguous."""
        for payment, rivals in torn.items():
            if self.ledger.left[payment]:
                listed = [self.ledger.books.keys[doc] for doc in rivals]
                reason = Reason(Stage.NONE, "payer:several", rivals, {"equal_open_documents": listed})
                self.ledger.decide(payment, Outcome.AMBIGUOUS, reason, Code.AMBIGUOUS)

    def count_as_customers(self) -> bool:
        """Count payers whose payments are still left as the customer they pay for; return False if there are none.

        Of several customers the one is meant that has a document of exactly that amount.
        """
        wanted: dict[int, list[Borrow]] = {}
        for borrow in self.borrows:
            for payment in self._list_left(borrow):
                wanted.setdefault(payment, []).append(borrow)
        for payment, borrows in wanted.items():
            equal = [borrow for borrow in borrows if self._list_equal(payment, borrow.customer)]
            for borrow in equal if len(borrows) > 1 else borrows:
                self._use(payment, borrow)
        return bool(wanted)

    def mark(self, said: Said) -> None:
        """Name the rule in the reason of every payment it decided."""
        for payment, number in self.used.items():
            reason = self.ledger.reasons.get(payment)
            if reason is not None and (reason.stage in _BY_CUSTOMER or reason.rule == _SAME_TAX_ID):
                _, _, how = reason.rule.partition(":")
                named = f"payer:{DIGIT}{number}:{how}"
                self.ledger.reasons[payment] = Reason(Stage.PAYER, named, reason.rivals, reason.evidence)
        for payment, number in said.by_pattern.items():
            reason = self.ledger.reasons.get(payment)
            if reason is not None and reason.stage == Stage.KEY:
                named = f"{reason.rule}{BY_PATTERN}{DIGIT}{number}"
                self.ledger.reasons[payment] = Reason(Stage.KEY, named, reason.rivals, reason.evidence)

    def _list_left(self, borrow: Borrow) -> list[int]:
        payments: list[int] = borrow.payments[self.ledger.left[borrow.payments]].tolist()
        return payments

    def _list_equal(self, payment: int, customer: int) -> list[int]:
        """Return a customer's open documents of exactly a payment's amount, within whose dates it was paid."""
        ledger, books, paid = self.ledger, self.ledger.books, self.ledger.payments
        if customer not in self.claims:
            self.claims[customer] = np.flatnonzero((books.customer == customer) & books.is_claim & ~books.is_void)
        docs, day = self.claims[customer], paid.day[payment]
        fits = books.currency[docs] == paid.currency[payment]
        fits &= (books.since[docs] <= day) & (day <= books.until[docs])
        return [
            doc
            for doc in docs[fits].tolist()
            if (payment, doc) not in ledger.forbidden and ledger.balance(doc) > 0 and ledger.is_equal(doc, payment)
        ]

    def _use(self, payment: int, borrow: Borrow) -> None:
        self.ledger.payments.customer[payment] = borrow.customer
        self.used[payment] = borrow.rule


def open_payers(ledger: Ledger, rules: DataFrame) -> Payers:
    """Find the payments and customers that accepted rules speak of; those without documents have nothing to pay."""
    borrows = []
    for row in rows_of(rules[rules["kind"] == PAYER]):
        docs = ledger.books.tax_id.find(row.object)
        payments = ledger.payments.tax_id.find(row.subject)
        payments = payments[_are_within(row, ledger.payments.moment[payments])]
        if len(docs) and len(payments):
            borrows.append(Borrow(int(row.rule_id), payments, int(ledger.books.customer[docs[0]])))
    return Payers(ledger, borrows)


def read_patterns(said: Said, payments: DataFrame, rules: DataFrame) -> Said:
    """Take the one word of an accepted pattern in the texts of a payment that names no sale as its order reference."""
    patterns = rows_of(rules[rules["kind"] == PATTERN])
    if not patterns or payments.empty:
        return said
    is_free = ~said.names_sale()
    moments = to_instants(payments["occurred_at"])
    found: dict[int, dict[str, int]] = {}
    for row in patterns:
        is_asked = is_free & _are_within(row, moments)
        for place, word in find_words(row.subject, payments, is_asked):
            found.setdefault(place, {})[word] = int(row.rule_id)
    only = {place: next(iter(words.items())) for place, words in sorted(found.items()) if len(words) == 1}
    places, texts = said.words[ORDER_REF]
    more = pa.array([word for word, _ in only.values()], type=pa.large_string())
    joined = np.concatenate([places, np.array(list(only), dtype=np.int64)]), pa.concat_arrays([texts, more])
    words = {**said.words, ORDER_REF: joined}
    return replace(said, words=words, by_pattern={place: number for place, (_, number) in only.items()})


def find_words(template: str, payments: DataFrame, is_asked: Mask) -> Iterator[tuple[int, str]]:
    """Yield the places and words of texts and loose metadata that a template such as `ORD-######` describes."""
    exact = re.compile(rf"(?<![A-Z0-9]){_to_expression(template)}(?![A-Z0-9])", re.IGNORECASE)
    columns = [to_texts(payments[name]) for name in ("texts", "metadata")]
    coarse = [pc.match_substring_regex(one, _to_expression(template), ignore_case=True) for one in columns]
    may_hold = to_mask(pc.or_(*(one.fill_null(fill_value=False) for one in coarse)))
    for place in np.flatnonzero(is_asked & may_hold).tolist():
        text, metadata = (column[place].as_py() for column in columns)
        for one in [*([] if text is None else [text]), *list_loose_words(metadata)]:
            yield from ((place, match.group().upper()) for match in exact.finditer(one))


def _to_expression(template: str) -> str:
    return "".join("[0-9]" if sign == DIGIT else re.escape(sign) for sign in template)


def to_template(word: str) -> str:
    """Return the make of a word: its letters and signs, and a sign for each digit."""
    return re.sub(r"[0-9]", DIGIT, word.upper())


def _are_within(row: Row, moments: Ints) -> Mask:
    """Return which moments lie outside the days that were closed without the rule."""
    since, until = (
        default if pd.isna(moment) else to_instant(moment)
        for moment, default in ((row.since, _EARLIEST), (row.until, LATEST))
    )
    within: Mask = (since <= moments) & (moments < until)
    return within
