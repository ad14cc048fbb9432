"""Exceptions of payments and documents: what the ledger decided, with the evidence and the amount at risk."""

from collections import defaultdict
from typing import Any

import numpy as np
import pandas as pd
from pandas import DataFrame

from reconcile.rules.findings import About, to_finding
from reconcile.rules.inputs import Finding, Inputs
from reconcile.rules.ledger import Ledger
from reconcile.rules.nearest import NearestMiss, nearest_misses
from reconcile.rules.outcomes import Code, DocumentOutcome, Outcome, Stage
from reconcile.rules.timing import to_day

_MOST_LISTED = 20
_BPS = 10_000
_KEY_NAMES = ("uuid", "invoice", "invoice_id", "doc_type", "folio", "order_ref", "order_id")


def payment_findings(ledger: Ledger, applied: DataFrame) -> list[Finding]:
    """Name every payment that needs a person, each code of it once."""
    misses = nearest_misses(ledger)
    docs_of, payers = _docs_of(applied, ledger), _payers(applied, ledger)
    found = [_part_finding(ledger, payment, doc) for payment, doc in _short_parts(ledger, applied)]
    for payment in sorted(ledger.codes):
        for code in ledger.codes[payment]:
            if code == Code.AMOUNT_DIFF and _is_accepted(ledger, docs_of[payment]):
                continue
            evidence = _evidence(ledger, payment, code, misses, docs_of)
            if code == Code.DUPLICATE_PAYMENT:
                evidence["paid_by"] = [payer for doc in ledger.reasons[payment].rivals for payer in payers[doc]]
            found.append(_finding(ledger, payment, code, evidence))
    return found


def _docs_of(applied: DataFrame, ledger: Ledger) -> dict[int, list[int]]:
    concerned = applied[applied["payment"].isin(list(ledger.codes))]
    docs: dict[int, list[int]] = defaultdict(list)
    for payment, doc in zip(concerned["payment"].tolist(), concerned["doc"].tolist(), strict=True):
        docs[payment].append(doc)
    return docs


def _payers(applied: DataFrame, ledger: Ledger) -> dict[int, list[str]]:
    """List the payments of each document that was paid a second time."""
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


def _finding(ledger: Ledger, payment: int, code: Code, evidence: dict[str, Any]) -> Finding:
    at_risk = int(ledger.payments.amount[payment])
    if code == Code.AMOUNT_DIFF:
        at_risk = abs(int(evidence["difference"]))
    elif code == Code.CUSTOMER_DIFF:
        at_risk = 0
    return to_finding(
        code, _about(ledger, payment, _doc_key(ledger, payment, code, evidence), evidence), at_risk=at_risk
    )


def _about(ledger: Ledger, payment: int, doc_key: str | None, evidence: dict[str, Any]) -> About:
    payments = ledger.payments
    return About(
        subject=f"resource:{payments.ids[payment]}",
        currency=payments.money[payment],
        payout_id=None if pd.isna(payments.payout[payment]) else payments.payout[payment],
        resource_id=payments.ids[payment],
        doc_key=doc_key,
        evidence=evidence,
    )


def _doc_key(ledger: Ledger, payment: int, code: Code, evidence: dict[str, Any]) -> str | None:
    if code == Code.AMBIGUOUS:
        return None
    if "document" in evidence:
        return str(evidence["document"])
    rivals = ledger.reasons[payment].rivals
    return str(ledger.books.keys[rivals[0]]) if len(rivals) == 1 else None


def _evidence(
    ledger: Ledger, payment: int, code: Code, misses: NearestMiss, docs_of: dict[int, list[int]]
) -> dict[str, Any]:
    reason = ledger.reasons[payment]
    evidence: dict[str, Any] = {"rule": reason.rule, "amount": int(ledger.payments.amount[payment])} | reason.evidence
    rivals = [str(ledger.books.keys[doc]) for doc in reason.rivals]
    if code == Code.CUSTOMER_DIFF:
        return evidence | _customers(ledger, payment, docs_of[payment])
    if code == Code.AMBIGUOUS:
        decisive = "the document the customer meant, or a key in the payment's metadata"
        return evidence | {"rivals": rivals[:_MOST_LISTED], "rivals_count": len(rivals), "would_decide": decisive}
    if code == Code.PAYMENT_NO_INVOICE:
        return evidence | _missing(ledger, payment, misses)
    return evidence


def _customers(ledger: Ledger, payment: int, docs: list[int]) -> dict[str, Any]:
    owner = ledger.books.tax_id[docs[0]]
    return {"document": ledger.books.keys[docs[0]], "payer": ledger.payments.tax_id[payment], "customer": owner}


def _missing(ledger: Ledger, payment: int, misses: NearestMiss) -> dict[str, Any]:
    said = ledger.payments.said(payment)
    named = {name: str(said[name]) for name in _KEY_NAMES if said.get(name) not in {None, ""}}
    evidence: dict[str, Any] = {"candidates": 0} if "candidates" not in ledger.reasons[payment].evidence else {}
    if named and ledger.reasons[payment].stage == Stage.NONE:
        evidence["keys_in_the_payment"] = named
    if payment in ledger.unsearched:
        evidence["sets"] = f"not searched: {ledger.unsearched[payment]} open documents"
    return evidence | {"nearest": misses.of_payment(payment)}


def _short_parts(ledger: Ledger, applied: DataFrame) -> list[tuple[int, int]]:
    """List the last part paid of each document that is short by little and declares no instalments."""
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
    is_little = rest * _BPS <= ledger.rules.short_payment_bps * int(ledger.books.total[doc])
    return rest > 0 and is_little and not ledger.books.is_ppd[doc]


def _part_finding(ledger: Ledger, payment: int, doc: int) -> Finding:
    evidence = ledger.reasons[payment].evidence | {"rule": ledger.reasons[payment].rule, "rest": ledger.balance(doc)}
    about = _about(ledger, payment, str(ledger.books.keys[doc]), evidence)
    return to_finding(Code.AMOUNT_DIFF, about, at_risk=ledger.balance(doc))


def document_outcomes(ledger: Ledger, inputs: Inputs) -> Any:
    """Say how each document stands on the as-of day."""
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
    words = [np.full(len(books), str(word), dtype=object) for _, word in rules]
    return np.select([mask for mask, _ in rules], words, default=str(DocumentOutcome.OPEN_NOT_DUE))


def overdue_findings(ledger: Ledger, outcomes: Any) -> list[Finding]:
    misses = nearest_misses(ledger)
    dated = ledger.books.frame["due_date"].notna().to_numpy()
    found = []
    for doc in np.flatnonzero(outcomes == DocumentOutcome.OVERDUE).tolist():
        key, balance = str(ledger.books.keys[doc]), ledger.balance(doc)
        evidence = {
            "due": to_day(ledger.books.due[doc]),
            "due_date_given": bool(dated[doc]),
            "total": int(ledger.books.total[doc]),
            "paid": int(ledger.paid[doc] - ledger.reopened[doc]),
            "credited": int(ledger.books.credited[doc] + ledger.adjusted[doc]),
            "nearest": misses.of_document(doc),
        }
        about = About(f"document:{key}", ledger.books.money[doc], doc_key=key, evidence=evidence)
        found.append(to_finding(Code.INVOICE_NO_PAYMENT, about, at_risk=balance))
    return found
