"""Void documents of a payer with exactly the payment's amount: what it may be for, and cannot be matched to."""

from collections import defaultdict
from typing import Any

import numpy as np
from pandas import DataFrame

from reconcile.rules.contradictions import are_contradicted
from reconcile.rules.ledger import Ledger, Reason
from reconcile.rules.outcomes import Code, Outcome, Stage
from reconcile.rules.payments import UNKNOWN

_SAME = ["customer", "currency", "amount"]
_MOST_LISTED = 20


def void_rivals(
    ledger: Ledger, payments: Any, *, amounts: Any = None, at_any_day: bool = False
) -> dict[int, list[int]]:
    """Give the void documents each payment may be for: of its payer, amount and dates, and no valid one refers to them.

    Asked with other amounts, each payment stands for one it is a part of.
    """
    books, paid = ledger.books, ledger.payments
    amounts = paid.amount[payments] if amounts is None else amounts
    may_be = books.is_void & books.is_claim & (books.customer != UNKNOWN) & np.isin(books.total, amounts)
    docs = np.array([doc for doc in np.flatnonzero(may_be).tolist() if not _is_replaced(ledger, doc)], dtype=np.int64)
    if not len(docs) or not len(payments):
        return {}
    left = {"payment": payments, "customer": paid.customer[payments], "currency": paid.currency[payments]}
    right = {"doc": docs, "customer": books.customer[docs], "currency": books.currency[docs]}
    pairs = DataFrame(left | {"amount": amounts}).merge(DataFrame(right | {"amount": books.total[docs]}), on=_SAME)
    asking, voids = pairs["payment"].to_numpy(), pairs["doc"].to_numpy()
    days = paid.day[asking]
    fits = at_any_day | ((books.since[voids] <= days) & (days <= books.until[voids]))
    fits &= ~are_contradicted(ledger, asking, voids)
    found: dict[int, list[int]] = defaultdict(list)
    for payment, doc in sorted(set(zip(asking[fits].tolist(), voids[fits].tolist(), strict=True)) - ledger.forbidden):
        found[payment].append(doc)
    return dict(found)


def _is_replaced(ledger: Ledger, doc: int) -> bool:
    return any(not ledger.books.is_void[other] for other in ledger.books.reissues.get(doc, ()))


def leave_to_void(ledger: Ledger, payment: int, rule: str, docs: list[int], voids: list[int]) -> None:
    """Call a payment ambiguous between what it could be matched to and the void documents it may be for."""
    evidence = {"void_documents": [str(ledger.books.keys[doc]) for doc in voids[:_MOST_LISTED]]}
    reason = Reason(Stage.NONE, f"{rule}:void_equal", tuple(sorted({*docs, *voids})), evidence)
    ledger.decide(payment, Outcome.AMBIGUOUS, reason, Code.AMBIGUOUS)
