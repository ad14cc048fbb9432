"""Sets of documents of one customer that a payment sums to exactly: the only one, and none that fits by chance."""

from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np

from reconcile.rules.contradictions import are_contradicted
from reconcile.rules.ledger import Ledger, Reason
from reconcile.rules.outcomes import Code, Outcome, Stage
from reconcile.rules.payments import UNKNOWN
from reconcile.rules.references import documents_named
from reconcile.rules.void_rivals import leave_to_void, void_rivals

_MOST_LISTED = 20
_SMALLEST = 2
_BPS = 10_000
_NEAR = 10  # amounts within a tenth are near
_FEWEST = 100  # a grain that is no hundredth of the amount leaves too few amounts near it to be counted


@dataclass(frozen=True, slots=True)
class Fits:
    """The documents a payment was compared with, what each asks for, and the sets of them that sum to it."""

    pool: Any
    amounts: Any
    sets: list[tuple[int, ...]]

    def chosen(self) -> list[int]:
        return sorted({doc for chosen in self.sets for doc in chosen})


def match_sets(ledger: Ledger) -> None:
    """Match payments whose amount exactly one set of their customer's open documents makes.

    All payments search the same pool; where two want one document, or one has several sets, nobody is certain. Nor is
    one where a set would likely fit whatever was paid: that it is the only one proves nothing then.
    """
    found = _search(ledger)
    named = documents_named(ledger, sorted(found), _all_chosen(found))
    wanted: dict[int, list[int]] = defaultdict(list)
    for payment, fits in found.items():
        for doc in fits.chosen():
            wanted[doc].append(payment)
    voids = void_rivals(ledger, np.array(sorted(found), dtype=np.int64))
    for payment, fits in sorted(found.items()):
        if payment in voids:
            leave_to_void(ledger, payment, "set", fits.chosen(), voids[payment])
        else:
            _decide(ledger, payment, fits, named.get(payment, set()), wanted)


def _decide(ledger: Ledger, payment: int, fits: Fits, named: set[int], wanted: dict[int, list[int]]) -> None:
    chosen = fits.sets[0]
    is_contested = any(len(wanted[doc]) > 1 for doc in chosen)
    if len(fits.sets) > 1 or is_contested:
        _abstain(ledger, payment, fits.sets, "several", {"another_payment_wants_one": is_contested})
        return
    within = np.flatnonzero(np.isin(fits.pool, list(named & set(chosen))))
    chance = chance_bps(fits.amounts, int(ledger.payments.amount[payment]), ledger.rules.set_size, within)
    if chance > ledger.rules.set_chance_bps:
        _abstain(ledger, payment, fits.sets, "by_chance", {"sets_by_chance": f"{chance // _BPS}.{chance % _BPS:04}"})
        return
    balance = {doc: ledger.balance(doc) for doc in chosen}
    for doc in chosen:
        ledger.apply(payment, doc, balance[doc])
    ledger.decide(payment, Outcome.SET, Reason(Stage.SET, f"set:{len(chosen)}:only_one"))


def chance_bps(amounts: Any, target: int, largest: int, within: Any) -> int:
    """Say how many sets more would fit a payment of about this amount by chance, in hundredths of a percent.

    That is how many sets sum to nearly the amount, by how many amounts there are as near. Both are counted in the
    coarsest grain that is worst: prices that end alike make sums that end alike. Sets that lack one of the documents
    at `within`, which the payment names, are no rivals.
    """
    choices = (choices_of(len(amounts), size) for size in range(_SMALLEST, min(largest, len(amounts)) + 1))
    sums = [amounts[chosen[_hold(chosen, within)]].sum(axis=1) for chosen in choices]
    return chance_of_sums(amounts, target, np.concatenate(sums) - target)


def chance_of_sums(amounts: Any, target: int, away: Any) -> int:
    """Say how many sums more would hit the target by chance, from how far away each of them is; one of them hits."""
    near = away[np.abs(away) * _NEAR <= target]
    rivals = ((grain, int(np.count_nonzero(near % grain == 0)) - 1) for grain in _grains(amounts, target))
    return max(grain * count * _BPS * _NEAR // (2 * target) for grain, count in rivals)


def _hold(choices: Any, within: Any) -> Any:
    """Tell which choices hold all of some places."""
    return np.isin(choices, within).sum(axis=1) == len(within)


def _grains(amounts: Any, target: int) -> list[int]:
    """List what near sums could be multiples of, beside a rest they share: tens, and what the amounts are apart."""
    apart = int(np.gcd.reduce(amounts - amounts[0]))
    tens = (10**digits for digits in range(len(str(target))))
    return [1, *(grain for grain in (apart, *tens) if grain > 1 and grain * _FEWEST <= target)]


def find_sets(amounts: Any, target: int, largest: int) -> list[tuple[int, ...]]:
    """Find the positions of every set of 2 to `largest` amounts that sums to the target."""
    found: list[tuple[int, ...]] = []
    for size in range(_SMALLEST, min(largest, len(amounts)) + 1):
        choices = choices_of(len(amounts), size)
        hits = np.flatnonzero(amounts[choices].sum(axis=1) == target)
        found += [tuple(choices[hit].tolist()) for hit in hits]
    return found


@lru_cache(maxsize=128)
def choices_of(count: int, size: int) -> Any:
    """List every choice of so many places out of a count."""
    flat = np.fromiter((place for chosen in combinations(range(count), size) for place in chosen), dtype=np.int64)
    return flat.reshape(-1, size)


def _all_chosen(found: dict[int, Fits]) -> Any:
    return np.array(sorted({doc for fits in found.values() for doc in fits.chosen()}), dtype=np.int64)


def _search(ledger: Ledger) -> dict[int, Fits]:
    """Search for every undecided payment with a customer; a pool too large is left, and said so.

    Who declares instalments pays a part of one document.
    """
    pools, balance = _pools(ledger), ledger.open_now()
    found: dict[int, Fits] = {}
    is_left = ledger.is_left() & (ledger.payments.customer != UNKNOWN) & ~ledger.payments.in_parts
    for payment in np.flatnonzero(is_left).tolist():
        key = (int(ledger.payments.customer[payment]), int(ledger.payments.currency[payment]))
        pool = _fitting(ledger, payment, pools[key]) if key in pools else np.array([], dtype=np.int64)
        if len(pool) < _SMALLEST:
            continue
        if len(pool) > ledger.rules.set_pool:
            ledger.leave_unsearched(payment, "sets", f"{len(pool)} open documents")
            continue
        amounts, target = balance[pool], int(ledger.payments.amount[payment])
        if int(np.sort(amounts)[-ledger.rules.set_size :].sum()) < target:
            continue
        sets = find_sets(amounts, target, ledger.rules.set_size)
        if sets:
            found[payment] = Fits(pool, amounts, [tuple(pool[list(chosen)].tolist()) for chosen in sets])
    return _uncontradicted(ledger, found)


def _uncontradicted(ledger: Ledger, found: dict[int, Fits]) -> dict[int, Fits]:
    """Leave out payments that name another sale than all documents that could be meant, or one that is in no set."""
    pairs = [(payment, doc) for payment, fits in found.items() for doc in fits.chosen()]
    if not pairs:
        return found
    payments, docs = (np.array(side, dtype=np.int64) for side in zip(*pairs, strict=True))
    named = documents_named(ledger, sorted(found), np.unique(np.concatenate([fits.pool for fits in found.values()])))
    free = set(payments[~are_contradicted(ledger, payments, docs)].tolist())
    return {
        payment: fits
        for payment, fits in found.items()
        if payment in free and (named.get(payment, set()) & set(fits.pool.tolist())) <= set(fits.chosen())
    }


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
    """Keep the documents that were open when the payment came and ask for less than it."""
    docs, balance, since = pool
    kept = docs[(since <= ledger.payments.day[payment]) & (balance < ledger.payments.amount[payment])]
    if ledger.went_back:
        kept = kept[np.array([ledger.is_open_for(doc, payment) for doc in kept.tolist()], dtype=bool)]
    if not ledger.forbidden:
        return kept
    return kept[np.array([(payment, doc) not in ledger.forbidden for doc in kept.tolist()], dtype=bool)]


def _abstain(ledger: Ledger, payment: int, sets: list[tuple[int, ...]], why: str, evidence: dict[str, Any]) -> None:
    keys = ledger.books.keys
    listed = [[str(keys[doc]) for doc in chosen] for chosen in sets[:_MOST_LISTED]]
    rivals = tuple(sorted({doc for chosen in sets for doc in chosen}))
    told = {"sets": listed, "sets_found": len(sets)} | evidence
    ledger.decide(payment, Outcome.AMBIGUOUS, Reason(Stage.NONE, f"set:{why}", rivals, told), Code.AMBIGUOUS)
