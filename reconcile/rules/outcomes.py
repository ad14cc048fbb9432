"""The words of the result: outcomes, stages of matching, states of payouts, exception codes, and its columns."""

from enum import StrEnum

from consumer.facts.columns import Kind, to_columns


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
# States of a dispute whose money is gone, and of one that waits for no answer any more.
LOST = ("lost", "expired")
CLOSED = ("won", "canceled", *LOST)


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
    ITEM_IN_TWO_PAYOUTS = "ITEM_IN_TWO_PAYOUTS"
    ITEM_IN_NO_PAYOUT = "ITEM_IN_NO_PAYOUT"
    TRANSFER_RETURNED = "TRANSFER_RETURNED"
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

# The columns of `payout-summary` without `connection`.
PAYOUT_COLUMNS = to_columns(
    "payout_id mode country currency status created_at_utc succeeded_at_utc payout_date bank_day window_start "
    "window_end recipient_institution recipient_account_last4 payments_count payments_gross charges_count "
    "charges_gross refunds_count refunds_gross refund_adjustments disputes fee_total fee_net fee_vat fee_rate_pct "
    "fee_source computed_amount payout_amount difference expected_arrival bank_date bank_movement_id bank_amount "
    "bank_difference days_late matched_count unmatched_count status_recon exceptions"
)
# The columns of `payout-detail` without `connection`; a stored line has the document's key besides.
LINE_COLUMNS = to_columns(
    "payout_id resource_type resource_subtype resource_id line source_event_id occurred_at_utc local_date "
    "local_time bank_day amount_signed fee_total fee_net fee_vat net_amount currency customer_tax_id customer_name "
    "order_ref outcome match_stage match_rule rivals doc_country doc_type doc_series doc_folio doc_uuid doc_date "
    "doc_due_date doc_total applied_amount doc_balance_after difference expected_doc exception_code note"
)
# The columns of `documents` without `connection`.
DOCUMENT_COLUMNS = to_columns(
    "doc_key doc_type series folio uuid issue_date due_date customer_tax_id customer_name currency total outcome "
    "paid credited balance payments exception_code",
    payments=Kind.INT,
)
