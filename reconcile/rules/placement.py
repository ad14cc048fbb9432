"""Payments that name documents, decided by the rows of the matching table that begin with a key, from the top."""

from bisect import bisect_right
from collections import defaultdict

import numpy as np

from consumer.facts.messages import Message
from reconcile.rules.columns import Indices, Mask, Words
from reconcile.rules.inputs import Evidence
from reconcile.rules.keys import Keys
from reconcile.rules.ledger import UNKNOWN, Ledger, Reason
from reconcile.rules.outcomes import Code, Outcome, Stage

Claims = dict[int, list[tuple[int, str]]]
# Open documents by customer (and again by `_ANY_CUSTOMER`), currency and open balance, in the order of their first day.
Twins = dict[tuple[int, int, int], list[int]]
_ANY_CUSTOMER = -2
_MOST_TWINS = 50


def place_keyed(ledger: Ledger, keys: Keys) -> None:
    """Decide every payment whose keys name one document: the exact ones first, then those that differ."""
    payments, docs, rules = _keep_allowed(ledger, keys)
    currency_differs = ledger.payments.currency[payments] != ledger.books.currency[docs]
    for payment, doc, rule in _list_claims(payments, docs, rules, currency_differs):
        evidence = {"key": rule, "document": ledger.books.keys[doc]} | _name_currencies(ledger, payment, doc)
        reason = Reason(Stage.NONE, f"key:{rule}:currency", (doc,), evidence)
        ledger.decide(payment, Outcome.NO_DOCUMENT, reason, Code.CURRENCY_DIFF)
    same = ~currency_differs
    plain = _are_plain(ledger, payments, docs, rules) & same
    for rule in sorted(set(rules[plain].tolist())):
        chosen = plain & (rules == rule)
        ledger.match_exactly(payments[chosen], docs[chosen], Reason(Stage.KEY, f"key:{rule}"))
    note_other_customers(ledger, payments[plain], docs[plain])
    claims: Claims = defaultdict(list)
    for payment, doc, rule in _list_claims(payments, docs, rules, same & ~plain):
        target = _follow_reissue(ledger, payment, doc, rule)
        if target is not None:
            claims[target].append((payment, rule))
    waiting = {doc: _place_equal(ledger, doc, named) for doc, named in sorted(claims.items())}
    waiting = {doc: named for doc, named in waiting.items() if named}
    twins = _index_twins(ledger, waiting)
    for doc, named in waiting.items():
        rest = named
        while rest:
            turn = next((claim for claim in rest if ledger.is_equal(doc, claim[0])), rest[0])
            rest = [claim for claim in rest if claim is not turn]
            _place(ledger, doc, turn, twins)


def _keep_allowed(ledger: Ledger, keys: Keys) -> tuple[Indices, Indices, Words]:
    """Drop what people decided already or forbade."""
    is_open = ledger.is_left()[keys.payments]
    pairs = zip(keys.payments.tolist(), keys.docs.tolist(), strict=True)
    if ledger.forbidden:
        is_open &= np.array([pair not in ledger.forbidden for pair in pairs], dtype=bool)
    return keys.payments[is_open], keys.docs[is_open], keys.rules[is_open]


def _list_claims(payments: Indices, docs: Indices, rules: Words, mask: Mask) -> list[tuple[int, int, str]]:
    return list(zip(payments[mask].tolist(), docs[mask].tolist(), rules[mask].tolist(), strict=True))


def _are_plain(ledger: Ledger, payments: Indices, docs: Indices, rules: Words) -> Mask:
    """Return which pairs are alone with each other, valid, untouched and equal: almost all of a good month."""
    books = ledger.books
    count = np.bincount(docs, minlength=len(books))
    has_note = np.zeros(len(books), dtype=bool)
    has_note[list(books.notes)] = True
    untouched = ~books.is_void & ~has_note & (ledger.paid == 0) & (ledger.adjusted == 0)
    equal = ledger.payments.amount[payments] == books.total[docs]
    plain: Mask = (count[docs] == 1) & untouched[docs] & equal & (rules != "")
    return plain


def _follow_reissue(ledger: Ledger, payment: int, doc: int, rule: str) -> int | None:
    """Follow a dead document to the one issued in its place; decide the payment when there is none."""
    books = ledger.books
    is_credited = books.is_credited_before(doc, int(ledger.payments.day[payment]))
    if not books.is_void[doc] and not is_credited:
        return doc
    target = books.successor(doc)
    if target is not None and (payment, target) not in ledger.forbidden:
        return target
    state = Message("note.void" if books.is_void[doc] else "note.fully_credited").code
    evidence = {"key": rule, "document": books.keys[doc], "document_state": state}
    evidence["valid_reissue"] = books.name_reissue(doc)
    reason = Reason(Stage.NONE, f"key:{rule}:cancelled", (doc,), evidence)
    ledger.decide(payment, Outcome.NO_DOCUMENT, reason, Code.PAID_CANCELLED_DOC)
    return None


def _place_equal(ledger: Ledger, doc: int, named: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Match payments while one equals the open balance, the oldest first; give back the others."""
    rest = sorted(named)
    while rest:
        turn = next((claim for claim in rest if ledger.is_equal(doc, claim[0])), None)
        if turn is None:
            break
        rest.remove(turn)
        _match(ledger, doc, turn)
    return rest


def _match(ledger: Ledger, doc: int, claim: tuple[int, str]) -> None:
    payment, rule = claim
    ledger.apply(payment, doc, int(ledger.payments.amount[payment]))
    ledger.decide(payment, Outcome.MATCHED, Reason(Stage.KEY, f"key:{rule}"))
    note_other_customers(ledger, np.array([payment]), np.array([doc]))


def note_other_customers(ledger: Ledger, payments: Indices, docs: Indices) -> None:
    """Add the code for another payer to matched payments."""
    payer, owner = ledger.payments.customer[payments], ledger.books.customer[docs]
    differs = (payer != owner) & (payer != UNKNOWN) & (owner != UNKNOWN)
    for payment in payments[differs].tolist():
        ledger.codes.setdefault(payment, []).append(Code.CUSTOMER_DIFF)


def _place(ledger: Ledger, doc: int, claim: tuple[int, str], twins: Twins) -> None:
    """Decide one payment that names a document, by the first row that applies."""
    payment, rule = claim
    payments, books = ledger.payments, ledger.books
    amount, found = int(payments.amount[payment]), ledger.open_at(doc, payment)
    evidence = {"key": rule, "document": books.keys[doc], "amount": amount, "open_balance": found}
    if found <= 0 < int(books.total[doc]):
        reason = Reason(Stage.KEY, f"key:{rule}:already_paid", (doc,), evidence)
        ledger.decide(payment, Outcome.DUPLICATE, reason, Code.DUPLICATE_PAYMENT)
        return
    if ledger.is_equal(doc, payment):
        _match(ledger, doc, claim)
        return
    payer, owner = int(payments.customer[payment]), int(books.customer[doc])
    if UNKNOWN not in (payer, owner) and payer != owner:
        evidence |= {"payer": payments.tax_id[payment], "customer": books.tax_id[doc]}
        reason = Reason(Stage.NONE, f"key:{rule}:other_customer", (doc,), evidence)
        ledger.decide(payment, Outcome.NO_DOCUMENT, reason, Code.PAYMENT_NO_INVOICE)
        return
    twin = _list_twins(ledger, twins, doc, payment)
    if twin:
        evidence["equal_open_documents"] = [books.keys[other] for other in twin]
        reason = Reason(Stage.NONE, f"key:{rule}:another_equal", (doc, *twin), evidence)
        ledger.decide(payment, Outcome.AMBIGUOUS, reason, Code.AMBIGUOUS)
        return
    _apply_difference(ledger, doc, claim, evidence)


def _list_twins(ledger: Ledger, twins: Twins, doc: int, payment: int) -> list[int]:
    """Return other open documents of exactly the payment's amount: its customer's, or of any customer it may be.

    An unknown payer may be the customer of any of them; those are asked within their dates.
    """
    books, payments = ledger.books, ledger.payments
    payer, owner, day = int(payments.customer[payment]), int(books.customer[doc]), payments.day[payment]
    is_known, customer = UNKNOWN not in (payer, owner), payer if payer != UNKNOWN else owner
    key = (payer if is_known else _ANY_CUSTOMER, int(payments.currency[payment]), int(payments.amount[payment]))
    equal = twins.get(key, [])
    found: list[int] = []
    for other in reversed(equal[: bisect_right(equal, day, key=lambda place: books.since[place])]):
        is_customers = customer != UNKNOWN and books.customer[other] == customer
        may_be = books.until[other] >= day and UNKNOWN in (payer, books.customer[other])
        could_be = other != doc and (is_customers or may_be) and (payment, other) not in ledger.forbidden
        if could_be and ledger.is_open_for(other, payment):
            found.append(other)
            if len(found) == _MOST_TWINS:
                break
    return sorted(found)


def _apply_difference(ledger: Ledger, doc: int, claim: tuple[int, str], evidence: Evidence) -> None:
    payment, rule = claim
    amount, found = int(ledger.payments.amount[payment]), ledger.open_at(doc, payment)
    evidence["difference"] = amount - found
    if abs(amount - found) <= ledger.rules.amount_tolerance:
        ledger.apply(payment, doc, found, difference=amount - found)
        reason = Reason(Stage.KEY, f"key:{rule}:rounding", (), evidence)
        ledger.decide(payment, Outcome.MATCHED_WITH_DIFFERENCE, reason)
    elif amount < found:
        ledger.apply(payment, doc, amount, difference=amount - found)
        ledger.decide(payment, Outcome.PARTIAL, Reason(Stage.KEY, f"key:{rule}:part", (), evidence))
    else:
        ledger.apply(payment, doc, amount, difference=amount - found)
        reason = Reason(Stage.KEY, f"key:{rule}:above", (), evidence)
        ledger.decide(payment, Outcome.MATCHED_WITH_DIFFERENCE, reason, Code.AMOUNT_DIFF)


def _index_twins(ledger: Ledger, waiting: Claims) -> Twins:
    """Index the open documents of the amounts concerned."""
    books, payments = ledger.books, ledger.payments
    amounts = {int(payments.amount[payment]) for named in waiting.values() for payment, _ in named}
    balance = ledger.open_now()
    twins: Twins = defaultdict(list)
    concerned = np.flatnonzero(balance)
    concerned = concerned[np.isin(balance[concerned], list(amounts))]
    for doc in concerned[np.argsort(books.since[concerned], kind="stable")].tolist():
        for customer in (int(books.customer[doc]), _ANY_CUSTOMER):
            twins[(customer, int(books.currency[doc]), int(balance[doc]))].append(doc)
    return twins


def _name_currencies(ledger: Ledger, payment: int, doc: int) -> Evidence:
    return {
        "payment_currency": ledger.payments.money[payment],
        "document_currency": ledger.books.money[doc],
    }


def set_aside(ledger: Ledger, keys: Keys) -> tuple[Keys, Keys]:
    """Divide keys that name one document: those to be believed at once, and those that wait, ambiguous until then."""
    payers, owners = ledger.payments.customer[keys.payments], ledger.books.customer[keys.docs]
    differs = (payers != owners) & (payers != UNKNOWN) & (owners != UNKNOWN) & ledger.is_left()[keys.payments]
    places = np.flatnonzero(differs)
    own = _list_own_documents(ledger, keys.payments[places])
    waits = np.zeros(len(keys.payments), dtype=bool)
    for place in places.tolist():
        payment, doc = int(keys.payments[place]), int(keys.docs[place])
        rivals = tuple(other for other in own[payment] if other != doc)
        if rivals and _could_be_matched(ledger, payment, doc):
            waits[place] = True
            _leave_borrowed(ledger, payment, (doc, *rivals), str(keys.rules[place]))
    return _choose(keys, ~waits, several=True), _choose(keys, waits)


def place_set_aside(ledger: Ledger, waiting: Keys) -> Keys:
    """Believe the keys of payments whose own documents others paid since, and give back those that still wait."""
    own = _list_own_documents(ledger, waiting.payments)
    pairs = zip(waiting.payments.tolist(), waiting.docs.tolist(), strict=True)
    waits = np.array([any(other != doc for other in own[payment]) for payment, doc in pairs], dtype=bool)
    for payment in waiting.payments[~waits].tolist():
        ledger.undo(payment)
    place_keyed(ledger, _choose(waiting, ~waits))
    return _choose(waiting, waits)


def _choose(keys: Keys, mask: Mask, *, several: bool = False) -> Keys:
    return Keys(keys.payments[mask], keys.docs[mask], keys.rules[mask], keys.several if several else {})


def _could_be_matched(ledger: Ledger, payment: int, doc: int) -> bool:
    """Return whether the key alone would match: any other difference is decided as it always is."""
    is_same = ledger.books.currency[doc] == ledger.payments.currency[payment] and not ledger.books.is_void[doc]
    return bool(is_same and (payment, doc) not in ledger.forbidden and ledger.is_equal(doc, payment))


def _list_own_documents(ledger: Ledger, payments: Indices) -> dict[int, list[int]]:
    """Return the payers' own open documents of exactly their amounts, within whose dates they paid."""
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


def _leave_borrowed(ledger: Ledger, payment: int, rivals: tuple[int, ...], rule: str) -> None:
    doc, *own = (str(ledger.books.keys[rival]) for rival in rivals)
    evidence: Evidence = {
        "key": rule,
        "document": doc,
        "payer": ledger.payments.tax_id[payment],
        "customer": ledger.books.tax_id[rivals[0]],
        "equal_open_documents": own,
    }
    reason = Reason(Stage.NONE, f"key:{rule}:another_equal", rivals, evidence)
    ledger.decide(payment, Outcome.AMBIGUOUS, reason, Code.AMBIGUOUS)
