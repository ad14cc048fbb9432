"""Keys that several documents bear, such as one order with two invoices, and keys that contradict each other."""

import numpy as np

from reconcile.rules.keys import BARE_FOLIO, Keys
from reconcile.rules.ledger import Ledger, Reason
from reconcile.rules.outcomes import Code, Outcome, Stage
from reconcile.rules.payments import UNKNOWN
from reconcile.rules.placement import note_other_customers, place_keyed

Names = list[tuple[str, tuple[int, ...]]]


def settle_agreeing(ledger: Ledger, keys: Keys) -> Keys:
    """Where one key names a single document and no other key speaks against it, that document is named."""
    agreed = {payment: _agreed(_allowed(ledger, payment, names)) for payment, names in keys.several.items()}
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
        names = _allowed(ledger, payment, keys.several[payment])
        if names and ledger.outcome[payment] == Outcome.UNEXPLAINED:
            _place(ledger, payment, names)


def place_folios(ledger: Ledger, keys: Keys) -> None:
    """Decide payments that say nothing but a folio of several documents, where only one of these is open."""
    bare = {payment: names[0][1] for payment, names in keys.several.items() if _is_bare(names)}
    meant = {payment: _only_open(ledger, payment, bare[payment]) for payment in sorted(bare)}
    certain = {payment: doc for payment, doc in meant.items() if doc is not None}
    if certain:
        payments, docs = (np.array(list(places), dtype=np.int64) for places in (certain, certain.values()))
        place_keyed(ledger, Keys(payments, docs, np.full(len(certain), BARE_FOLIO, dtype=object)))


def _is_bare(names: Names) -> bool:
    return len(names) == 1 and names[0][0] == BARE_FOLIO


def _only_open(ledger: Ledger, payment: int, docs: tuple[int, ...]) -> int | None:
    open_ones = [doc for doc in docs if ledger.open_at(doc, payment) > 0]
    if len(open_ones) != 1:
        return None
    closed = (doc for doc in docs if doc != open_ones[0])
    return None if any(_fits_better(ledger, payment, doc, open_ones[0]) for doc in closed) else open_ones[0]


def _fits_better(ledger: Ledger, payment: int, closed: int, doc: int) -> bool:
    """Tell whether amount or payer speak for a document that is closed: then it may have been paid again."""
    books, payer = ledger.books, ledger.payments.customer[payment]
    is_its_amount = books.total[closed] == ledger.payments.amount[payment] and not ledger.is_equal(doc, payment)
    is_its_payer = payer != UNKNOWN and books.customer[closed] == payer != books.customer[doc]
    return bool(is_its_amount or is_its_payer)


def _allowed(ledger: Ledger, payment: int, names: Names) -> Names:
    names = [(rule, docs) for rule, docs in names if rule != BARE_FOLIO or len(docs) == 1]
    kept = [(rule, tuple(doc for doc in docs if (payment, doc) not in ledger.forbidden)) for rule, docs in names]
    kept = [(rule, _meant(ledger, payment, docs)) for rule, docs in kept if docs]
    # A bare folio says least: beside another key it neither decides nor contradicts.
    return [(rule, docs) for rule, docs in kept if rule != BARE_FOLIO] or kept


def _meant(ledger: Ledger, payment: int, docs: tuple[int, ...]) -> tuple[int, ...]:
    """Of documents under one name keep the payer's own, and for void ones take what was issued in their place."""
    books, payer = ledger.books, ledger.payments.customer[payment]
    if all(books.is_void[doc] for doc in docs):
        living = {target for doc in docs if (target := books.successor(doc)) is not None}
        docs = tuple(sorted(doc for doc in living if (payment, doc) not in ledger.forbidden)) or docs
    own = tuple(doc for doc in docs if payer != UNKNOWN and books.customer[doc] == payer)
    return own or docs


def _agreed(names: Names) -> tuple[int, str] | None:
    singles = [(docs[0], rule) for rule, docs in names if len(docs) == 1]
    if not singles or not all(singles[0][0] in docs for _, docs in names):
        return None
    return singles[0]


def _place(ledger: Ledger, payment: int, names: Names) -> None:
    rule = "+".join(rule for rule, _ in names)
    rivals = tuple(sorted({doc for _, docs in names for doc in docs}))
    common = sorted(set.intersection(*(set(docs) for _, docs in names)))
    books, amount = ledger.books, int(ledger.payments.amount[payment])
    open_ones = [
        doc
        for doc in common
        if not books.is_void[doc]
        and books.currency[doc] == ledger.payments.currency[payment]
        and ledger.open_at(doc, payment) > 0
    ]
    equal = [doc for doc in open_ones if ledger.is_equal(doc, payment)]
    # What a later note took back whole is meant last: its place was taken by the others.
    equal = [doc for doc in equal if not books.is_called_off(doc)] or equal
    if equal and _has_one_customer(ledger, equal):
        outcome = Outcome.MATCHED if len(equal) == 1 else Outcome.INTERCHANGEABLE
        ledger.apply(payment, equal[0], amount)
        ledger.decide(payment, outcome, Reason(Stage.KEY, f"key:{rule}:equal", tuple(equal[1:])))
        note_other_customers(ledger, np.array([payment]), np.array([equal[0]]))
    elif not equal and _has_one_customer(ledger, open_ones) and _sum_open(ledger, payment, open_ones) == amount:
        for doc in open_ones:
            ledger.apply(payment, doc, ledger.open_at(doc, payment))
        ledger.decide(payment, Outcome.SET, Reason(Stage.KEY, f"key:{rule}:all"))
        note_other_customers(ledger, np.array([payment]), np.array(open_ones[:1]))
    elif all(books.currency[doc] != ledger.payments.currency[payment] for doc in rivals):
        evidence = {"key": rule, "amount": amount, "named_documents": [books.keys[doc] for doc in rivals]}
        reason = Reason(Stage.NONE, f"key:{rule}:currency", rivals, evidence)
        ledger.decide(payment, Outcome.NO_DOCUMENT, reason, Code.CURRENCY_DIFF)
    elif all(books.is_void[doc] for doc in rivals):
        evidence = {"key": rule, "amount": amount, "named_documents": [books.keys[doc] for doc in rivals]}
        reason = Reason(Stage.NONE, f"key:{rule}:cancelled", rivals, evidence | {"document_state": "void"})
        ledger.decide(payment, Outcome.NO_DOCUMENT, reason, Code.PAID_CANCELLED_DOC)
    elif common and not open_ones and any(ledger.paid[doc] for doc in common):
        reason = Reason(Stage.KEY, f"key:{rule}:already_paid", tuple(common), {"key": rule, "amount": amount})
        ledger.decide(payment, Outcome.DUPLICATE, reason, Code.DUPLICATE_PAYMENT)
    else:
        evidence = {"key": rule, "amount": amount, "named_documents": [books.keys[doc] for doc in rivals]}
        reason = Reason(Stage.NONE, f"key:{rule}:several", rivals, evidence)
        ledger.decide(payment, Outcome.AMBIGUOUS, reason, Code.AMBIGUOUS)


def _has_one_customer(ledger: Ledger, docs: list[int]) -> bool:
    return len({int(ledger.books.customer[doc]) for doc in docs}) == 1


def _sum_open(ledger: Ledger, payment: int, docs: list[int]) -> int:
    return sum(ledger.open_at(doc, payment) for doc in docs)
