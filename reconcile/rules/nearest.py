"""The nearest miss: for what stayed unmatched, the candidate that came closest and the first test it failed."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from pandas import DataFrame

from reconcile.rules.contradictions import are_contradicted
from reconcile.rules.ledger import Ledger
from reconcile.rules.payments import UNKNOWN
from reconcile.rules.timing import to_days
from reconcile.rules.void_rivals import void_rivals

_NONE = -1
IS_VOID = "the document is void"
_VOID = {"failed": IS_VOID}
_ASKS = ("open_balance", "total")  # a void document has a total and asks for nothing
Miss = dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Pool:
    """Candidates sorted by block, amount and place; `key` is one number that sorts as block and amount do."""

    levels: Any
    block: Any
    key: Any
    amount: Any
    place: Any

    def closest(self, blocks: Any, amounts: Any) -> Any:
        """Give for each block and amount the candidate whose amount is closest, the earlier of two equally close."""
        if not len(self.key):
            return np.full(len(blocks), _NONE, dtype=np.int64)
        at = np.searchsorted(self.key, blocks * (len(self.levels) + 1) + np.searchsorted(self.levels, amounts))
        since, until = np.searchsorted(self.block, blocks), np.searchsorted(self.block, blocks, side="right")
        below, above = np.maximum(at - 1, 0), np.minimum(at, len(self.key) - 1)
        under, over = amounts - self.amount[below], self.amount[above] - amounts
        is_below = (under < over) | ((under == over) & (self.place[below] < self.place[above]))
        best = np.where((at > since) & (is_below | (at >= until)), below, above)
        first = np.searchsorted(self.key, self.key[best])
        return np.where(since < until, self.place[first], _NONE)


def _pool(blocks: Any, amounts: Any, places: Any) -> Pool:
    known = blocks != UNKNOWN
    block, amount, place = blocks[known], amounts[known], places[known]
    levels, ranks = np.unique(amount, return_inverse=True)
    key = block * (len(levels) + 1) + ranks
    order = np.lexsort((place, key))
    return Pool(levels, block[order], key[order], amount[order], place[order])


@dataclass(frozen=True, slots=True)
class NearestMiss:
    """Looks up open documents for payments and unmatched payments for documents."""

    ledger: Ledger
    documents: tuple[Pool, Pool]
    payments: tuple[Pool, Pool]

    def of_payments(self, payments: list[int]) -> list[Miss]:
        """Give each payment's nearest document: its customer's, void ones of its amount too, or anybody's equal one."""
        ledger, asking = self.ledger, np.array(payments, dtype=np.int64)
        if not len(ledger.books):
            return [None] * len(payments)
        amounts, balances = ledger.payments.amount[asking], ledger.balances()
        docs = self.documents[0].closest(ledger.payments.customer[asking], amounts)
        others = self.documents[1].closest(ledger.payments.currency[asking], amounts)
        is_equal = (others != _NONE) & (balances[others] == amounts)
        voids = void_rivals(ledger, asking, at_any_day=True)
        void = np.array([voids.get(payment, [_NONE])[0] for payment in payments], dtype=np.int64)
        is_exact = (docs != _NONE) & (balances[docs] == amounts)
        docs = np.where((docs == _NONE) & is_equal, others, docs)
        docs = np.where((void != _NONE) & ~is_exact, void, docs)
        failures = _first_failures(ledger, asking, docs)
        rows = zip(docs.tolist(), ledger.books.keys[docs], balances[docs].tolist(), failures, strict=True)
        return [
            None if doc == _NONE else {"document": str(key), _ASKS[failure == _VOID]: balance} | failure
            for doc, key, balance, failure in rows
        ]

    def of_documents(self, docs: list[int]) -> list[Miss]:
        """Give each document's nearest payment: its customer's, else one of exactly its balance."""
        ledger, asking = self.ledger, np.array(docs, dtype=np.int64)
        if not len(ledger.payments):
            return [None] * len(docs)
        balances, amounts = ledger.balances()[asking], ledger.payments.amount
        payments = self.payments[0].closest(ledger.books.customer[asking], balances)
        others = self.payments[1].closest(ledger.books.currency[asking], balances)
        is_equal = (others != _NONE) & (amounts[others] == balances)
        payments = np.where((payments == _NONE) & is_equal, others, payments)
        failures = _first_failures(ledger, payments, asking)
        rows = zip(payments.tolist(), ledger.payments.ids[payments], amounts[payments].tolist(), failures, strict=True)
        return [
            None if payment == _NONE else {"payment": str(identity), "amount": amount} | failure
            for payment, identity, amount, failure in rows
        ]


def nearest_misses(ledger: Ledger, applied: DataFrame) -> NearestMiss:
    books, payments = ledger.books, ledger.payments
    balance = ledger.open_now()
    docs = np.flatnonzero(balance > 0)
    is_applied = np.zeros(len(payments), dtype=bool)
    is_applied[applied["payment"].to_numpy(dtype=np.int64)] = True
    free = np.flatnonzero(~is_applied)
    return NearestMiss(
        ledger,
        (_pool(books.customer[docs], balance[docs], docs), _pool(books.currency[docs], balance[docs], docs)),
        (
            _pool(payments.customer[free], payments.amount[free], free),
            _pool(payments.currency[free], payments.amount[free], free),
        ),
    )


def _first_failures(ledger: Ledger, payments: Any, docs: Any) -> list[dict[str, Any]]:
    """Name the first test each pair fails: declined, void, currency, customer, amount, window, key, or not alone.

    A pair that is none is told something too, which nobody reads.
    """
    known, books = ledger.payments, ledger.books
    payer, owner, day = known.customer[payments], books.customer[docs], known.day[payments]
    difference = known.amount[payments] - ledger.balances()[docs]
    pairs = zip(payments.tolist(), docs.tolist(), strict=True)
    tests = [
        (np.array([pair in ledger.forbidden for pair in pairs] if ledger.forbidden else False, dtype=bool), _declined),
        (books.is_void[docs], _void),
        (known.currency[payments] != books.currency[docs], _other_currency),
        ((payer == UNKNOWN) | (owner == UNKNOWN), _no_tax_id),
        (payer != owner, _other_customer),
        (difference != 0, _other_amount),
        (day < books.since[docs], _too_early),
        (day > books.until[docs], _too_late),
    ]
    failed = np.select([mask for mask, _ in tests], range(len(tests)), default=len(tests))
    passed = np.flatnonzero(failed == len(tests))
    failed[passed[~are_contradicted(ledger, payments[passed], docs[passed])]] += 1
    said = [*(say for _, say in tests), _names_another, _not_alone]
    days = (to_days(column) for column in (day, books.since[docs], books.until[docs]))
    rows = zip(failed.tolist(), difference.tolist(), *days, strict=True)
    return [said[test](amount, day, since, until) for test, amount, day, since, until in rows]


def _declined(*_: Any) -> dict[str, Any]:
    return {"failed": "declined by a person"}


def _void(*_: Any) -> dict[str, Any]:
    return _VOID


def _other_currency(*_: Any) -> dict[str, Any]:
    return {"failed": "currency"}


def _no_tax_id(difference: int, *_: Any) -> dict[str, Any]:
    return {"failed": "no tax id", "amount_difference": difference}


def _other_customer(difference: int, *_: Any) -> dict[str, Any]:
    return {"failed": "customer", "amount_difference": difference}


def _other_amount(difference: int, *_: Any) -> dict[str, Any]:
    return {"failed": "amount", "amount_difference": difference}


def _too_early(_: int, paid_on: str, since: str, *__: Any) -> dict[str, Any]:
    return {"failed": "date", "paid_on": paid_on, "window_starts": since}


def _too_late(_: int, paid_on: str, __: str, until: str) -> dict[str, Any]:
    return {"failed": "date", "paid_on": paid_on, "window_ends": until}


def _names_another(*_: Any) -> dict[str, Any]:
    return {"failed": "the payment names another sale"}


def _not_alone(*_: Any) -> dict[str, Any]:
    return {"failed": "not the only candidate"}
