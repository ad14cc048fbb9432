"""Keys that name somebody else's document while the payer's own asks for just that amount: two evidences at odds."""

from collections import defaultdict
from typing import Any

import numpy as np

from reconcile.rules.keys import Keys
from reconcile.rules.ledger import Ledger, Reason
from reconcile.rules.outcomes import Code, Outcome, Stage
from reconcile.rules.payments import UNKNOWN
from reconcile.rules.placement import place_keyed


def set_aside(ledger: Ledger, keys: Keys) -> tuple[Keys, Keys]:
    """Divide keys that name one document: those to be believed at once, and those that wait, ambiguous until then."""
    payers, owners = ledger.payments.customer[keys.payments], ledger.books.customer[keys.docs]
    differs = (payers != owners) & (payers != UNKNOWN) & (owners != UNKNOWN) & ledger.is_left()[keys.payments]
    places = np.flatnonzero(differs)
    own = _own_documents(ledger, keys.payments[places])
    waits = np.zeros(len(keys.payments), dtype=bool)
    for place in places.tolist():
        payment, doc = int(keys.payments[place]), int(keys.docs[place])
        rivals = tuple(other for other in own[payment] if other != doc)
        if rivals and _could_be_matched(ledger, payment, doc):
            waits[place] = True
            _leave(ledger, payment, (doc, *rivals), str(keys.rules[place]))
    return _chosen(keys, ~waits, several=True), _chosen(keys, waits)


def place_set_aside(ledger: Ledger, waiting: Keys) -> Keys:
    """Believe the keys of payments whose own documents others paid since, and give back those that still wait."""
    own = _own_documents(ledger, waiting.payments)
    pairs = zip(waiting.payments.tolist(), waiting.docs.tolist(), strict=True)
    waits = np.array([any(other != doc for other in own[payment]) for payment, doc in pairs], dtype=bool)
    for payment in waiting.payments[~waits].tolist():
        ledger.undo(payment)
    place_keyed(ledger, _chosen(waiting, ~waits))
    return _chosen(waiting, waits)


def _chosen(keys: Keys, mask: Any, *, several: bool = False) -> Keys:
    return Keys(keys.payments[mask], keys.docs[mask], keys.rules[mask], keys.several if several else {})


def _could_be_matched(ledger: Ledger, payment: int, doc: int) -> bool:
    """Tell whether the key alone would match: any other difference is decided as it always is."""
    is_same = ledger.books.currency[doc] == ledger.payments.currency[payment] and not ledger.books.is_void[doc]
    return bool(is_same and (payment, doc) not in ledger.forbidden and ledger.is_equal(doc, payment))


def _own_documents(ledger: Ledger, payments: Any) -> dict[int, list[int]]:
    """List the payers' own open documents of exactly their amounts, within whose dates they paid."""
    books, paid = ledger.books, ledger.payments
    balance = ledger.open_now()
    concerned = np.isin(balance, paid.amount[payments]) & np.isin(books.customer, paid.customer[payments])
    asking: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    for doc in np.flatnonzero(concerned & (balance > 0)).tolist():
        asking[int(books.customer[doc]), int(books.currency[doc]), int(balance[doc])].append(doc)
    found: dict[int, list[int]] = {}
    for payment in payments.tolist():
        key = (int(paid.customer[payment]), int(paid.currency[payment]), int(paid.amount[payment]))
        day = paid.day[payment]
        found[payment] = [
            doc
            for doc in asking.get(key, ())
            if books.since[doc] <= day <= books.until[doc]
            and (payment, doc) not in ledger.forbidden
            and ledger.is_open_for(doc, payment)
        ]
    return found


def _leave(ledger: Ledger, payment: int, rivals: tuple[int, ...], rule: str) -> None:
    doc, *own = (str(ledger.books.keys[rival]) for rival in rivals)
    evidence = {
        "key": rule,
        "document": doc,
        "payer": ledger.payments.tax_id[payment],
        "customer": ledger.books.tax_id[rivals[0]],
        "equal_open_documents": own,
    }
    reason = Reason(Stage.NONE, f"key:{rule}:another_equal", rivals, evidence)
    ledger.decide(payment, Outcome.AMBIGUOUS, reason, Code.AMBIGUOUS)
