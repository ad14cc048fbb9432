"""Payments of one customer on one day that together are exactly one open document: the only sum, and not by chance."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from pandas import DataFrame

from reconcile.rules.contradictions import are_contradicted
from reconcile.rules.ledger import Ledger, Reason
from reconcile.rules.outcomes import Code, Outcome, Stage
from reconcile.rules.payments import UNKNOWN
from reconcile.rules.references import documents_named
from reconcile.rules.sets import chance_of_sums, choices_of
from reconcile.rules.void_rivals import leave_to_void, void_rivals

_FEWEST = 2
_BPS = 10_000
_GROUP = ["customer", "currency", "day"]


@dataclass(frozen=True, slots=True)
class Sum:
    """Payments, oldest first, that sum to what a document asks for; `chance` is how many more would by chance."""

    payments: tuple[int, ...]
    doc: int
    chance: int


def match_parts(ledger: Ledger) -> None:
    """Match payments of one day with the document they sum to, where no other sum nor equal document could be."""
    sums = _uncontradicted(ledger, _search(ledger))
    payments = np.array([payment for one in sums for payment in one.payments], dtype=np.int64)
    totals = np.array([ledger.balance(one.doc) for one in sums for _ in one.payments], dtype=np.int64)
    alone, together = void_rivals(ledger, payments), void_rivals(ledger, payments, amounts=totals)
    of: dict[int, list[Sum]] = defaultdict(list)
    wanted: dict[int, list[Sum]] = defaultdict(list)
    for one in sums:
        wanted[one.doc].append(one)
        for payment in one.payments:
            of[payment].append(one)
    for one in sums:
        if len(wanted[one.doc]) == 1 and all(len(of[payment]) == 1 for payment in one.payments):
            voids = {doc for payment in one.payments for found in (alone, together) for doc in found.get(payment, ())}
            _decide(ledger, one, sorted(voids))
    for payment, several in sorted(of.items()):
        if ledger.left[payment]:
            docs = tuple(sorted({one.doc for one in several}))
            _abstain(ledger, payment, docs, "several", {"sums_found": len(several)})


def _decide(ledger: Ledger, one: Sum, voids: list[int]) -> None:
    if voids:
        for payment in one.payments:
            leave_to_void(ledger, payment, "parts", [one.doc], voids)
    elif one.chance > ledger.rules.set_chance_bps:
        for payment in one.payments:
            _abstain(
                ledger,
                payment,
                (one.doc,),
                "by_chance",
                {"sums_by_chance": f"{one.chance // _BPS}.{one.chance % _BPS:04}"},
            )
    else:
        _apply(ledger, one)


def _apply(ledger: Ledger, one: Sum) -> None:
    *parts, last = one.payments
    reason = Reason(Stage.SET, f"parts:{len(one.payments)}:only_one")
    for payment in parts:
        amount = int(ledger.payments.amount[payment])
        ledger.apply(payment, one.doc, amount, difference=amount - ledger.balance(one.doc))
        ledger.decide(payment, Outcome.PARTIAL, reason)
    ledger.apply(last, one.doc, int(ledger.payments.amount[last]))
    ledger.decide(last, Outcome.MATCHED, reason)


def _abstain(ledger: Ledger, payment: int, docs: tuple[int, ...], why: str, evidence: dict[str, Any]) -> None:
    ledger.decide(payment, Outcome.AMBIGUOUS, Reason(Stage.NONE, f"parts:{why}", docs, evidence), Code.AMBIGUOUS)


def _search(ledger: Ledger) -> list[Sum]:
    """Search the days on which a customer made several payments that nothing explains; of too many it is said."""
    paid, books, balance = ledger.payments, ledger.books, ledger.open_now()
    left = np.flatnonzero(ledger.is_left() & (paid.customer != UNKNOWN))
    concerned = np.flatnonzero((balance > 0) & np.isin(books.customer, paid.customer[left]))
    open_docs: dict[tuple[int, int], list[int]] = defaultdict(list)
    for doc in concerned.tolist():
        open_docs[int(books.customer[doc]), int(books.currency[doc])].append(doc)
    columns = {name: getattr(paid, name)[left] for name in _GROUP}
    rows = DataFrame({"payment": left} | columns)
    rows = rows[rows.duplicated(_GROUP, keep=False)]
    found: list[Sum] = []
    for _, group in rows.groupby(_GROUP)["payment"]:
        one = int(group.iloc[0])
        of_customer = open_docs.get((int(paid.customer[one]), int(paid.currency[one])), [])
        docs = np.array(of_customer, dtype=np.int64)
        docs = docs[books.since[docs] <= paid.day[one]]
        if len(docs) and len(group) <= ledger.rules.set_pool:
            found += _sums(ledger, group.to_numpy(), docs, balance[docs])
        elif len(docs):
            for payment in group.tolist():
                ledger.leave_unsearched(payment, "parts", f"{len(group)} payments of one day")
    return found


def _sums(ledger: Ledger, payments: Any, docs: Any, asked: Any) -> list[Sum]:
    """List every two to `set_size` payments that sum to one of the documents, none of them equal to one alone."""
    amounts = ledger.payments.amount[payments]
    is_free = ~np.isin(amounts, asked)
    payments, amounts = payments[is_free], amounts[is_free]
    largest = min(ledger.rules.set_size, len(payments))
    choices = [choices_of(len(payments), size) for size in range(_FEWEST, largest + 1)]
    if not choices:
        return []
    sums = [amounts[chosen].sum(axis=1) for chosen in choices]
    found = []
    for doc, target in zip(docs.tolist(), asked.tolist(), strict=True):
        hits = [tuple(payments[chosen[place]].tolist()) for chosen, total in zip(choices, sums, strict=True)
                for place in np.flatnonzero(total == target)]  # fmt: skip
        if hits:
            away = (np.concatenate(sums)[:, None] - asked[None, :]).ravel()
            chance = chance_of_sums(np.concatenate([amounts, asked]), target, away)
            found += [Sum(hit, doc, chance) for hit in hits if not _is_refused(ledger, hit, doc)]
    return found


def _is_refused(ledger: Ledger, payments: tuple[int, ...], doc: int) -> bool:
    """Tell whether a person turned a pair down, or what was open on the day was not what is open now."""
    is_declined = any((payment, doc) in ledger.forbidden for payment in payments)
    return is_declined or ledger.open_at(doc, payments[0]) != ledger.balance(doc)


def _uncontradicted(ledger: Ledger, sums: list[Sum]) -> list[Sum]:
    """Leave out sums with a payment that names another sale."""
    pairs = [(payment, one.doc) for one in sums for payment in one.payments]
    if not pairs:
        return sums
    payments, docs = (np.array(side, dtype=np.int64) for side in zip(*pairs, strict=True))
    against = set(pd.unique(payments[are_contradicted(ledger, payments, docs)]).tolist())
    named = documents_named(ledger, sorted(set(payments.tolist())), _open_of(ledger, payments))
    return [
        one
        for one in sums
        if not any(payment in against or named.get(payment, set()) - {one.doc} for payment in one.payments)
    ]


def _open_of(ledger: Ledger, payments: Any) -> Any:
    """List the open documents of these payments' customers."""
    is_theirs = np.isin(ledger.books.customer, ledger.payments.customer[payments])
    return np.flatnonzero(is_theirs & (ledger.open_now() > 0))
