"""Money given back and credit notes: each wants the other."""

from collections import defaultdict
from typing import Any

import pandas as pd
from pandas import DataFrame

from reconcile.rules.documents import Note
from reconcile.rules.findings import About, to_finding
from reconcile.rules.inputs import Finding
from reconcile.rules.ledger import Ledger
from reconcile.rules.outcomes import Code
from reconcile.rules.payments import Refund

Amounts = list[tuple[int, int]]


def refund_findings(ledger: Ledger, applied: DataFrame) -> list[Finding]:
    """Find refunds of invoiced sales that no credit note explains; what was paid too much needs none.

    Too much is what a document had been paid when the refund was made: a sale paid again was given back before.
    """
    lonely: dict[str, tuple[Refund, int]] = {}
    payments = _payments_of(ledger, applied, sorted(ledger.refunded))
    for doc in sorted(ledger.refunded):
        for refund in _without_note(ledger, doc, payments[doc]):
            lonely.setdefault(refund.resource_id, (refund, doc))
    payment_of = {refund.resource_id: place for place, made in ledger.payments.refunds.items() for refund in made}
    return [_lonely_refund(ledger, refund, doc, payment_of[key]) for key, (refund, doc) in sorted(lonely.items())]


def note_findings(ledger: Ledger, applied: DataFrame) -> list[Finding]:
    """Find credit notes on paid documents for which nothing was given back."""
    found = []
    first_paid = _first_days(ledger, applied)
    for doc in sorted(set(ledger.books.notes) & set(first_paid)):
        if ledger.balance(doc) < 0 and not ledger.books.is_void[doc]:
            late = [note for note in ledger.books.notes[doc] if note.day >= first_paid[doc]]
            found += [_lonely_note(ledger, note, doc) for note in _without_refund(ledger, doc, late)]
    return found


def _without_note(ledger: Ledger, doc: int, payments: Amounts) -> list[Refund]:
    notes = [note.amount for note in ledger.books.notes.get(doc, ())]
    beyond = int(ledger.books.credited[doc] + ledger.adjusted[doc] - ledger.books.total[doc])
    lonely = []
    for refund, amount in sorted(ledger.refunded[doc], key=lambda entry: entry[1] not in notes):
        left = beyond + sum(paid for moment, paid in payments if moment <= refund.at)
        is_covered = left > 0 if notes else left >= amount
        if not is_covered:
            lonely.append(refund)
        beyond -= amount
    return lonely


def _payments_of(ledger: Ledger, applied: DataFrame, docs: list[int]) -> dict[int, Amounts]:
    """Give the moment and the amount of everything applied to some documents."""
    applied = applied[applied["doc"].isin(docs)]
    paid: dict[int, Amounts] = defaultdict(list)
    for payment, doc, amount in zip(*(applied[name].tolist() for name in ("payment", "doc", "applied")), strict=True):
        paid[doc].append((int(ledger.payments.moment[payment]), amount))
    return paid


def _without_refund(ledger: Ledger, doc: int, notes: list[Note]) -> list[Note]:
    refunds = [amount for _, amount in ledger.refunded.get(doc, ())]
    left = sum(refunds)
    lonely = []
    for note in sorted(notes, key=lambda written: written.amount not in refunds):
        if left <= 0:
            lonely.append(note)
        left -= note.amount
    return lonely


def _first_days(ledger: Ledger, applied: DataFrame) -> dict[int, int]:
    """Give the day of the first payment of each document that has notes."""
    noted = applied[applied["doc"].isin(list(ledger.books.notes))]
    days: dict[int, int] = {}
    for payment, doc in zip(noted["payment"].tolist(), noted["doc"].tolist(), strict=True):
        day = int(ledger.payments.day[payment])
        days[doc] = min(day, days.get(doc, day))
    return days


def _lonely_refund(ledger: Ledger, refund: Refund, doc: int, payment: int) -> Finding:
    row = ledger.payments.frame.iloc[payment]
    key = str(ledger.books.keys[doc])
    about = About(
        subject=f"resource:{refund.resource_id}",
        currency=str(row["currency"]),
        payout_id=refund.payout_id,
        resource_id=refund.resource_id,
        doc_key=key,
        evidence={"refund": refund.amount, "payment": str(row["resource_id"]), "document": key, "credit_notes": 0}
        | _noted(ledger, doc),
    )
    return to_finding(Code.REFUND_NO_CREDIT_NOTE, about, at_risk=refund.amount)


def _noted(ledger: Ledger, doc: int) -> dict[str, Any]:
    notes = ledger.books.notes.get(doc, ())
    return {"credit_notes": len(notes), "credited": sum(note.amount for note in notes)}


def _lonely_note(ledger: Ledger, note: Note, doc: int) -> Finding:
    frame = ledger.books.rows.iloc[ledger.books.place[note.doc]]
    key = str(frame["doc_key"])
    about = About(
        subject=f"document:{key}",
        currency=str(frame["currency"]),
        doc_key=key,
        evidence={
            "credit_note": note.amount,
            "document": str(ledger.books.keys[doc]),
            "paid": int(ledger.paid[doc]),
            "refunded": int(ledger.reopened[doc]),
            "issued": None if pd.isna(frame["issue_date"]) else frame["issue_date"].date().isoformat(),
        },
    )
    return to_finding(Code.CREDIT_NOTE_NO_REFUND, about, at_risk=note.amount)
