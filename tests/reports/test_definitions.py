"""The catalogue, held against the contract other programs rely on."""

from reports.shapes.columns import COLUMNS, LANGUAGES
from reports.shapes.definitions import CATALOGUE

# Copied from the contract's table by hand, so that a change of code cannot change what it is compared with.
CONTRACT = {
    "payout-summary": (
        "payout_id, connection, mode, country, currency, status, created_at_utc, succeeded_at_utc, payout_date, "
        "bank_day, window_start, window_end, recipient_institution, recipient_account_last4, payments_count, "
        "payments_gross, charges_count, charges_gross, refunds_count, refunds_gross, refund_adjustments, disputes, "
        "fee_total, fee_net, fee_vat, fee_rate_pct, fee_source, computed_amount, payout_amount, difference, "
        "expected_arrival, bank_date, bank_movement_id, bank_amount, bank_difference, days_late, matched_count, "
        "unmatched_count, status_recon, exceptions"
    ),
    "payout-detail": (
        "payout_id, resource_type, resource_subtype, resource_id, line, source_event_id, occurred_at_utc, local_date, "
        "local_time, bank_day, amount_signed, fee_total, fee_net, fee_vat, net_amount, currency, customer_tax_id, "
        "customer_name, order_ref, outcome, match_stage, match_rule, rivals, doc_country, doc_type, doc_series, "
        "doc_folio, doc_uuid, doc_date, doc_due_date, doc_total, applied_amount, doc_balance_after, difference, "
        "expected_doc, exception_code, note, connection"
    ),
    "exceptions": (
        "exception_id, code, severity, title, opened_on, last_seen_on, age_business_days, age_bucket, amount_at_risk, "
        "currency, payout_id, resource_id, doc_key, evidence, suggested_action, owner, state, resolved_on, "
        "resolution, run_first, run_last, fact_on, due_on, customer_name, connection"
    ),
    "documents": (
        "doc_key, doc_type, series, folio, uuid, issue_date, due_date, customer_tax_id, customer_name, currency, "
        "total, outcome, paid, credited, balance, payments, exception_code, connection"
    ),
    "receivables": (
        "doc_key, customer_tax_id, customer_name, issue_date, due_date, currency, total, paid, credited, balance, "
        "days_overdue, bucket, last_payment_id, state, connection"
    ),
    "clearing-rollforward": (
        "date, currency, opening, payments, charges, refunds, refund_adjustments, disputes, fees, payouts, other, "
        "closing, closing_items_count, connection"
    ),
    "in-transit": (
        "resource_type, resource_id, occurred_at_utc, bank_day, currency, amount_signed, age_business_days, "
        "expected_payout_day, connection"
    ),
    "transfers": (
        "transfer_id, direction, status, amount, currency, counterparty_tax_id, counterparty_name, institution, "
        "account_masked, tracking_key, operating_date, calendar_ts, return_code, return_label, return_raw, "
        "returned_at, movement_id, statement_period, matched_to, connection"
    ),
    "statement-check": (
        "account_id, period, currency, opening, inbound, outbound, closing, computed_closing, difference, "
        "movements_missing_here, movements_missing_there, connection"
    ),
    "tax-statements": (
        "taxpayer_id, period, document_number, status, total_debit, total_credit, retention_fee, salary_tax, "
        "monthly_provisional_payments, total_payment, computed_payment, identity_difference, connection"
    ),
    "tax-returns": (
        "taxpayer_id, fiscal_year, document_number, due_amount, refund_amount, fees, salary, withheld_fees, connection"
    ),
    "tax-invoices": (
        "issuer_id, receiver_id, issue_type, document_type, number, date, tax_period, net_amount, vat_amount, "
        "exempt_amount, total_amount, status, has_note, connection"
    ),
    "drift": "connection, stream, id, kind, field, ours, theirs",
    "run-diff": "kind, subject, before, after, cause, connection",
    "control": "figure, source, amount, currency, ties_to, other_amount, difference, verdict, connection",
}


def test_columns_are_those_of_the_contract_in_its_order() -> None:
    """Every report has exactly the contract's columns, with the connection last where the table names none."""
    assert {name: ", ".join(definition.names) for name, definition in CATALOGUE.items()} == CONTRACT


def test_every_report_sorts_by_its_own_columns() -> None:
    """A sort key is a column of the report, so a file shows why its rows are in this order."""
    strays = [
        (d.name, key)
        for d in CATALOGUE.values()
        for key in d.sort
        if key not in d.names and (d.name, key) != ("payout-detail", "payout_date")
    ]
    assert strays == []


def test_every_column_has_a_label_in_each_language() -> None:
    """No column is shown to a person without words."""
    assert [name for name, column in COLUMNS.items() for language in LANGUAGES if not column.label(language)] == []


def test_labels_of_one_report_differ() -> None:
    """Two columns of one sheet never bear the same label, so a reader and a filter can tell them apart."""
    for definition in CATALOGUE.values():
        for language in LANGUAGES:
            labels = [column.label(language) for column in definition.columns]
            assert len(set(labels)) == len(labels), (definition.name, language)


def test_mexican_words_differ_where_mexico_says_it_otherwise() -> None:
    """A Mexican reader finds RFC and importe where a Chilean one finds RUT and monto."""
    assert COLUMNS["customer_tax_id"].label("es-CL") == "RUT del cliente"
    assert COLUMNS["customer_tax_id"].label("es-MX") == "RFC del cliente"
    assert COLUMNS["amount"].label("es-MX") == "Importe"
