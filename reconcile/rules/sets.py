"""Sums that match: documents one payment pays together, and payments of one day that pay one document."""

from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np
import pandas as pd
from pandas import DataFrame

from consumer.facts.messages import Message
from reconcile.rules.candidates import are_contradicted, find_void_rivals, leave_to_void
from reconcile.rules.columns import Indices, Ints, Mask
from reconcile.rules.inputs import Evidence
from reconcile.rules.ledger import MOST_LISTED, UNKNOWN, Ledger, Reason
from reconcile.rules.outcomes import Code, Outcome, Stage
from reconcile.rules.references import find_named_documents
from reconcile.rules.terms import BPS

_SMALLEST = 2
# Documents, what each asks for, and the day from which it may be paid.
Pool = tuple[Indices, Ints, Ints]
_NEAR = 10  # amounts within a tenth are near
_FEWEST = 100  # a grain that is no hundredth of the amount leaves too few amounts near it to be counted
_GROUP = ["customer", "currency", "day"]


@dataclass(frozen=True, slots=True)
class Fits:
    """The documents a payment was compared with, what each asks for, and the sets of them that sum to it."""

    pool: Indices
    amounts: Ints
    sets: list[tuple[int, ...]]

    def chosen(self) -> list[int]:
        return sorted({doc for chosen in self.sets for doc in chosen})


def match_sets(ledger: Ledger) -> None:
    """Match payments whose amount exactly one set of their customer's open documents makes.

    All payments search the same pool; where two want one document, or one has several sets, none is certain. Nor is
    one where a set would likely fit any amount: that it is the only one is no proof then.
    """
    found = _search(ledger)
    named = find_named_documents(ledger, sorted(found), _list_chosen(found))
    wanted: dict[int, list[int]] = defaultdict(list)
    for payment, fits in found.items():
        for doc in fits.chosen():
            wanted[doc].append(payment)
    voids = find_void_rivals(ledger, np.array(sorted(found), dtype=np.int64))
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
    chance = estimate_chance(fits.amounts, int(ledger.payments.amount[payment]), ledger.rules.set_size, within)
    if chance > ledger.rules.set_chance_bps:
        _abstain(ledger, payment, fits.sets, "by_chance", {"sets_by_chance": f"{chance // BPS}.{chance % BPS:04}"})
        return
    balance = {doc: ledger.balance(doc) for doc in chosen}
    for doc in chosen:
        ledger.apply(payment, doc, balance[doc])
    ledger.decide(payment, Outcome.SET, Reason(Stage.SET, f"set:{len(chosen)}:only_one"))


def estimate_chance(amounts: Ints, target: int, largest: int, within: Indices) -> int:
    """Estimate how many sets more would fit a payment of about this amount by chance, in hundredths of a percent.

    That is how many sets sum to nearly the amount, by how many amounts there are as near. Both are counted in the
    coarsest grain that is worst: prices that end alike make sums that end alike. Sets that lack one of the documents
    at `within`, which the payment names, are no rivals.
    """
    choices = (list_choices(len(amounts), size) for size in range(_SMALLEST, min(largest, len(amounts)) + 1))
    sums = [amounts[chosen[_hold_all(chosen, within)]].sum(axis=1) for chosen in choices]
    return estimate_chance_of_sums(amounts, target, np.concatenate(sums) - target)


def estimate_chance_of_sums(amounts: Ints, target: int, away: Ints) -> int:
    """Estimate how many more sums would hit the target by chance, from their distances to it; one of them hits."""
    near = away[np.abs(away) * _NEAR <= target]
    rivals = ((grain, int(np.count_nonzero(near % grain == 0)) - 1) for grain in _list_grains(amounts, target))
    return max(grain * count * BPS * _NEAR // (2 * target) for grain, count in rivals)


def _hold_all(choices: Indices, within: Indices) -> Mask:
    """Return which choices hold all of some places."""
    held: Mask = np.isin(choices, within).sum(axis=1) == len(within)
    return held


def _list_grains(amounts: Ints, target: int) -> list[int]:
    """Return what differences of near sums could be multiples of: tens, and the divisor of the amounts' differences."""
    apart = int(np.gcd.reduce(amounts - amounts[0]))
    tens = (10**digits for digits in range(len(str(target))))
    return [1, *(grain for grain in (apart, *tens) if grain > 1 and grain * _FEWEST <= target)]


def find_sets(amounts: Ints, target: int, largest: int) -> list[tuple[int, ...]]:
    """Find the positions of every set of 2 to `largest` amounts that sums to the target."""
    found: list[tuple[int, ...]] = []
    for size in range(_SMALLEST, min(largest, len(amounts)) + 1):
        choices = list_choices(len(amounts), size)
        hits = np.flatnonzero(amounts[choices].sum(axis=1) == target)
        found += [tuple(choices[hit].tolist()) for hit in hits]
    return found


@lru_cache(maxsize=128)
def list_choices(count: int, size: int) -> Indices:
    """Return every choice of so many places out of a count."""
    flat = np.fromiter((place for chosen in combinations(range(count), size) for place in chosen), dtype=np.int64)
    return flat.reshape(-1, size)


def _list_chosen(found: dict[int, Fits]) -> Indices:
    return np.array(sorted({doc for fits in found.values() for doc in fits.chosen()}), dtype=np.int64)


def _search(ledger: Ledger) -> dict[int, Fits]:
    """Search for every undecided payment with a customer; a pool too large is left, and said so.

    Who declares instalments pays a part of one document.
    """
    pools, balance = _group_pools(ledger), ledger.open_now()
    found: dict[int, Fits] = {}
    is_left = ledger.is_left() & (ledger.payments.customer != UNKNOWN) & ~ledger.payments.in_parts
    for payment in np.flatnonzero(is_left).tolist():
        key = (int(ledger.payments.customer[payment]), int(ledger.payments.currency[payment]))
        pool = _keep_fitting(ledger, payment, pools[key]) if key in pools else np.array([], dtype=np.int64)
        if len(pool) < _SMALLEST:
            continue
        if len(pool) > ledger.rules.set_pool:
            ledger.leave_unsearched(payment, "sets", Message("note.too_many_documents", {"count": len(pool)}))
            continue
        amounts, target = balance[pool], int(ledger.payments.amount[payment])
        if int(np.sort(amounts)[-ledger.rules.set_size :].sum()) < target:
            continue
        sets = find_sets(amounts, target, ledger.rules.set_size)
        if sets:
            found[payment] = Fits(pool, amounts, [tuple(pool[list(chosen)].tolist()) for chosen in sets])
    return _drop_contradicted(ledger, found)


def _drop_contradicted(ledger: Ledger, found: dict[int, Fits]) -> dict[int, Fits]:
    """Leave out payments that name another sale than all documents that could be meant, or one that is in no set."""
    pairs = [(payment, doc) for payment, fits in found.items() for doc in fits.chosen()]
    if not pairs:
        return found
    payments, docs = (np.array(side, dtype=np.int64) for side in zip(*pairs, strict=True))
    named = find_named_documents(
        ledger, sorted(found), np.unique(np.concatenate([fits.pool for fits in found.values()]))
    )
    free = set(payments[~are_contradicted(ledger, payments, docs)].tolist())
    return {
        payment: fits
        for payment, fits in found.items()
        if payment in free and (named.get(payment, set()) & set(fits.pool.tolist())) <= set(fits.chosen())
    }


def _group_pools(ledger: Ledger) -> dict[tuple[int, int], Pool]:
    """Group open documents by customer and currency: places, balances, and the days from which they may be paid."""
    pools: dict[tuple[int, int], list[int]] = defaultdict(list)
    customer, currency = ledger.books.customer, ledger.books.currency
    concerned = ledger.payments.customer[ledger.is_left()]
    is_open = (ledger.open_now() > 0) & (customer != UNKNOWN) & np.isin(customer, concerned)
    for doc in np.flatnonzero(is_open).tolist():
        pools[(int(customer[doc]), int(currency[doc]))].append(doc)
    balance, since = ledger.open_now(), ledger.books.since
    return {key: (np.array(docs), balance[docs], since[docs]) for key, docs in pools.items()}


def _keep_fitting(ledger: Ledger, payment: int, pool: Pool) -> Indices:
    """Keep the documents that were open when the payment came and ask for less than it."""
    docs, balance, since = pool
    kept: Indices = docs[(since <= ledger.payments.day[payment]) & (balance < ledger.payments.amount[payment])]
    if ledger.went_back:
        kept = kept[np.array([ledger.is_open_for(doc, payment) for doc in kept.tolist()], dtype=bool)]
    if ledger.forbidden:
        kept = kept[np.array([(payment, doc) not in ledger.forbidden for doc in kept.tolist()], dtype=bool)]
    return kept


def _abstain(ledger: Ledger, payment: int, sets: list[tuple[int, ...]], why: str, evidence: Evidence) -> None:
    keys = ledger.books.keys
    listed = [[str(keys[doc]) for doc in chosen] for chosen in sets[:MOST_LISTED]]
    rivals = tuple(sorted({doc for chosen in sets for doc in chosen}))
    found: Evidence = {"sets": listed, "sets_found": len(sets)} | evidence
    ledger.decide(payment, Outcome.AMBIGUOUS, Reason(Stage.NONE, f"set:{why}", rivals, found), Code.AMBIGUOUS)


@dataclass(frozen=True, slots=True)
class Sum:
    """Payments, oldest first, that sum to what a document asks for; `chance` is how many more would by chance."""

    payments: tuple[int, ...]
    doc: int
    chance: int


def match_parts(ledger: Ledger) -> None:
    """Match payments of one day with the document they sum to, where no other sum nor equal document could be."""
    sums = _drop_contradicted_sums(ledger, _search_sums(ledger))
    payments = np.array([payment for one in sums for payment in one.payments], dtype=np.int64)
    totals = np.array([ledger.balance(one.doc) for one in sums for _ in one.payments], dtype=np.int64)
    alone, together = find_void_rivals(ledger, payments), find_void_rivals(ledger, payments, amounts=totals)
    of: dict[int, list[Sum]] = defaultdict(list)
    wanted: dict[int, list[Sum]] = defaultdict(list)
    for one in sums:
        wanted[one.doc].append(one)
        for payment in one.payments:
            of[payment].append(one)
    for one in sums:
        if len(wanted[one.doc]) == 1 and all(len(of[payment]) == 1 for payment in one.payments):
            voids = {doc for payment in one.payments for found in (alone, together) for doc in found.get(payment, ())}
            _decide_sum(ledger, one, sorted(voids))
    for payment, several in sorted(of.items()):
        if ledger.left[payment]:
            docs = tuple(sorted({one.doc for one in several}))
            _abstain_from_sum(ledger, payment, docs, "several", {"sums_found": len(several)})


def _decide_sum(ledger: Ledger, one: Sum, voids: list[int]) -> None:
    if voids:
        for payment in one.payments:
            leave_to_void(ledger, payment, "parts", [one.doc], voids)
    elif one.chance > ledger.rules.set_chance_bps:
        for payment in one.payments:
            _abstain_from_sum(
                ledger,
                payment,
                (one.doc,),
                "by_chance",
                {"sums_by_chance": f"{one.chance // BPS}.{one.chance % BPS:04}"},
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


def _abstain_from_sum(ledger: Ledger, payment: int, docs: tuple[int, ...], why: str, evidence: Evidence) -> None:
    ledger.decide(payment, Outcome.AMBIGUOUS, Reason(Stage.NONE, f"parts:{why}", docs, evidence), Code.AMBIGUOUS)


def _search_sums(ledger: Ledger) -> list[Sum]:
    """Search the days on which a customer made several unexplained payments; a group too large is noted."""
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
            found += _find_sums(ledger, group.to_numpy(), docs, balance[docs])
        elif len(docs):
            for payment in group.tolist():
                ledger.leave_unsearched(payment, "parts", Message("note.too_many_payments", {"count": len(group)}))
    return found


def _find_sums(ledger: Ledger, payments: Indices, docs: Indices, asked: Ints) -> list[Sum]:
    """Return every two to `set_size` payments that sum to one of the documents, none of them equal to one alone."""
    amounts = ledger.payments.amount[payments]
    is_free = ~np.isin(amounts, asked)
    payments, amounts = payments[is_free], amounts[is_free]
    largest = min(ledger.rules.set_size, len(payments))
    choices = [list_choices(len(payments), size) for size in range(_SMALLEST, largest + 1)]
    if not choices:
        return []
    sums = [amounts[chosen].sum(axis=1) for chosen in choices]
    found = []
    for doc, target in zip(docs.tolist(), asked.tolist(), strict=True):
        hits = [tuple(payments[chosen[place]].tolist()) for chosen, total in zip(choices, sums, strict=True)
                for place in np.flatnonzero(total == target)]  # fmt: skip
        if hits:
            away = (np.concatenate(sums)[:, None] - asked[None, :]).ravel()
            chance = estimate_chance_of_sums(np.concatenate([amounts, asked]), target, away)
            found += [Sum(hit, doc, chance) for hit in hits if not _is_refused(ledger, hit, doc)]
    return found


def _is_refused(ledger: Ledger, payments: tuple[int, ...], doc: int) -> bool:
    """Return whether a person turned a pair down, or what was open on the day was not what is open now."""
    is_declined = any((payment, doc) in ledger.forbidden for payment in payments)
    return is_declined or ledger.open_at(doc, payments[0]) != ledger.balance(doc)


def _drop_contradicted_sums(ledger: Ledger, sums: list[Sum]) -> list[Sum]:
    """Leave out sums with a payment that names another sale."""
    pairs = [(payment, one.doc) for one in sums for payment in one.payments]
    if not pairs:
        return sums
    payments, docs = (np.array(side, dtype=np.int64) for side in zip(*pairs, strict=True))
    against = set(pd.unique(payments[are_contradicted(ledger, payments, docs)]).tolist())
    named = find_named_documents(ledger, sorted(set(payments.tolist())), _list_open(ledger, payments))
    return [
        one
        for one in sums
        if not any(payment in against or named.get(payment, set()) - {one.doc} for payment in one.payments)
    ]


def _list_open(ledger: Ledger, payments: Indices) -> Indices:
    """Return the open documents of these payments' customers."""
    is_theirs = np.isin(ledger.books.customer, ledger.payments.customer[payments])
    return np.flatnonzero(is_theirs & (ledger.open_now() > 0))
