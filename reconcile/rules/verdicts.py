"""Exceptions of payments and documents: the decision, its evidence, and the candidate that came nearest."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

import numpy as np
from pandas import DataFrame

from consumer.facts.messages import Message
from consumer.facts.money import digits_of
from reconcile.rules.candidates import are_contradicted, find_void_rivals
from reconcile.rules.columns import Indices, Ints, Words, to_day, to_days
from reconcile.rules.findings import OF_VOID, About, to_finding
from reconcile.rules.inputs import Evidence, Finding, Inputs, rows_of
from reconcile.rules.keys import decode_metadata
from reconcile.rules.ledger import MOST_LISTED, UNKNOWN, Ledger
from reconcile.rules.outcomes import Code, DocumentOutcome, Failure, Outcome, Stage
from reconcile.rules.terms import BPS

_NONE = -1
_WITH_AMOUNT = (Failure.NO_TAX_ID, Failure.CUSTOMER, Failure.AMOUNT)
_ASKS = ("open_balance", "total")  # a void document has a total and no open balance
Miss = Evidence | None
_KEY_NAMES = ("uuid", "invoice", "invoice_id", "doc_type", "folio", "order_ref", "order_id")


def add_rates(ledger: Ledger, inputs: Inputs) -> list[Finding]:
    """Write the rate into the evidence of each currency difference; name the days whose rate is missing."""
    rates = {(row.currency, row.on.date().isoformat()): row.value for row in rows_of(inputs.rates)}
    kept = {currency for currency, _ in rates}
    missing: dict[tuple[str, str], list[str]] = defaultdict(list)
    for payment in sorted(payment for payment, codes in ledger.codes.items() if Code.CURRENCY_DIFF in codes):
        reason, day = ledger.reasons[payment], to_day(int(ledger.payments.day[payment]))
        doc = reason.rivals[0]
        priced, paid = str(ledger.books.money[doc]), str(ledger.payments.money[payment])
        if priced not in kept or paid != inputs.calendar.country.currency:
            continue
        value = rates.get((priced, day))
        if value is None:
            missing[priced, day].append(str(ledger.payments.ids[payment]))
            continue
        worth = convert(int(ledger.books.total[doc]), priced, value, paid)
        amount = int(ledger.payments.amount[payment])
        reason.evidence.update(rate=value, rate_on=day, document_at_that_rate=worth, difference=amount - worth)
    return [_to_missing(*key, payments, inputs) for key, payments in sorted(missing.items())]


def convert(amount: int, currency: str, rate: str, target: str) -> int:
    """Return minor units of another currency, rounded half up, in whole numbers alone."""
    _, digits, exponent = Decimal(rate).as_tuple()
    assert isinstance(exponent, int)
    numerator = amount * int("".join(map(str, digits))) * 10 ** (digits_of(target) + max(exponent, 0))
    denominator = 10 ** (digits_of(currency) + max(-exponent, 0))
    return int((2 * numerator + denominator) // (2 * denominator))


def _to_missing(currency: str, day: str, payments: list[str], inputs: Inputs) -> Finding:
    about = About(
        f"rate:{currency}:{date.fromisoformat(day)}",
        inputs.calendar.country.currency,
        evidence={"currency": currency, "day": day, "payments": payments},
        fact_on=date.fromisoformat(day),
    )
    return to_finding(Code.RATE_MISSING, about, at_risk=0)


@dataclass(frozen=True, slots=True)
class Pool:
    """Candidates sorted by block, amount and place; `key` is one number that sorts as block and amount do."""

    levels: Ints
    block: Ints
    key: Ints
    amount: Ints
    place: Indices

    def closest(self, blocks: Ints, amounts: Ints) -> Indices:
        """Return for each block and amount the candidate whose amount is closest, the earlier of two equally close."""
        if not len(self.key):
            return np.full(len(blocks), _NONE, dtype=np.int64)
        at = np.searchsorted(self.key, blocks * (len(self.levels) + 1) + np.searchsorted(self.levels, amounts))
        since, until = np.searchsorted(self.block, blocks), np.searchsorted(self.block, blocks, side="right")
        below, above = np.maximum(at - 1, 0), np.minimum(at, len(self.key) - 1)
        under, over = amounts - self.amount[below], self.amount[above] - amounts
        is_below = (under < over) | ((under == over) & (self.place[below] < self.place[above]))
        best = np.where((at > since) & (is_below | (at >= until)), below, above)
        first = np.searchsorted(self.key, self.key[best])
        return np.where(since < until, self.place[first], _NONE)


def _to_pool(blocks: Ints, amounts: Ints, places: Indices) -> Pool:
    known = blocks != UNKNOWN
    block, amount, place = blocks[known], amounts[known], places[known]
    levels, ranks = np.unique(amount, return_inverse=True)
    key = block * (len(levels) + 1) + ranks
    order = np.lexsort((place, key))
    return Pool(levels, block[order], key[order], amount[order], place[order])


@dataclass(frozen=True, slots=True)
class NearestMiss:
    """Looks up open documents for payments and unmatched payments for documents."""

    ledger: Ledger
    documents: tuple[Pool, Pool]
    payments: tuple[Pool, Pool]

    def of_payments(self, payments: list[int]) -> list[Miss]:
        """Return each payment's nearest document: its customer's, also a void one of its amount, or any equal one."""
        ledger, asking = self.ledger, np.array(payments, dtype=np.int64)
        if not len(ledger.books):
            return [None] * len(payments)
        amounts, balances = ledger.payments.amount[asking], ledger.balances()
        docs = self.documents[0].closest(ledger.payments.customer[asking], amounts)
        others = self.documents[1].closest(ledger.payments.currency[asking], amounts)
        is_equal = (others != _NONE) & (balances[others] == amounts)
        voids = find_void_rivals(ledger, asking, at_any_day=True)
        void = np.array([voids.get(payment, [_NONE])[0] for payment in payments], dtype=np.int64)
        is_exact = (docs != _NONE) & (balances[docs] == amounts)
        docs = np.where((docs == _NONE) & is_equal, others, docs)
        docs = np.where((void != _NONE) & ~is_exact, void, docs)
        failures = _find_first_failures(ledger, asking, docs)
        rows = zip(docs.tolist(), ledger.books.keys[docs], balances[docs].tolist(), failures, strict=True)
        return [
            None
            if doc == _NONE
            else {"document": str(key), _ASKS[failure["failed"] == Failure.VOID]: balance} | failure
            for doc, key, balance, failure in rows
        ]

    def of_documents(self, docs: list[int]) -> list[Miss]:
        """Return each document's nearest payment: its customer's, else one of exactly its balance."""
        ledger, asking = self.ledger, np.array(docs, dtype=np.int64)
        if not len(ledger.payments):
            return [None] * len(docs)
        balances, amounts = ledger.balances()[asking], ledger.payments.amount
        payments = self.payments[0].closest(ledger.books.customer[asking], balances)
        others = self.payments[1].closest(ledger.books.currency[asking], balances)
        is_equal = (others != _NONE) & (amounts[others] == balances)
        payments = np.where((payments == _NONE) & is_equal, others, payments)
        failures = _find_first_failures(ledger, payments, asking)
        rows = zip(payments.tolist(), ledger.payments.ids[payments], amounts[payments].tolist(), failures, strict=True)
        return [
            None if payment == _NONE else {"payment": str(identity), "amount": amount} | failure
            for payment, identity, amount, failure in rows
        ]


def index_misses(ledger: Ledger, applied: DataFrame) -> NearestMiss:
    books, payments = ledger.books, ledger.payments
    balance = ledger.open_now()
    docs = np.flatnonzero(balance > 0)
    is_applied = np.zeros(len(payments), dtype=bool)
    is_applied[applied["payment"].to_numpy(dtype=np.int64)] = True
    free = np.flatnonzero(~is_applied)
    return NearestMiss(
        ledger,
        (_to_pool(books.customer[docs], balance[docs], docs), _to_pool(books.currency[docs], balance[docs], docs)),
        (
            _to_pool(payments.customer[free], payments.amount[free], free),
            _to_pool(payments.currency[free], payments.amount[free], free),
        ),
    )


def _find_first_failures(ledger: Ledger, payments: Indices, docs: Indices) -> list[Evidence]:
    """Name the first test each pair fails: declined, void, currency, customer, amount, window, key, or not alone.

    A place of −1 stands for no document or payment; its failure has no meaning.
    """
    known, books = ledger.payments, ledger.books
    payer, owner, day = known.customer[payments], books.customer[docs], known.day[payments]
    difference, is_early = known.amount[payments] - ledger.balances()[docs], day < books.since[docs]
    pairs = zip(payments.tolist(), docs.tolist(), strict=True)
    tests = [
        (
            np.array([pair in ledger.forbidden for pair in pairs] if ledger.forbidden else False, dtype=bool),
            Failure.DECLINED,
        ),
        (books.is_void[docs], Failure.VOID),
        (known.currency[payments] != books.currency[docs], Failure.CURRENCY),
        ((payer == UNKNOWN) | (owner == UNKNOWN), Failure.NO_TAX_ID),
        (payer != owner, Failure.CUSTOMER),
        (difference != 0, Failure.AMOUNT),
        (is_early | (day > books.until[docs]), Failure.DATE),
    ]
    failed = np.select([mask for mask, _ in tests], range(len(tests)), default=len(tests))
    passed = np.flatnonzero(failed == len(tests))
    failed[passed[~are_contradicted(ledger, payments[passed], docs[passed])]] += 1
    names = [*(name for _, name in tests), Failure.ANOTHER_SALE, Failure.NOT_ALONE]
    days = (to_days(column) for column in (day, books.since[docs], books.until[docs]))
    rows = zip(failed.tolist(), difference.tolist(), is_early.tolist(), *days, strict=True)
    return [_to_failure(names[test], amount, *own, is_early=early) for test, amount, early, *own in rows]


def _to_failure(failure: Failure, difference: int, paid_on: str, since: str, until: str, *, is_early: bool) -> Evidence:
    """Return the test that failed with what was compared."""
    failed: Evidence = {"failed": failure.value}
    if failure == Failure.DATE:
        return failed | {"paid_on": paid_on} | ({"window_starts": since} if is_early else {"window_ends": until})
    return failed | {"amount_difference": difference} if failure in _WITH_AMOUNT else failed


def find_payment_faults(ledger: Ledger, applied: DataFrame, misses: NearestMiss) -> list[Finding]:
    """Name every payment that needs a person, each code of it once."""
    missing = _describe_missing(ledger, misses)
    docs_of, payers = _group_documents(applied, ledger), _group_payers(applied, ledger)
    found = [_to_short_part(ledger, payment, doc) for payment, doc in _list_short_parts(ledger, applied)]
    for payment in sorted(ledger.codes):
        for code in ledger.codes[payment]:
            if code == Code.AMOUNT_DIFF and _is_accepted(ledger, docs_of[payment]):
                continue
            evidence = _gather_evidence(ledger, payment, code, missing, docs_of)
            if code == Code.DUPLICATE_PAYMENT:
                evidence["paid_by"] = [payer for doc in ledger.reasons[payment].rivals for payer in payers[doc]]
            found.append(_to_finding(ledger, payment, code, evidence))
    return found


def _group_documents(applied: DataFrame, ledger: Ledger) -> dict[int, list[int]]:
    concerned = applied[applied["payment"].isin(list(ledger.codes))]
    docs: dict[int, list[int]] = defaultdict(list)
    for payment, doc in zip(concerned["payment"].tolist(), concerned["doc"].tolist(), strict=True):
        docs[payment].append(doc)
    return docs


def _group_payers(applied: DataFrame, ledger: Ledger) -> dict[int, list[str]]:
    """Return the payments of each document that was paid a second time."""
    twice = {
        doc
        for payment, codes in ledger.codes.items()
        if Code.DUPLICATE_PAYMENT in codes
        for doc in ledger.reasons[payment].rivals
    }
    concerned = applied[applied["doc"].isin(list(twice))].sort_values("payment")
    payers: dict[int, list[str]] = defaultdict(list)
    for payment, doc in zip(concerned["payment"].tolist(), concerned["doc"].tolist(), strict=True):
        payers[doc].append(ledger.payments.ids[payment])
    return payers


def _is_accepted(ledger: Ledger, docs: list[int]) -> bool:
    return bool(docs) and all(ledger.adjusted[doc] != 0 and ledger.balance(doc) == 0 for doc in docs)


def _to_finding(ledger: Ledger, payment: int, code: Code, evidence: Evidence) -> Finding:
    at_risk = int(ledger.payments.amount[payment])
    if code == Code.AMOUNT_DIFF:
        difference = evidence["difference"]
        assert isinstance(difference, int)
        at_risk = abs(difference)
    elif code == Code.CUSTOMER_DIFF:
        at_risk = 0
    about = _to_about(ledger, payment, _choose_doc_key(ledger, payment, code, evidence), evidence)
    nearest = evidence.get("nearest")
    is_of_void = isinstance(nearest, dict) and nearest.get("failed") == Failure.VOID
    return to_finding(code, about, at_risk=at_risk, action=OF_VOID if is_of_void else "")


def _to_about(ledger: Ledger, payment: int, doc_key: str | None, evidence: Evidence) -> About:
    payments = ledger.payments
    return About(
        subject=f"resource:{payments.ids[payment]}",
        currency=payments.money[payment],
        payout_id=payments.payout[payment],
        resource_id=payments.ids[payment],
        doc_key=doc_key,
        evidence=evidence,
    )


def _choose_doc_key(ledger: Ledger, payment: int, code: Code, evidence: Evidence) -> str | None:
    if code == Code.AMBIGUOUS:
        return None
    if "document" in evidence:
        return str(evidence["document"])
    rivals = ledger.reasons[payment].rivals
    return str(ledger.books.keys[rivals[0]]) if len(rivals) == 1 else None


def _gather_evidence(
    ledger: Ledger, payment: int, code: Code, missing: dict[int, Evidence], docs_of: dict[int, list[int]]
) -> Evidence:
    reason = ledger.reasons[payment]
    evidence: Evidence = {"rule": reason.rule, "amount": int(ledger.payments.amount[payment])} | reason.evidence
    if code == Code.CUSTOMER_DIFF:
        return evidence | _name_customers(ledger, payment, docs_of[payment])
    if code == Code.AMBIGUOUS:
        rivals = [str(ledger.books.keys[doc]) for doc in reason.rivals]
        decisive = Message("note.would_decide").code
        return evidence | {"rivals": rivals[:MOST_LISTED], "rivals_count": len(rivals), "would_decide": decisive}
    if code == Code.PAYMENT_NO_INVOICE:
        return evidence | missing[payment]
    return evidence


def _name_customers(ledger: Ledger, payment: int, docs: list[int]) -> Evidence:
    owner = ledger.books.tax_id[docs[0]]
    return {"document": ledger.books.keys[docs[0]], "payer": ledger.payments.tax_id[payment], "customer": owner}


def _describe_missing(ledger: Ledger, misses: NearestMiss) -> dict[int, Evidence]:
    """Describe for each payment without a certain document what it named and what came nearest."""
    lonely = [payment for payment, codes in ledger.codes.items() if Code.PAYMENT_NO_INVOICE in codes]
    texts = ledger.payments.frame["metadata"].take(lonely).to_numpy(dtype=object)
    return {
        payment: _describe_keys(ledger, payment, text) | {"nearest": miss}
        for payment, text, miss in zip(lonely, texts, misses.of_payments(lonely), strict=True)
    }


def _describe_keys(ledger: Ledger, payment: int, metadata: object) -> Evidence:
    reason = ledger.reasons[payment]
    evidence: Evidence = {} if "candidates" in reason.evidence else {"candidates": 0}
    said = decode_metadata(metadata) if reason.stage == Stage.NONE else {}
    named = {name: str(said[name]) for name in _KEY_NAMES if said.get(name) not in (None, "")} if said else {}
    if named:
        evidence["keys_in_the_payment"] = named
    return evidence | ledger.unsearched.get(payment, {})


def _list_short_parts(ledger: Ledger, applied: DataFrame) -> list[tuple[int, int]]:
    """Return the last part paid of each document that is short by little and declares no instalments."""
    is_part = ledger.outcome[applied["payment"].to_numpy()] == Outcome.PARTIAL
    parts = applied[applied["doc"].isin(applied["doc"][is_part])].sort_values(["doc", "payment"])
    last = parts.drop_duplicates("doc", keep="last")
    declared = {
        doc
        for payment, doc in zip(parts["payment"].tolist(), parts["doc"].tolist(), strict=True)
        if ledger.payments.in_parts[payment]
    }
    pairs = zip(last["payment"].tolist(), last["doc"].tolist(), strict=True)
    return [(payment, doc) for payment, doc in pairs if doc not in declared and _is_short(ledger, payment, doc)]


def _is_short(ledger: Ledger, payment: int, doc: int) -> bool:
    if ledger.reasons[payment].stage == Stage.MANUAL or ledger.outcome[payment] != Outcome.PARTIAL:
        return False
    rest = ledger.balance(doc)
    is_little = rest * BPS <= ledger.rules.short_payment_bps * int(ledger.books.total[doc])
    return rest > 0 and is_little and not ledger.books.is_ppd[doc]


def _to_short_part(ledger: Ledger, payment: int, doc: int) -> Finding:
    evidence = ledger.reasons[payment].evidence | {"rule": ledger.reasons[payment].rule, "rest": ledger.balance(doc)}
    about = _to_about(ledger, payment, str(ledger.books.keys[doc]), evidence)
    return to_finding(Code.AMOUNT_DIFF, about, at_risk=ledger.balance(doc))


def decide_documents(ledger: Ledger, inputs: Inputs) -> Words:
    """Return the outcome of each document on the as-of day."""
    books, balance = ledger.books, ledger.balances()
    today = np.datetime64(inputs.as_of, "D").astype(np.int64)
    has_note = np.zeros(len(books), dtype=bool)
    has_note[list(books.notes)] = True
    rules = [
        (books.is_void, DocumentOutcome.VOID),
        (~books.is_claim, DocumentOutcome.PAID),
        (has_note & (books.credited >= books.total), DocumentOutcome.CREDITED),
        (balance == 0, DocumentOutcome.PAID),
        (balance < 0, DocumentOutcome.OVERPAID),
        (books.due < today, DocumentOutcome.OVERDUE),
        (ledger.paid - ledger.reopened > 0, DocumentOutcome.PARTLY_PAID),
    ]
    words = np.array([*(str(word) for _, word in rules), str(DocumentOutcome.OPEN_NOT_DUE)], dtype=object)
    outcomes: Words = words[np.select([mask for mask, _ in rules], range(len(rules)), default=len(rules))]
    return outcomes


def find_overdue(ledger: Ledger, outcomes: Words, misses: NearestMiss) -> list[Finding]:
    books, docs = ledger.books, np.flatnonzero(outcomes == DocumentOutcome.OVERDUE)
    columns = {
        "due": to_days(books.due[docs]),
        "due_date_given": (~books.column("due_date", docs).isna()).tolist(),
        "total": books.total[docs].tolist(),
        "paid": (ledger.paid - ledger.reopened)[docs].tolist(),
        "credited": (books.credited + ledger.adjusted)[docs].tolist(),
        "nearest": misses.of_documents(docs.tolist()),
    }
    evidence = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    rows = zip(books.keys[docs], books.money[docs], ledger.balances()[docs].tolist(), evidence, strict=True)
    return [_to_overdue(str(key), currency, balance, known) for key, currency, balance, known in rows]


def _to_overdue(key: str, currency: str, balance: int, evidence: Evidence) -> Finding:
    about = About(f"document:{key}", currency, doc_key=key, evidence=evidence)
    return to_finding(Code.INVOICE_NO_PAYMENT, about, at_risk=balance)
