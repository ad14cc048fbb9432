"""Payments whose keys name several documents: those that agree on one, equal ones, all together, or none and why."""

from dataclasses import dataclass

import numpy as np

from consumer.facts.messages import Message
from reconcile.rules.inputs import Evidence
from reconcile.rules.keys import FOLIO, Keys
from reconcile.rules.ledger import UNKNOWN, Ledger, Reason
from reconcile.rules.outcomes import Code, Outcome, Stage
from reconcile.rules.placement import note_other_customers, place_keyed

Names = list[tuple[str, tuple[int, ...]]]


def settle_agreeing(ledger: Ledger, keys: Keys) -> Keys:
    """Add to the certain keys those that name a single document which no other key contradicts."""
    agreed = {
        payment: _find_agreed(_keep_allowed_names(ledger, payment, names)) for payment, names in keys.several.items()
    }
    certain = {payment: pair for payment, pair in agreed.items() if pair is not None}
    payments = sorted(certain)
    return Keys(
        np.concatenate([keys.payments, np.array(payments, dtype=np.int64)]),
        np.concatenate([keys.docs, np.array([certain[payment][0] for payment in payments], dtype=np.int64)]),
        np.concatenate([keys.rules, np.array([certain[payment][1] for payment in payments], dtype=object)]),
        {payment: names for payment, names in keys.several.items() if payment not in certain},
    )


def place_shared(ledger: Ledger, keys: Keys) -> None:
    """Decide the payments whose keys still name several documents, the oldest first."""
    for payment in sorted(keys.several):
        names = _keep_allowed_names(ledger, payment, keys.several[payment])
        if names and ledger.outcome[payment] == Outcome.UNEXPLAINED:
            _place_shared(ledger, payment, names)


def place_folios(ledger: Ledger, keys: Keys) -> None:
    """Decide payments that only name a folio of several documents, where only one of these is open."""
    bare = {payment: names[0][1] for payment, names in keys.several.items() if _is_bare(names)}
    meant = {payment: _find_only_open(ledger, payment, bare[payment]) for payment in sorted(bare)}
    certain = {payment: doc for payment, doc in meant.items() if doc is not None}
    if certain:
        payments, docs = (np.array(list(places), dtype=np.int64) for places in (certain, certain.values()))
        place_keyed(ledger, Keys(payments, docs, np.full(len(certain), FOLIO, dtype=object)))


def _is_bare(names: Names) -> bool:
    return len(names) == 1 and names[0][0] == FOLIO


def _find_only_open(ledger: Ledger, payment: int, docs: tuple[int, ...]) -> int | None:
    open_ones = [doc for doc in docs if not ledger.books.is_void[doc] and ledger.open_at(doc, payment) > 0]
    if len(open_ones) != 1:
        return None
    closed = (doc for doc in docs if doc != open_ones[0])
    return None if any(_fits_better(ledger, payment, doc, open_ones[0]) for doc in closed) else open_ones[0]


def _fits_better(ledger: Ledger, payment: int, closed: int, doc: int) -> bool:
    """Return whether amount or payer speak for a document that is closed: then it may have been paid again."""
    books, payer = ledger.books, ledger.payments.customer[payment]
    is_its_amount = books.total[closed] == ledger.payments.amount[payment] and not ledger.is_equal(doc, payment)
    is_its_payer = payer != UNKNOWN and books.customer[closed] == payer != books.customer[doc]
    return bool(is_its_amount or is_its_payer)


def _keep_allowed_names(ledger: Ledger, payment: int, names: Names) -> Names:
    names = [(rule, docs) for rule, docs in names if rule != FOLIO or len(docs) == 1]
    kept = [(rule, tuple(doc for doc in docs if (payment, doc) not in ledger.forbidden)) for rule, docs in names]
    kept = [(rule, _choose_meant(ledger, payment, docs)) for rule, docs in kept if docs]
    # A bare folio says least: with another key it neither decides nor contradicts.
    return [(rule, docs) for rule, docs in kept if rule != FOLIO] or kept


def _choose_meant(ledger: Ledger, payment: int, docs: tuple[int, ...]) -> tuple[int, ...]:
    """Of documents under one name keep the payer's own, and for void ones take what was issued in their place."""
    books, payer = ledger.books, ledger.payments.customer[payment]
    docs = tuple(doc for doc in docs if payer != UNKNOWN and books.customer[doc] == payer) or docs
    if all(books.is_void[doc] for doc in docs):
        living = {target for doc in docs if (target := books.successor(doc)) is not None}
        return tuple(sorted(doc for doc in living if (payment, doc) not in ledger.forbidden)) or docs
    valid = tuple(doc for doc in docs if not books.is_void[doc])
    is_void_meant = any(books.total[doc] == ledger.payments.amount[payment] for doc in set(docs) - set(valid))
    return docs if is_void_meant and not any(ledger.is_equal(doc, payment) for doc in valid) else valid


def _find_agreed(names: Names) -> tuple[int, str] | None:
    singles = [(docs[0], rule) for rule, docs in names if len(docs) == 1]
    if not singles or not all(singles[0][0] in docs for _, docs in names):
        return None
    return singles[0]


@dataclass(frozen=True, slots=True)
class _Named:
    """What a payment's names come to: all documents under them, those under every one, and of these the open ones.

    `equal` are the open ones of exactly the payment's amount.
    """

    payment: int
    rule: str
    rivals: tuple[int, ...]
    common: tuple[int, ...]
    open_ones: list[int]
    equal: list[int]

    def evidence(self, ledger: Ledger) -> Evidence:
        return {"key": self.rule, "amount": int(ledger.payments.amount[self.payment])}


def _place_shared(ledger: Ledger, payment: int, names: Names) -> None:
    """Decide one payment: parts that its complement states, equal documents, all of them together, or none and why."""
    named = _read(ledger, payment, names)
    amount = int(ledger.payments.amount[payment])
    if _are_stated(ledger, named, amount):
        _pay_parts(ledger, named)
    elif named.equal and _has_one_customer(ledger, named.equal):
        _pay_equal(ledger, named)
    elif not named.equal and _has_one_customer(ledger, named.open_ones) and _add_up_open(ledger, named) == amount:
        _pay_all(ledger, named)
    else:
        _leave_shared(ledger, named)


def _read(ledger: Ledger, payment: int, names: Names) -> _Named:
    books = ledger.books
    common = sorted(set.intersection(*(set(docs) for _, docs in names)))
    open_ones = [doc for doc in common if not books.is_void[doc] and _is_open(ledger, payment, doc)]
    equal = [doc for doc in open_ones if ledger.is_equal(doc, payment)]
    return _Named(
        payment,
        rule="+".join(rule for rule, _ in names),
        rivals=tuple(sorted({doc for _, docs in names for doc in docs})),
        common=tuple(common),
        open_ones=open_ones,
        # What a later note took back whole is meant last: its place was taken by the others.
        equal=[doc for doc in equal if not books.is_called_off(doc)] or equal,
    )


def _is_open(ledger: Ledger, payment: int, doc: int) -> bool:
    return ledger.books.currency[doc] == ledger.payments.currency[payment] and ledger.open_at(doc, payment) > 0


def _pay_equal(ledger: Ledger, named: _Named) -> None:
    doc, *others = named.equal
    outcome = Outcome.INTERCHANGEABLE if others else Outcome.MATCHED
    ledger.apply(named.payment, doc, int(ledger.payments.amount[named.payment]))
    ledger.decide(named.payment, outcome, Reason(Stage.KEY, f"key:{named.rule}:equal", tuple(others)))
    note_other_customers(ledger, np.array([named.payment]), np.array([doc]))


def _are_stated(ledger: Ledger, named: _Named, amount: int) -> bool:
    """Return True if a complement states of each named document a part that is open, and they are the payment."""
    parts = {doc: ledger.parts.get((named.payment, doc), 0) for doc in named.rivals}
    is_open = all(0 < part <= ledger.open_at(doc, named.payment) for doc, part in parts.items())
    is_whole = set(parts) == set(named.open_ones) and sum(parts.values()) == amount
    return is_open and is_whole and _has_one_customer(ledger, named.open_ones)


def _pay_parts(ledger: Ledger, named: _Named) -> None:
    for doc in named.open_ones:
        ledger.apply(named.payment, doc, ledger.parts[named.payment, doc])
    ledger.decide(named.payment, Outcome.SET, Reason(Stage.KEY, f"key:{named.rule}:stated"))
    note_other_customers(ledger, np.array([named.payment]), np.array(named.open_ones[:1]))


def _pay_all(ledger: Ledger, named: _Named) -> None:
    for doc in named.open_ones:
        ledger.apply(named.payment, doc, ledger.open_at(doc, named.payment))
    ledger.decide(named.payment, Outcome.SET, Reason(Stage.KEY, f"key:{named.rule}:all"))
    note_other_customers(ledger, np.array([named.payment]), np.array(named.open_ones[:1]))


def _leave_shared(ledger: Ledger, named: _Named) -> None:
    """Decide that no document is certain, and why: another currency, all void, all paid already, or several."""
    books, evidence = ledger.books, named.evidence(ledger)
    listed = evidence | {"named_documents": [books.keys[doc] for doc in named.rivals]}
    stage, rivals = Stage.NONE, named.rivals
    if all(books.currency[doc] != ledger.payments.currency[named.payment] for doc in named.rivals):
        why, outcome, code, evidence = "currency", Outcome.NO_DOCUMENT, Code.CURRENCY_DIFF, listed
    elif all(books.is_void[doc] for doc in named.rivals):
        why, outcome, code = "cancelled", Outcome.NO_DOCUMENT, Code.PAID_CANCELLED_DOC
        evidence = listed | {"document_state": Message("note.void").code}
    elif not named.open_ones and any(ledger.paid[doc] for doc in named.common):
        stage, rivals = Stage.KEY, named.common
        why, outcome, code = "already_paid", Outcome.DUPLICATE, Code.DUPLICATE_PAYMENT
    else:
        why, outcome, code, evidence = "several", Outcome.AMBIGUOUS, Code.AMBIGUOUS, listed
    ledger.decide(named.payment, outcome, Reason(stage, f"key:{named.rule}:{why}", rivals, evidence), code)


def _has_one_customer(ledger: Ledger, docs: list[int]) -> bool:
    return len({int(ledger.books.customer[doc]) for doc in docs}) == 1


def _add_up_open(ledger: Ledger, named: _Named) -> int:
    return sum(ledger.open_at(doc, named.payment) for doc in named.open_ones)
