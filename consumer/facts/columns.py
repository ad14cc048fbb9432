"""Every column of reports, lists and evidence: its name and what its cells hold, declared here and nowhere else.

Files, pages, the JSON interface, the terminal and `explain` read the kind of a cell from here.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What a cell holds; `id` is text that must never be read as a number, `decimal` a number written as text."""

    TEXT = "text"
    ID = "id"
    MONEY = "money"
    INT = "int"
    DATE = "date"
    INSTANT = "instant"
    DECIMAL = "decimal"


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    kind: Kind


# A name has one kind wherever it stands; the few tables that mean something else by it say so themselves.
_NAMES = {
    Kind.TEXT: """
        action address age_bucket author bucket calendars cause closed_by code connection counterparty_name
        country currency customer_name direction doc_country document_type email error evidence exception_code
        expected_doc fee_source field figure file file_format has_note institution issue_type job kind
        local_time match_rule match_stage method mode name note ours outcome owner path reason reason_type
        recipient_institution reference removed_by reopened_by reopened_for resolution resource_subtype
        resource_type return_label return_raw rivals role run_ids scopes severity source state status
        status_recon stream subject suggested_action text theirs ties_to title type verdict who words before
        after account_key cost_centre description entry_type profiles tied_by tied_reason section
        side witness_a witness_b paid_at_local counts_as payer identity
    """,
    Kind.ID: """
        account account_id account_last4 account_masked bank_movement_id counterparty_tax_id customer_tax_id
        deposit_account doc_customer_tax_id doc_folio doc_key doc_series doc_type doc_uuid document_number
        entry_id exception_id external_id file_line_id first_sha256 folio id issuer_id last_payment_id match_to
        matched_to movement_id number operation order_ref other_sha256 payment_id payout_id period receiver_id
        recipient_account_last4 resource_id return_code reversed_doc_key reverses run_first run_id run_last
        series sha256 source_event_id statement_period tax_id tax_period taxpayer_id tracking_key
        transfer_batch_id transfer_id uuid dispute_id invoice_key issued_uuid operation_number payment_form
    """,
    Kind.MONEY: """
        adjusted_amount adjustments amount amount_a amount_at_risk amount_b amount_signed applied_amount balance
        balance_owed
        bank_amount bank_difference charges charges_gross closing computed computed_amount computed_closing
        computed_payment credit credit_balance credit_note credited debit difference disputes doc_balance_after
        doc_total doc_vat due_amount exempt exempt_amount explained fee fee_agreed fee_net fee_taken fee_total fee_vat
        fees gross identity_difference inbound invoice_net invoice_vat monthly_provisional_payments net
        net_amount open_balance opening other other_amount outbound paid payments payments_gross payout
        payout_amount payouts refund refund_adjustments refund_amount refunded refunds refunds_gross rest
        retention_fee reversed_doc_total salary salary_tax shares still_open taken_back total total_amount
        tax balance_after balance_before total_credit total_debit total_payment vat vat_amount vat_moved
        with_receipt withheld_fees
    """,
    Kind.INT: """
        added age_business_days age_days attempts bank_days_left candidates changed charges_count closing_items_count
        count credit_notes dates days days_late days_overdue decision documents_fitting documents_sent entries
        events exceptions export fee_payers fiscal_year line matched_count movements_missing_here
        movements_missing_there pages payments_count payments_fitting payouts_closed payouts_no_bank rate_bps
        instalment_number refunds_count rivals_count rows right rule
        sets_found sums_found times totals_accepted unmatched_count version without_answer wrong year
    """,
    Kind.DATE: """
        as_of asked_on bank_date bank_day booked_on date delivered_on doc_date doc_due_date due_date due_on
        expected_arrival expected_payout_day fact_on issue_date last_seen_on local_date opened_on operating_date
        payout_date resolved_on since until
    """,
    Kind.INSTANT: """
        at calendar_ts closed_at created_at created_at_utc decided_at disabled_at expires_at finished_at
        found_at from imported_at last_used_at made_at occurred_at_utc planned_at received_at removed_at
        reopened_at returned_at revoked_at seen_at started_at succeeded_at_utc to weighed_at window_end window_start
        due_at_utc opened_at_utc as_of_a as_of_b
    """,
    Kind.DECIMAL: "bound_pct fee_rate_pct rate_pct",
}
_KINDS = {name: kind for kind, names in _NAMES.items() for name in names.split()}


def kind_of(name: str, default: Kind = Kind.TEXT) -> Kind:
    """Return the kind of a name; evidence of earlier versions may have names that stand in no list."""
    return _KINDS.get(name, default)


def to_columns(names: str | Iterable[str], **kinds: Kind) -> tuple[Column, ...]:
    """Return the columns of a table by their names; `kinds` are those of names that mean something else there.

    Raise KeyError if a name is not declared here.
    """
    words = names.split() if isinstance(names, str) else names
    return tuple(Column(name, kinds[name] if name in kinds else _KINDS[name]) for name in words)
