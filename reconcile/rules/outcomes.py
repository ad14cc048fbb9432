"""The words of the result: outcomes of items and documents, stages of matching, states of payouts, exception codes."""

from enum import StrEnum


class Outcome(StrEnum):
    """What became of an item; it starts as unexplained and earns a better word."""

    MATCHED = "matched"
    MATCHED_WITH_DIFFERENCE = "matched_with_difference"
    PARTIAL = "partial"
    SET = "set"
    INTERCHANGEABLE = "interchangeable"
    AMBIGUOUS = "ambiguous"
    SUGGESTED = "suggested"
    NO_DOCUMENT = "no_document"
    DUPLICATE = "duplicate"
    REFUND = "refund"
    ADJUSTMENT = "adjustment"
    UNEXPLAINED = "unexplained"


APPLIED = frozenset(
    {Outcome.MATCHED, Outcome.MATCHED_WITH_DIFFERENCE, Outcome.PARTIAL, Outcome.SET, Outcome.INTERCHANGEABLE}
)


class DocumentOutcome(StrEnum):
    PAID = "paid"
    PARTLY_PAID = "partly_paid"
    OVERPAID = "overpaid"
    OPEN_NOT_DUE = "open_not_due"
    OVERDUE = "overdue"
    VOID = "void"
    CREDITED = "credited"


class Stage(StrEnum):
    KEY = "key"
    REFERENCE = "reference"
    CUSTOMER = "customer"
    SET = "set"
    MANUAL = "manual"
    SUGGESTION = "suggestion"
    NONE = "none"


class Recon(StrEnum):
    """How a payout stands."""

    CLOSED = "closed"
    # It ties out, and no source speaks of its account or its days.
    NO_BANK = "no_bank"
    OPEN = "open"
    NOT_DUE = "not_due"
    CANCELED = "canceled"
    RETURNED = "returned"
    INCOMPLETE = "incomplete"


class FeeSource(StrEnum):
    PROVIDER_CSV = "provider_csv"
    TARIFF = "tariff"
    RESIDUAL = "residual"


# States of a payout whose items wait for another one.
DEAD = ("canceled", "returned")


class Code(StrEnum):
    PAYOUT_IDENTITY = "PAYOUT_IDENTITY"
    PAYOUT_LATE = "PAYOUT_LATE"
    PAYOUT_NOT_IN_BANK = "PAYOUT_NOT_IN_BANK"
    PAYOUT_RETURNED = "PAYOUT_RETURNED"
    BANK_AMOUNT_DIFF = "BANK_AMOUNT_DIFF"
    BANK_SOURCES_DIFFER = "BANK_SOURCES_DIFFER"
    FEE_OUT_OF_BAND = "FEE_OUT_OF_BAND"
    PAYMENT_NO_INVOICE = "PAYMENT_NO_INVOICE"
    INVOICE_NO_PAYMENT = "INVOICE_NO_PAYMENT"
    AMOUNT_DIFF = "AMOUNT_DIFF"
    CURRENCY_DIFF = "CURRENCY_DIFF"
    CUSTOMER_DIFF = "CUSTOMER_DIFF"
    AMBIGUOUS = "AMBIGUOUS"
    DUPLICATE_PAYMENT = "DUPLICATE_PAYMENT"
    PAID_CANCELLED_DOC = "PAID_CANCELLED_DOC"
    REFUND_NO_CREDIT_NOTE = "REFUND_NO_CREDIT_NOTE"
    CREDIT_NOTE_NO_REFUND = "CREDIT_NOTE_NO_REFUND"
    SPLIT_MISMATCH = "SPLIT_MISMATCH"
    TRANSFER_RETURNED = "TRANSFER_RETURNED"
    ITEM_IN_TWO_PAYOUTS = "ITEM_IN_TWO_PAYOUTS"
    ITEM_IN_NO_PAYOUT = "ITEM_IN_NO_PAYOUT"
    DISPUTE_LOST = "DISPUTE_LOST"
    DISPUTE_OPEN = "DISPUTE_OPEN"
    EVENT_CONFLICT = "EVENT_CONFLICT"
    DATA_GAP = "DATA_GAP"
    RATE_MISSING = "RATE_MISSING"
    CALENDAR_GAP = "CALENDAR_GAP"


# These say of a payment that it has no certain document: a document that they name is not applied.
WITHOUT_DOCUMENT = frozenset(
    {
        Code.PAYMENT_NO_INVOICE, Code.AMBIGUOUS, Code.DUPLICATE_PAYMENT, Code.PAID_CANCELLED_DOC, Code.CURRENCY_DIFF,
    }
)  # fmt: skip

# Whole numbers of evidence that are no amounts.
COUNTED = frozenset(
    {
        "bank_days_left", "candidates", "credit_notes", "dates", "days", "days_late", "documents_fitting", "fee_payers",
        "payments_fitting", "rate_bps", "rivals_count", "sets_found", "sums_found", "year",
    }
)  # fmt: skip
