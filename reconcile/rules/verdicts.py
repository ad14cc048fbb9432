"""Exceptions of payments and documents: what the ledger decided, with the evidence and the amount at risk."""

from collections import defaultdict
from typing import Any

import numpy as np
from pandas import DataFrame

from reconcile.rules.findings import OF_VOID, About, to_finding
from reconcile.rules.inputs import Finding, Inputs
from reconcile.rules.ledger import Ledger
from reconcile.rules.metadata import read_said
from reconcile.rules.nearest import IS_VOID, NearestMiss
from reconcile.rules.outcomes import Code, DocumentOutcome, Outcome, Stage
from reconcile.rules.timing import to_days

_MOST_LISTED = 20
_BPS = 10_000
_KEY_NAMES = ("uuid", "invoice", "invoice_id", "doc_type", "folio", "order_ref", "order_id")


def payment_findings(ledger: Ledger, applied: DataFrame, misses: NearestMiss) -> list[Finding]:
    """Name every payment that needs a person, each code of it once."""
    missing = _missing(ledger, misses)
    docs_of, payers = _docs_of(applied, ledger), _payers(applied, ledger)
    found = [_part_finding(ledger, payment, doc) for payment, doc in _short_parts(ledger, applied)]
    for payment in sorted(ledger.codes):
        for code in ledger.codes[payment]:
            if code == Code.AMOUNT_DIFF and _is_accepted(ledger, docs_of[payment]):
                continue
            evidence = _evidence(ledger, payment, code, missing, docs_of)
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
    about = _about(ledger, payment, _doc_key(ledger, payment, code, evidence), evidence)
    is_of_void = (evidence.get("nearest") or {}).get("failed") == IS_VOID
    return to_finding(code, about, at_risk=at_risk, action=OF_VOID if is_of_void else "")


def _about(ledger: Ledger, payment: int, doc_key: str | None, evidence: dict[str, Any]) -> About:
    payments = ledger.payments
    return About(
        subject=f"resource:{payments.ids[payment]}",
        currency=payments.money[payment],
        payout_id=payments.payout[payment],
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
    ledger: Ledger, payment: int, code: Code, missing: dict[int, dict[str, Any]], docs_of: dict[int, list[int]]
) -> dict[str, Any]:
    reason = ledger.reasons[payment]
    evidence: dict[str, Any] = {"rule": reason.rule, "amount": int(ledger.payments.amount[payment])} | reason.evidence
    if code == Code.CUSTOMER_DIFF:
        return evidence | _customers(ledger, payment, docs_of[payment])
    if code == Code.AMBIGUOUS:
        rivals = [str(ledger.books.keys[doc]) for doc in reason.rivals]
        decisive = "the document the customer meant, or a key in the payment's metadata"
        return evidence | {"rivals": rivals[:_MOST_LISTED], "rivals_count": len(rivals), "would_decide": decisive}
    if code == Code.PAYMENT_NO_INVOICE:
        return evidence | missing[payment]
    return evidence


def _customers(ledger: Ledger, payment: int, docs: list[int]) -> dict[str, Any]:
    owner = ledger.books.tax_id[docs[0]]
    return {"document": ledger.books.keys[docs[0]], "payer": ledger.payments.tax_id[payment], "customer": owner}


def _missing(ledger: Ledger, misses: NearestMiss) -> dict[int, dict[str, Any]]:
    """Say of each payment without a certain document what it named and what came nearest."""
    lonely = [payment for payment, codes in ledger.codes.items() if Code.PAYMENT_NO_INVOICE in codes]
    texts = ledger.payments.frame["metadata"].take(lonely).to_numpy(dtype=object)
    return {
        payment: _named(ledger, payment, text) | {"nearest": miss}
        for payment, text, miss in zip(lonely, texts, misses.of_payments(lonely), strict=True)
    }


def _named(ledger: Ledger, payment: int, metadata: Any) -> dict[str, Any]:
    reason = ledger.reasons[payment]
    evidence: dict[str, Any] = {} if "candidates" in reason.evidence else {"candidates": 0}
    said = read_said(metadata) if reason.stage == Stage.NONE else {}
    named = {name: str(said[name]) for name in _KEY_NAMES if said.get(name) not in (None, "")} if said else {}
    if named:
        evidence["keys_in_the_payment"] = named
    return evidence | ledger.unsearched.get(payment, {})


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
    words = np.array([*(str(word) for _, word in rules), str(DocumentOutcome.OPEN_NOT_DUE)], dtype=object)
    return words[np.select([mask for mask, _ in rules], range(len(rules)), default=len(rules))]


def overdue_findings(ledger: Ledger, outcomes: Any, misses: NearestMiss) -> list[Finding]:
    books, docs = ledger.books, np.flatnonzero(outcomes == DocumentOutcome.OVERDUE)
    columns = {
        "due": to_days(books.due[docs]),
        "due_date_given": (~books.column("due_date", docs).isna()).tolist(),
        "total": books.total[docs].tolist(),
        "paid": (ledger.paid - ledger.reopened)[docs].tolist(),
        "credited": (books.credited + ledger.adjusted)[docs].tolist(),
        "nearest": misses.of_documents(docs.tolist()),
    }
    told = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    rows = zip(books.keys[docs], books.money[docs], ledger.balances()[docs].tolist(), told, strict=True)
    return [_overdue(str(key), currency, balance, evidence) for key, currency, balance, evidence in rows]


def _overdue(key: str, currency: str, balance: int, evidence: dict[str, Any]) -> Finding:
    about = About(f"document:{key}", currency, doc_key=key, evidence=evidence)
    return to_finding(Code.INVOICE_NO_PAYMENT, about, at_risk=balance)
