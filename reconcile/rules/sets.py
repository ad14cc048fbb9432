"""Sets of documents of one customer that a payment sums to exactly, searched in full so that one is proved the only."""

from collections import defaultdict
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np

from reconcile.rules.contradictions import are_contradicted
from reconcile.rules.ledger import Ledger, Reason
from reconcile.rules.outcomes import Code, Outcome, Stage
from reconcile.rules.payments import UNKNOWN

_MOST_LISTED = 20
_SMALLEST = 2


def match_sets(ledger: Ledger) -> None:
    """Match payments whose amount exactly one set of their customer's open documents makes.

    All payments search the same pool; where two want one document, or one has several sets, nobody is certain.
    """
    found = _search(ledger)
    wanted: dict[int, list[int]] = defaultdict(list)
    for payment, sets in found.items():
        for doc in sorted({doc for chosen in sets for doc in chosen}):
            wanted[doc].append(payment)
    for payment, sets in sorted(found.items()):
        chosen = sets[0]
        is_contested = any(len(wanted[doc]) > 1 for doc in chosen)
        if len(sets) > 1 or is_contested:
            _abstain(ledger, payment, sets, is_contested=is_contested)
            continue
        balance = {doc: ledger.balance(doc) for doc in chosen}
        for doc in chosen:
            ledger.apply(payment, doc, balance[doc])
        ledger.decide(payment, Outcome.SET, Reason(Stage.SET, f"set:{len(chosen)}:only_one"))


def find_sets(amounts: Any, target: int, largest: int) -> list[tuple[int, ...]]:
    """Find the positions of every set of 2 to `largest` amounts that sums to the target."""
    found: list[tuple[int, ...]] = []
    for size in range(_SMALLEST, min(largest, len(amounts)) + 1):
        choices = _choices(len(amounts), size)
        hits = np.flatnonzero(amounts[choices].sum(axis=1) == target)
        found += [tuple(choices[hit].tolist()) for hit in hits]
    return found


@lru_cache(maxsize=128)
def _choices(count: int, size: int) -> Any:
    flat = np.fromiter((place for chosen in combinations(range(count), size) for place in chosen), dtype=np.int64)
    return flat.reshape(-1, size)


def _search(ledger: Ledger) -> dict[int, list[tuple[int, ...]]]:
    """Search for every undecided payment with a customer; a pool too large is left, and said so."""
    pools, balance = _pools(ledger), ledger.open_now()
    found: dict[int, list[tuple[int, ...]]] = {}
    is_left = ledger.is_left() & (ledger.payments.customer != UNKNOWN)
    for payment in np.flatnonzero(is_left).tolist():
        key = (int(ledger.payments.customer[payment]), int(ledger.payments.currency[payment]))
        pool = _fitting(ledger, payment, pools[key]) if key in pools else np.array([], dtype=np.int64)
        if len(pool) < _SMALLEST:
            continue
        if len(pool) > ledger.rules.set_pool:
            ledger.unsearched[payment] = len(pool)
            continue
        amounts, target = balance[pool], int(ledger.payments.amount[payment])
        if int(np.sort(amounts)[-ledger.rules.set_size :].sum()) < target:
            continue
        sets = find_sets(amounts, target, ledger.rules.set_size)
        chosen = pool[sorted({place for found_set in sets for place in found_set})]
        if len(chosen) and not are_contradicted(ledger, np.full(len(chosen), payment), chosen).all():
            found[payment] = [tuple(pool[list(chosen)].tolist()) for chosen in sets]
    return found


def _pools(ledger: Ledger) -> dict[tuple[int, int], Any]:
    """Group open documents by customer and currency: places, balances, and the days from which they may be paid."""
    pools: dict[tuple[int, int], list[int]] = defaultdict(list)
    customer, currency = ledger.books.customer, ledger.books.currency
    concerned = ledger.payments.customer[ledger.is_left()]
    is_open = (ledger.open_now() > 0) & (customer != UNKNOWN) & np.isin(customer, concerned)
    for doc in np.flatnonzero(is_open).tolist():
        pools[(int(customer[doc]), int(currency[doc]))].append(doc)
    balance, since = ledger.open_now(), ledger.books.since
    return {key: (np.array(docs), balance[docs], since[docs]) for key, docs in pools.items()}


def _fitting(ledger: Ledger, payment: int, pool: tuple[Any, Any, Any]) -> Any:
    """Keep the documents that existed and ask for less than the payment."""
    docs, balance, since = pool
    kept = docs[(since <= ledger.payments.day[payment]) & (balance < ledger.payments.amount[payment])]
    if not ledger.forbidden:
        return kept
    return kept[np.array([(payment, doc) not in ledger.forbidden for doc in kept.tolist()], dtype=bool)]


def _abstain(ledger: Ledger, payment: int, sets: list[tuple[int, ...]], *, is_contested: bool) -> None:
    keys = ledger.books.keys
    listed = [[str(keys[doc]) for doc in chosen] for chosen in sets[:_MOST_LISTED]]
    evidence = {"sets": listed, "sets_found": len(sets), "another_payment_wants_one": is_contested}
    rivals = tuple(sorted({doc for chosen in sets for doc in chosen}))
    ledger.decide(payment, Outcome.AMBIGUOUS, Reason(Stage.NONE, "set:several", rivals, evidence), Code.AMBIGUOUS)
