"""Money given back and credit notes: each wants the other."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pandas as pd
from pandas import DataFrame

from reconcile.rules.documents import Note
from reconcile.rules.findings import About, to_finding
from reconcile.rules.inputs import Finding
from reconcile.rules.ledger import Ledger
from reconcile.rules.outcomes import Code
from reconcile.rules.payments import Reversal

Amounts = list[tuple[int, int]]


def refund_findings(ledger: Ledger, applied: DataFrame) -> list[Finding]:
    """Find refunds of invoiced sales that no credit note explains; what was paid too much needs none.

    Too much is what a document had been paid when the refund was made: a sale paid again was given back before.
    """
    lonely: dict[str, tuple[Reversal, int]] = {}
    for doc, found in uncovered(ledger, applied).items():
        for reversal, _, rest in found:
            if rest > 0 and not reversal.is_dispute:
                lonely.setdefault(reversal.resource_id, (reversal, doc))
    payment_of = {one.resource_id: place for place, made in ledger.payments.reversals.items() for one in made}
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


def uncovered(ledger: Ledger, applied: DataFrame) -> dict[int, list[tuple[Reversal, int, int]]]:
    """Give for each document what went back of it, each with its amount there and the part that nothing covers.

    Credit notes and what people accepted cover it, and payments beyond the total: of a refund those made by then, of
    a lost dispute any. A refund is covered whole or not at all.
    """
    docs = sorted(ledger.went_back)
    payments = _payments_of(ledger, applied, docs)
    return {doc: list(_uncovered(ledger, doc, payments[doc])) for doc in docs}


def _uncovered(ledger: Ledger, doc: int, payments: Amounts) -> Iterator[tuple[Reversal, int, int]]:
    notes = [note.amount for note in ledger.books.notes.get(doc, ())]
    beyond = int(ledger.books.credited[doc] + ledger.adjusted[doc] - ledger.books.total[doc])
    for reversal, amount in sorted(ledger.went_back[doc], key=lambda entry: entry[1] not in notes):
        counted = (paid for moment, paid in payments if reversal.is_dispute or moment <= reversal.at)
        left = beyond + sum(counted)
        beyond -= amount
        if reversal.is_dispute:
            yield reversal, amount, amount - min(amount, max(left, 0))
        else:
            is_covered = left > 0 if notes else left >= amount
            yield reversal, amount, 0 if is_covered else amount


def _payments_of(ledger: Ledger, applied: DataFrame, docs: list[int]) -> dict[int, Amounts]:
    """Give the moment and the amount of everything applied to some documents."""
    applied = applied[applied["doc"].isin(docs)]
    paid: dict[int, Amounts] = defaultdict(list)
    for payment, doc, amount in zip(*(applied[name].tolist() for name in ("payment", "doc", "applied")), strict=True):
        paid[doc].append((int(ledger.payments.moment[payment]), amount))
    return paid


def _without_refund(ledger: Ledger, doc: int, notes: list[Note]) -> list[Note]:
    amounts = [amount for _, amount in ledger.went_back.get(doc, ())]
    left = sum(amounts)
    lonely = []
    for note in sorted(notes, key=lambda written: written.amount not in amounts):
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


def _lonely_refund(ledger: Ledger, refund: Reversal, doc: int, payment: int) -> Finding:
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
