"""The words of the result: outcomes, stages of matching, states of payouts, exception codes, and its columns."""

from enum import StrEnum
from typing import Self

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
    PAYER = "payer"
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
    INCOMPLETE = "incomplete"
    CANCELED = "canceled"
    RETURNED = "returned"


class FeeSource(StrEnum):
    PROVIDER_CSV = "provider_csv"
    TARIFF = "tariff"
    RESIDUAL = "residual"


# States of a payout whose items wait for another one.
DEAD = ("canceled", "returned")
# States of a dispute whose money is gone, and of one that waits for no answer any more.
LOST = ("lost", "expired")
CLOSED = ("won", "canceled", *LOST)


class Failure(StrEnum):
    """The first test that a payment and its nearest document do not pass, by the code of its words."""

    DECLINED = "note.declined"
    VOID = "note.document_is_void"
    CURRENCY = "note.currency"
    NO_TAX_ID = "note.no_tax_id"
    CUSTOMER = "note.customer"
    AMOUNT = "note.amount"
    DATE = "note.date"
    ANOTHER_SALE = "note.another_sale"
    NOT_ALONE = "note.not_alone"


class Severity(StrEnum):
    """How grave an exception is, the gravest first."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    INFO = "info"


SEVERITIES = tuple(severity.value for severity in Severity)
# The ages of exceptions in bank days.
_BUCKETS = ((1, "0-1"), (3, "2-3"), (7, "4-7"), (30, "8-30"))


def to_age_bucket(age: int) -> str:
    return next((name for limit, name in _BUCKETS if age <= limit), "over 30")


class Code(StrEnum):
    """An exception's code with the severity it usually has, its title and what to do about it, as a run keeps them.

    Pages and people's files say titles and actions in the words of the catalogues.
    """

    severity: Severity
    sentence: str
    action: str

    def __new__(cls, code: str, severity: Severity, sentence: str, action: str) -> Self:
        member = str.__new__(cls, code)
        member._value_ = code
        member.severity, member.sentence, member.action = severity, sentence, action
        return member

    PAYOUT_IDENTITY = (
        "PAYOUT_IDENTITY",
        Severity.HIGH,
        "The payout is not the sum of its items less fees",
        "Compare the payout with the provider's report; ask the provider about the difference",
    )
    PAYOUT_LATE = (
        "PAYOUT_LATE",
        Severity.HIGH,
        "The payout is still on its way after the day it was due",
        "Ask the provider when it will arrive",
    )
    PAYOUT_NOT_IN_BANK = (
        "PAYOUT_NOT_IN_BANK",
        Severity.HIGH,
        "The payout succeeded and the bank shows nothing",
        "Check the recipient account; ask the provider for proof of the transfer",
    )
    PAYOUT_RETURNED = (
        "PAYOUT_RETURNED",
        Severity.HIGH,
        "The bank returned the payout",
        "Check the recipient account's data with the provider; its items wait for another payout",
    )
    BANK_AMOUNT_DIFF = (
        "BANK_AMOUNT_DIFF",
        Severity.HIGH,
        "The bank shows another amount than the payout",
        "Compare the bank line with the payout; ask the bank about charges",
    )
    BANK_SOURCES_DIFFER = (
        "BANK_SOURCES_DIFFER",
        Severity.MEDIUM,
        "The account's movements and the bank's files tell different deposits of one day",
        "Compare the lines with the bank's own statement; read the movements again, or import the right file",
    )
    FEE_OUT_OF_BAND = (
        "FEE_OUT_OF_BAND",
        Severity.MEDIUM,
        "The fee is not what was agreed",
        "Compare the fee with the contract; ask the provider for a correction",
    )
    PAYMENT_NO_INVOICE = (
        "PAYMENT_NO_INVOICE",
        Severity.MEDIUM,
        "A payment has no invoice that is certain",
        "Find or issue the document, import it, or match the payment by hand",
    )
    INVOICE_NO_PAYMENT = (
        "INVOICE_NO_PAYMENT",
        Severity.MEDIUM,
        "A document is overdue and not fully paid",
        "Remind the customer, or match a payment by hand",
    )
    AMOUNT_DIFF = (
        "AMOUNT_DIFF",
        Severity.MEDIUM,
        "The amount paid differs from the document",
        "Collect or give back the difference, or accept it with a reason",
    )
    CURRENCY_DIFF = (
        "CURRENCY_DIFF",
        Severity.MEDIUM,
        "The currency is not that of the document or of the payout",
        "Match it by hand at the agreed rate or correct the document; ask the provider what the payout paid for it",
    )
    CUSTOMER_DIFF = (
        "CUSTOMER_DIFF",
        Severity.LOW,
        "The payer is not the document's customer",
        "Check whether one pays for the other",
    )
    AMBIGUOUS = (
        "AMBIGUOUS",
        Severity.MEDIUM,
        "Several documents explain the payment equally well",
        "Ask the customer which one was meant and match it by hand",
    )
    DUPLICATE_PAYMENT = (
        "DUPLICATE_PAYMENT",
        Severity.HIGH,
        "The document was already paid",
        "Refund the payment, or match it to another document",
    )
    PAID_CANCELLED_DOC = (
        "PAID_CANCELLED_DOC",
        Severity.HIGH,
        "The payment is for a cancelled document",
        "Issue the document again or refund the payment",
    )
    DOCUMENT_CHANGED = (
        "DOCUMENT_CHANGED",
        Severity.HIGH,
        "A later file states another amount, receiver or day than the document's XML",
        "Compare both with the tax office, and bring the right content in again",
    )
    EXPECTED_DOC_MISSING = (
        "EXPECTED_DOC_MISSING",
        Severity.MEDIUM,
        "The sale needs another kind of document",
        "Issue the document in the buyer's name, and take back the other one",
    )
    PAYMENT_NO_DOC_TRANSFER = (
        "PAYMENT_NO_DOC_TRANSFER",
        Severity.HIGH,
        "A bank transfer has no boleta or invoice",
        "Issue the boleta or the invoice of the transfer",
    )
    PAYMENT_DOUBLE_DOC = (
        "PAYMENT_DOUBLE_DOC",
        Severity.MEDIUM,
        "A card payment has both a voucher and a boleta",
        "Issue a credit note for the boleta, or declare that your sales are documented by boletas",
    )
    SII_MISSING = (
        "SII_MISSING",
        Severity.HIGH,
        "A document of the books is not in the tax office's register",
        "Send the document to the tax office, or add it to the return by hand",
    )
    LOCAL_MISSING = (
        "LOCAL_MISSING",
        Severity.MEDIUM,
        "The register has a document that the books have not",
        "Bring the document into the books",
    )
    SII_DIFF = (
        "SII_DIFF",
        Severity.MEDIUM,
        "Books and register say different things of a document",
        "Correct it by a note, or correct the books",
    )
    F29_DIFF = (
        "F29_DIFF",
        Severity.HIGH,
        "What was declared is not what the register or the documents come to, and no cause says why",
        "Compare the return with the register, and rectify the one that is wrong",
    )
    F29_RECTIFIED = (
        "F29_RECTIFIED",
        Severity.INFO,
        "The return of a month was filed again",
        "Look at what changed: closed figures of the month may be others",
    )
    REP_MISSING = (
        "REP_MISSING",
        Severity.HIGH,
        "A payment of a deferred invoice has no payment complement and its day has passed",
        "Issue the complement now",
    )
    REP_LATE = (
        "REP_LATE",
        Severity.HIGH,
        "A payment complement was issued after its day",
        "Nothing can be mended; issue the next ones by the fifth",
    )
    PUE_PAID_LATER = (
        "PUE_PAID_LATER",
        Severity.MEDIUM,
        "An invoice to be paid at once was not paid in its month",
        "Cancel it and issue it again as deferred, or collect it",
    )
    FORMA_PAGO_DIFF = (
        "FORMA_PAGO_DIFF",
        Severity.LOW,
        "The form of payment on the document is not how it was paid",
        "Issue the document again with the form that the money shows",
    )
    REFUND_NO_CREDIT_NOTE = (
        "REFUND_NO_CREDIT_NOTE",
        Severity.MEDIUM,
        "A refund of an invoiced sale has no credit note",
        "Issue the credit note",
    )
    CREDIT_NOTE_NO_REFUND = (
        "CREDIT_NOTE_NO_REFUND",
        Severity.MEDIUM,
        "A paid document was credited and nothing was refunded",
        "Refund the customer, or apply the credit to another document",
    )
    SPLIT_MISMATCH = (
        "SPLIT_MISMATCH",
        Severity.HIGH,
        "The shares of a split payment do not add up",
        "Ask the provider how the payment was split",
    )
    ITEM_IN_TWO_PAYOUTS = (
        "ITEM_IN_TWO_PAYOUTS",
        Severity.HIGH,
        "The same item is in two payouts",
        "Tell the provider: one of the two will be taken back",
    )
    ITEM_IN_NO_PAYOUT = (
        "ITEM_IN_NO_PAYOUT",
        Severity.HIGH,
        "A payment is in no payout though its time has passed",
        "Ask the provider in which payout it went",
    )
    ORDER_NOT_DELIVERED = (
        "ORDER_NOT_DELIVERED",
        Severity.MEDIUM,
        "The payment's order was not delivered",
        "Deliver the order, or refund the payment",
    )
    ORDER_NOT_PAID = (
        "ORDER_NOT_PAID",
        Severity.MEDIUM,
        "The order was delivered and no payment names it",
        "Look for the payment under another name, or ask the customer for it",
    )
    TRANSFER_RETURNED = (
        "TRANSFER_RETURNED",
        Severity.MEDIUM,
        "The bank sent a transfer back",
        "Check the account's data and send it again, or ask the payer to",
    )
    DISPUTE_LOST = (
        "DISPUTE_LOST",
        Severity.HIGH,
        "A dispute was lost, and what its payment paid is open again",
        "Collect the document again, issue its credit note or write it off with a reason",
    )
    DISPUTE_OPEN = (
        "DISPUTE_OPEN",
        Severity.MEDIUM,
        "A payment is disputed",
        "Send the provider what proves the sale before the deadline; in review, wait for its answer",
    )
    EVENT_CONFLICT = (
        "EVENT_CONFLICT",
        Severity.HIGH,
        "Two versions of one event disagree",
        "Compare both with the provider's object and replay the right one",
    )
    DATA_GAP = (
        "DATA_GAP",
        Severity.HIGH,
        "Data of a stream is missing, so what it could disprove is withheld",
        "Run backfill and pull, then reconcile again",
    )
    RATE_MISSING = (
        "RATE_MISSING",
        Severity.INFO,
        "The rate of a payment's day is not kept",
        "Import the rate of that day: cuadre rates import",
    )
    CALENDAR_GAP = (
        "CALENDAR_GAP",
        Severity.INFO,
        "The bank days of this year are not known, only its weekends",
        "Correct the dates, or update the program and the calendar file",
    )


# What the tax control lists after a run: no run finds these, and none takes them off the list.
OF_TAX = frozenset(
    {
        Code.PAYMENT_NO_DOC_TRANSFER, Code.PAYMENT_DOUBLE_DOC, Code.SII_MISSING, Code.LOCAL_MISSING, Code.SII_DIFF,
        Code.F29_DIFF, Code.F29_RECTIFIED, Code.REP_MISSING, Code.REP_LATE, Code.PUE_PAID_LATER, Code.FORMA_PAGO_DIFF,
    }
)  # fmt: skip
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
# The columns of `payout-detail` without `connection`.
LINE_COLUMNS = to_columns(
    "payout_id resource_type resource_subtype resource_id line source_event_id occurred_at_utc local_date "
    "local_time bank_day amount_signed fee_total fee_net fee_vat net_amount currency customer_tax_id customer_name "
    "order_ref outcome match_stage match_rule rivals doc_country doc_type doc_series doc_folio doc_uuid doc_date "
    "doc_due_date doc_total applied_amount doc_balance_after difference expected_doc exception_code note"
)
# Further columns of a stored line: its document's name, and what the journal posts of it. `vat_moved` is Mexico's:
# collected with a payment, below zero where it is given back; `reversed_…` is the document whose money went back;
# `fee_agreed` is what the tariff asks for the item, with VAT.
STORED_LINE_COLUMNS = (
    *LINE_COLUMNS,
    *to_columns("doc_key doc_customer_tax_id doc_vat vat_moved reversed_doc_key reversed_doc_total fee_agreed"),
)
# The columns of `documents` without `connection`.
DOCUMENT_COLUMNS = to_columns(
    "doc_key doc_type series folio uuid issue_date due_date customer_tax_id customer_name currency total outcome "
    "paid credited balance payments exception_code",
    payments=Kind.INT,
)
# What a run says of a line of the bank: `payout_id` is the payout that it brought, `file_line_id` its line in a file.
BANK_COLUMNS = to_columns(
    "account_last4 bank_day amount_signed currency description reference source movement_id file_line_id payout_id"
)
# Further columns of a stored document: how much of what is credited a person accepted.
STORED_DOCUMENT_COLUMNS = (*DOCUMENT_COLUMNS, *to_columns("adjusted_amount"))
