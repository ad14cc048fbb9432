"""The nearest miss: for what stayed unmatched, the candidate that came closest and the first test it failed."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from reconcile.rules.ledger import Ledger
from reconcile.rules.payments import UNKNOWN
from reconcile.rules.timing import to_day


@dataclass(frozen=True, slots=True)
class Pool:
    """Candidates sorted by block and amount, so that neighbours are found by halving."""

    block: Any
    amount: Any
    place: Any

    def closest(self, block: int, amount: int) -> int | None:
        """Give the candidate of a block whose amount is closest; the earlier one of two equally close."""
        since, until = np.searchsorted(self.block, [block, block + 1])
        if since == until:
            return None
        at = since + int(np.searchsorted(self.amount[since:until], amount))
        around = [place for place in (at - 1, at) if since <= place < until]
        best = min(around, key=lambda place: (abs(int(self.amount[place]) - amount), int(self.place[place])))
        first = since + int(np.searchsorted(self.amount[since:until], self.amount[best]))
        return int(self.place[first])


def _pool(blocks: Any, amounts: Any, places: Any) -> Pool:
    known = blocks != UNKNOWN
    order = np.lexsort((places[known], amounts[known], blocks[known]))
    return Pool(blocks[known][order], amounts[known][order], places[known][order])


@dataclass(frozen=True, slots=True)
class NearestMiss:
    """Looks up open documents for payments and unmatched payments for documents."""

    ledger: Ledger
    documents: tuple[Pool, Pool]
    payments: tuple[Pool, Pool]

    def of_payment(self, payment: int) -> dict[str, Any] | None:
        payments, amount = self.ledger.payments, int(self.ledger.payments.amount[payment])
        doc = self.documents[0].closest(int(payments.customer[payment]), amount)
        if doc is None:
            doc = self.documents[1].closest(int(payments.currency[payment]), amount)
            if doc is None or self.ledger.balance(doc) != amount:
                return None
        named = {"document": str(self.ledger.books.keys[doc]), "open_balance": self.ledger.balance(doc)}
        return named | _first_failure(self.ledger, payment, doc)

    def of_document(self, doc: int) -> dict[str, Any] | None:
        books, balance = self.ledger.books, self.ledger.balance(doc)
        payment = self.payments[0].closest(int(books.customer[doc]), balance)
        if payment is None:
            payment = self.payments[1].closest(int(books.currency[doc]), balance)
            if payment is None or int(self.ledger.payments.amount[payment]) != balance:
                return None
        amount = int(self.ledger.payments.amount[payment])
        named = {"payment": str(self.ledger.payments.ids[payment]), "amount": amount}
        return named | _first_failure(self.ledger, payment, doc)


def nearest_misses(ledger: Ledger) -> NearestMiss:
    books, payments = ledger.books, ledger.payments
    balance = ledger.open_now()
    docs = np.flatnonzero(balance > 0)
    applied = np.zeros(len(payments), dtype=bool)
    applied[ledger.applications()["payment"].to_numpy()] = True
    free = np.flatnonzero(~applied)
    return NearestMiss(
        ledger,
        (_pool(books.customer[docs], balance[docs], docs), _pool(books.currency[docs], balance[docs], docs)),
        (
            _pool(payments.customer[free], payments.amount[free], free),
            _pool(payments.currency[free], payments.amount[free], free),
        ),
    )


def _first_failure(ledger: Ledger, payment: int, doc: int) -> dict[str, Any]:
    """Name the first test a pair fails: declined, currency, customer, amount, window, or only that it is not alone."""
    payments, books = ledger.payments, ledger.books
    difference = int(payments.amount[payment]) - ledger.balance(doc)
    day = int(payments.day[payment])
    if (payment, doc) in ledger.forbidden:
        return {"failed": "declined by a person"}
    if payments.currency[payment] != books.currency[doc]:
        return {"failed": "currency"}
    if payments.customer[payment] == UNKNOWN or books.customer[doc] == UNKNOWN:
        return {"failed": "no tax id", "amount_difference": difference}
    if payments.customer[payment] != books.customer[doc]:
        return {"failed": "customer", "amount_difference": difference}
    if difference != 0:
        return {"failed": "amount", "amount_difference": difference}
    if day < books.since[doc]:
        return {"failed": "date", "paid_on": to_day(day), "window_starts": to_day(books.since[doc])}
    if day > books.until[doc]:
        return {"failed": "date", "paid_on": to_day(day), "window_ends": to_day(books.until[doc])}
    return {"failed": "not the only candidate"}
