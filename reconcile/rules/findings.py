"""Findings in plain words: severity, title and suggested action of every exception code."""

from datetime import date
from operator import attrgetter

from msgspec import Struct
from msgspec.structs import replace

from reconcile.rules.inputs import Evidence, Finding
from reconcile.rules.outcomes import Code

_SEVERITIES = ("high", "medium", "low", "info")

_WORDS: dict[Code, tuple[str, str, str]] = {
    Code.PAYOUT_IDENTITY: (
        "high",
        "The payout is not the sum of its items less fees",
        "Compare the payout with the provider's report; ask the provider about the difference",
    ),
    Code.PAYOUT_LATE: (
        "high",
        "The payout is still on its way after the day it was due",
        "Ask the provider when it will arrive",
    ),
    Code.PAYOUT_NOT_IN_BANK: (
        "high",
        "The payout succeeded and the bank shows nothing",
        "Check the recipient account; ask the provider for proof of the transfer",
    ),
    Code.PAYOUT_RETURNED: (
        "high",
        "The bank returned the payout",
        "Check the recipient account's data with the provider; its items wait for another payout",
    ),
    Code.BANK_AMOUNT_DIFF: (
        "high",
        "The bank shows another amount than the payout",
        "Compare the bank line with the payout; ask the bank about charges",
    ),
    Code.BANK_SOURCES_DIFFER: (
        "medium",
        "The account's movements and the bank's files tell different deposits of one day",
        "Compare the lines with the bank's own statement; read the movements again, or import the right file",
    ),
    Code.FEE_OUT_OF_BAND: (
        "medium",
        "The fee is not what was agreed",
        "Compare the fee with the contract; ask the provider for a correction",
    ),
    Code.PAYMENT_NO_INVOICE: (
        "medium",
        "A payment has no invoice that is certain",
        "Find or issue the document, import it, or match the payment by hand",
    ),
    Code.INVOICE_NO_PAYMENT: (
        "medium",
        "A document is overdue and not fully paid",
        "Remind the customer, or match a payment by hand",
    ),
    Code.AMOUNT_DIFF: (
        "medium",
        "The amount paid differs from the document",
        "Collect or give back the difference, or accept it with a reason",
    ),
    Code.CURRENCY_DIFF: (
        "medium",
        "The currency is not that of the document or of the payout",
        "Match it by hand at the agreed rate or correct the document; ask the provider what the payout paid for it",
    ),
    Code.CUSTOMER_DIFF: (
        "low",
        "The payer is not the document's customer",
        "Check whether one pays for the other",
    ),
    Code.AMBIGUOUS: (
        "medium",
        "Several documents explain the payment equally well",
        "Ask the customer which one was meant and match it by hand",
    ),
    Code.DUPLICATE_PAYMENT: (
        "high",
        "The document was already paid",
        "Refund the payment, or match it to another document",
    ),
    Code.PAID_CANCELLED_DOC: (
        "high",
        "The payment is for a cancelled document",
        "Issue the document again or refund the payment",
    ),
    Code.REFUND_NO_CREDIT_NOTE: (
        "medium",
        "A refund of an invoiced sale has no credit note",
        "Issue the credit note",
    ),
    Code.CREDIT_NOTE_NO_REFUND: (
        "medium",
        "A paid document was credited and nothing was refunded",
        "Refund the customer, or apply the credit to another document",
    ),
    Code.SPLIT_MISMATCH: (
        "high",
        "The shares of a split payment do not add up",
        "Ask the provider how the payment was split",
    ),
    Code.TRANSFER_RETURNED: (
        "medium",
        "The bank sent a transfer back",
        "Check the account's data and send it again, or ask the payer to",
    ),
    Code.ITEM_IN_TWO_PAYOUTS: (
        "high",
        "The same item is in two payouts",
        "Tell the provider: one of the two will be taken back",
    ),
    Code.ITEM_IN_NO_PAYOUT: (
        "high",
        "A payment is in no payout though its time has passed",
        "Ask the provider in which payout it went",
    ),
    Code.DISPUTE_LOST: (
        "high",
        "A dispute was lost, and what its payment paid is open again",
        "Collect the document again, issue its credit note or write it off with a reason",
    ),
    Code.DISPUTE_OPEN: (
        "medium",
        "A payment is disputed",
        "Send the provider what proves the sale before the deadline; in review, wait for its answer",
    ),
    Code.EVENT_CONFLICT: (
        "high",
        "Two versions of one event disagree",
        "Compare both with the provider's object and replay the right one",
    ),
    Code.DATA_GAP: (
        "high",
        "Data of a stream is missing, so what it could disprove is withheld",
        "Run backfill and pull, then reconcile again",
    ),
    Code.RATE_MISSING: (
        "info",
        "The rate of a payment's day is not kept",
        "Import the rate of that day: cuadre rates import",
    ),
    Code.CALENDAR_GAP: (
        "info",
        "The bank days of this year are not known, only its weekends",
        "Correct the dates, or update the program and the calendar file",
    ),
}

# What to do about a payment that has no document but a void one of just its amount.
OF_VOID = "Refund the payment, or issue the document again: the customer's document of this amount is void"


class About(Struct):
    """What a finding is about: its subject, the ids it touches, and the days and the customer only its rule knows."""

    subject: str
    currency: str
    payout_id: str | None = None
    resource_id: str | None = None
    doc_key: str | None = None
    evidence: Evidence = {}
    fact_on: date | None = None
    due_on: date | None = None
    customer_name: str | None = None


def to_finding(code: Code, about: About, *, at_risk: int, severity: str | None = None, action: str = "") -> Finding:
    """Word a finding; what was found may weigh more or less than its code does, and ask for another action."""
    usual, title, usual_action = _WORDS[code]
    return Finding(
        code=str(code),
        severity=severity or usual,
        subject=about.subject,
        title=title,
        amount_at_risk=int(at_risk),
        currency=about.currency,
        payout_id=about.payout_id,
        resource_id=about.resource_id,
        doc_key=about.doc_key,
        evidence=about.evidence,
        suggested_action=action or usual_action,
        fact_on=about.fact_on,
        due_on=about.due_on,
        customer_name=about.customer_name,
    )


def merge_currency_differences(findings: list[Finding]) -> list[Finding]:
    """Where a payment differs in currency from its document and from its payout, tell both in one, at risk once."""
    differing = [finding for finding in findings if finding.code == Code.CURRENCY_DIFF]
    of_payouts = {(found.resource_id, found.payout_id): found for found in differing if "@" in found.subject}
    of_documents = {(found.resource_id, found.payout_id): found for found in differing if "@" not in found.subject}
    kept = [finding for finding in findings if finding.code != Code.CURRENCY_DIFF]
    for at, found in of_documents.items():
        evidence = of_payouts.pop(at).evidence if at in of_payouts else {}
        kept.append(replace(found, evidence=evidence | found.evidence))
    return [*kept, *of_payouts.values()]


def sort_findings(findings: list[Finding]) -> tuple[Finding, ...]:
    """Sort by severity, code and subject, which is a total order."""
    alike: dict[tuple[int, str], list[Finding]] = {}
    for finding in findings:
        alike.setdefault((_SEVERITIES.index(finding.severity), finding.code), []).append(finding)
    subject = attrgetter("subject")
    return tuple(finding for kind in sorted(alike) for finding in sorted(alike[kind], key=subject))
