"""Payments without a key: the customer's documents of that amount inside the window, and suggestions without one."""

from collections import defaultdict
from typing import Any

import numpy as np
from pandas import DataFrame

from reconcile.rules.ledger import Ledger, Reason
from reconcile.rules.outcomes import Code, Outcome, Stage
from reconcile.rules.payments import UNKNOWN

Options = dict[int, list[int]]


def match_customers(ledger: Ledger) -> None:
    """Match tax id, amount and window: unique both ways, or interchangeable where all is equal."""
    is_left = ledger.is_left() & (ledger.payments.customer != UNKNOWN)
    edges = _edges(ledger, np.flatnonzero(is_left), by_customer=True)
    lone, rest = _lone(edges)
    reason = Reason(Stage.CUSTOMER, "customer:tax_id+amount+window")
    ledger.match_exactly(lone["payment"].to_numpy(), lone["doc"].to_numpy(), reason)
    for options in _blocks(rest):
        pair_in_order(ledger, options, Reason(Stage.CUSTOMER, "customer:interchangeable"))


def suggest(ledger: Ledger) -> None:
    """Suggest a document to a payment without tax id, where amount and window leave one on both sides."""
    is_left = ledger.is_left() & (ledger.payments.customer == UNKNOWN)
    edges = _edges(ledger, np.flatnonzero(is_left), by_customer=False)
    lone, rest = _lone(edges)
    for payment, doc in zip(lone["payment"].tolist(), lone["doc"].tolist(), strict=True):
        evidence = {"suggestion": ledger.books.keys[doc], "candidates": 1}
        reason = Reason(Stage.SUGGESTION, "suggestion:amount+window", (doc,), evidence)
        ledger.decide(payment, Outcome.SUGGESTED, reason, Code.PAYMENT_NO_INVOICE)
    for payment, docs in rest.groupby("payment")["doc"]:
        several = tuple(docs.tolist())
        evidence = {"candidates": len(several)}
        reason = Reason(Stage.NONE, "none:several_of_the_amount", several, evidence)
        ledger.decide(int(str(payment)), Outcome.NO_DOCUMENT, reason, Code.PAYMENT_NO_INVOICE)


def pair_in_order(ledger: Ledger, options: Options, reason: Reason) -> None:
    """Pair equals with equals: payments oldest first, each with the document that is due first.

    Taking the earliest due at each step also pairs as many as possible, since windows are stretches of days.
    """
    taken: set[int] = set()
    group = sorted({doc for docs in options.values() for doc in docs})
    for payment in sorted(options):
        free = [doc for doc in options[payment] if doc not in taken and ledger.is_equal(doc, payment)]
        if not free:
            continue
        doc = min(free, key=lambda place: (int(ledger.books.until[place]), place))
        taken.add(doc)
        ledger.apply(payment, doc, int(ledger.payments.amount[payment]))
        rivals = tuple(other for other in group if other != doc)
        ledger.decide(payment, Outcome.INTERCHANGEABLE, Reason(reason.stage, reason.rule, rivals))


def _edges(ledger: Ledger, payments: Any, *, by_customer: bool) -> DataFrame:
    """Pair payments and open documents of one block whose dates fit."""
    left = DataFrame({
        "payment": payments,
        "currency": ledger.payments.currency[payments],
        "amount": ledger.payments.amount[payments],
        "day": ledger.payments.day[payments],
    })  # fmt: skip
    names = ["currency", "amount"]
    right = _asks(ledger)
    if by_customer:
        names.append("customer")
        left["customer"] = ledger.payments.customer[payments]
        right = right[right["customer"] != UNKNOWN]
    edges = left.merge(right, on=names)
    edges = edges[(edges["since"] <= edges["day"]) & (edges["day"] <= edges["until"])]
    return _possible(ledger, edges).sort_values(["payment", "doc"], ignore_index=True)


def _possible(ledger: Ledger, edges: DataFrame) -> Any:
    """Drop what people forbade, and documents whose notes make another balance on the payment's day."""
    noted = edges["doc"].isin(list(ledger.books.notes)).to_numpy()
    keep = np.ones(len(edges), dtype=bool)
    pairs = list(zip(edges["payment"].tolist(), edges["doc"].tolist(), strict=True))
    for place in np.flatnonzero(noted):
        payment, doc = pairs[place]
        is_dead = ledger.books.is_credited_before(doc, int(ledger.payments.day[payment]))
        keep[place] = not is_dead and ledger.is_equal(doc, payment)
    if ledger.forbidden:
        keep &= np.array([pair not in ledger.forbidden for pair in pairs], dtype=bool)
    return edges[keep].drop_duplicates(["payment", "doc"])


def _asks(ledger: Ledger) -> DataFrame:
    """List what documents ask for: their open balance, and where notes changed it each earlier one."""
    books, balance = ledger.books, ledger.open_now()
    docs = np.flatnonzero(balance > 0)
    asks = [(docs, balance[docs])]
    for doc in sorted(books.notes):
        if books.is_claim[doc] and not books.is_void[doc]:
            steps = np.cumsum([0, *(note.amount for note in books.notes[doc])])
            earlier = books.total[doc] - ledger.net_paid(doc) - steps
            earlier = np.unique(earlier[earlier > 0])
            asks.append((np.full(len(earlier), doc), earlier))
    doc, amount = (np.concatenate(parts) for parts in zip(*asks, strict=True))
    columns = {"currency": books.currency, "customer": books.customer, "since": books.since, "until": books.until}
    frame = DataFrame({"doc": doc, "amount": amount} | {name: values[doc] for name, values in columns.items()})
    return frame.drop_duplicates(["doc", "amount"])


def _lone(edges: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Divide edges into those unique both ways and the others."""
    is_lone = ~edges["payment"].duplicated(keep=False) & ~edges["doc"].duplicated(keep=False)
    return edges[is_lone], edges[~is_lone]


def _blocks(edges: DataFrame) -> list[Options]:
    """Group edges by customer, currency and amount: all their payments and documents are equal."""
    blocks: dict[tuple[int, int, int], Options] = {}
    for row in zip(
        *(edges[name].tolist() for name in ("currency", "customer", "amount", "payment", "doc")), strict=True
    ):
        currency, customer, amount, payment, doc = row
        block = blocks.setdefault((currency, customer, amount), defaultdict(list))
        block[payment].append(doc)
    return [blocks[key] for key in sorted(blocks)]
