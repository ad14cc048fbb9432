"""The tables of release 0.1.0."""

import sqlalchemy as sa
from alembic import op

from consumer.facts.tables.types import UtcDateTime

revision = "0100"
down_revision = None
branch_labels = None
depends_on = None


def create_object_table(name: str, *own: sa.Column[object]) -> None:
    """Create the table of one kind of provider object: what all of them carry, then its own columns."""
    op.create_table(
        name,
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("mode", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=True),
        sa.Column("amount", sa.BigInteger(), nullable=True),
        sa.Column("currency", sa.String(), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=True),
        sa.Column("updated_at", UtcDateTime(), nullable=True),
        sa.Column("version_at", UtcDateTime(), nullable=False),
        sa.Column("version_rank", sa.Integer(), nullable=False),
        sa.Column("version_event", sa.String(), nullable=False),
        sa.Column("gone_at", UtcDateTime(), nullable=True),
        sa.Column("body", sa.String(), nullable=False),
        *own,
        sa.PrimaryKeyConstraint("connection", "id"),
    )


def upgrade() -> None:
    create_payments()
    create_payouts()
    create_accounts()
    create_links()
    create_inbox()
    create_webhook_secrets()
    create_windows()
    create_differences()
    create_jobs()
    create_documents()
    create_fees_and_rates()
    create_bank()
    create_runs()
    create_exceptions()
    create_decisions_and_periods()
    create_journal()
    create_people()
    create_tokens_and_audit()
    create_report_files()


def create_payments() -> None:
    create_object_table(
        "payment_intent",
        sa.Column("succeeded_at", UtcDateTime(), nullable=True),
        sa.Column("subtype", sa.String(), nullable=True),
        sa.Column("customer_tax_id", sa.String(), nullable=True),
        sa.Column("customer_name", sa.String(), nullable=True),
        sa.Column("sender_tax_id", sa.String(), nullable=True),
        sa.Column("metadata_json", sa.String(), nullable=True),
        sa.Column("texts", sa.String(), nullable=True),
        sa.Column("split_json", sa.String(), nullable=True),
        sa.Column("customer_id", sa.String(), nullable=True),
    )
    create_object_table(
        "charge",
        sa.Column("succeeded_at", UtcDateTime(), nullable=True),
        sa.Column("customer_tax_id", sa.String(), nullable=True),
        sa.Column("metadata_json", sa.String(), nullable=True),
        sa.Column("texts", sa.String(), nullable=True),
        sa.Column("split_json", sa.String(), nullable=True),
        sa.Column("customer_id", sa.String(), nullable=True),
    )
    create_object_table(
        "refund",
        sa.Column("resource_id", sa.String(), nullable=True),
        sa.Column("succeeded_at", UtcDateTime(), nullable=True),
        sa.Column("failed_at", UtcDateTime(), nullable=True),
        sa.Column("metadata_json", sa.String(), nullable=True),
        sa.Column("texts", sa.String(), nullable=True),
        sa.Column("split_json", sa.String(), nullable=True),
        sa.Column("customer_id", sa.String(), nullable=True),
    )
    op.create_index("ix_refund_resource_id", "refund", ["resource_id"])
    create_object_table(
        "dispute",
        sa.Column("resource_id", sa.String(), nullable=True),
        sa.Column("ended_at", UtcDateTime(), nullable=True),
        sa.Column("due_at", UtcDateTime(), nullable=True),
    )
    op.create_index("ix_dispute_resource_id", "dispute", ["resource_id"])
    create_object_table(
        "customer",
        sa.Column("tax_id", sa.String(), nullable=True),
        sa.Column("name", sa.String(), nullable=True),
    )
    create_object_table("checkout_session")
    create_object_table("payment_link")
    create_object_table("payment_method")
    create_object_table("subscription")
    create_object_table("billing_invoice")


def create_payouts() -> None:
    create_object_table(
        "payout",
        sa.Column("succeeded_at", UtcDateTime(), nullable=True),
        sa.Column("ended_at", UtcDateTime(), nullable=True),
        sa.Column("recipient_institution", sa.String(), nullable=True),
        sa.Column("recipient_number", sa.String(), nullable=True),
    )
    op.create_table(
        "payout_item",
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("payout_id", sa.String(), nullable=False),
        sa.Column("resource_type", sa.String(), nullable=False),
        sa.Column("resource_id", sa.String(), nullable=False),
        sa.Column("mode", sa.String(), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("currency", sa.String(), nullable=False),
        sa.Column("body", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("connection", "payout_id", "resource_type", "resource_id"),
    )
    op.create_index("ix_payout_item_resource_id", "payout_item", ["resource_id"])
    op.create_table(
        "payout_count",
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("payout_id", sa.String(), nullable=False),
        sa.Column("resource_type", sa.String(), nullable=False),
        sa.Column("announced", sa.Integer(), nullable=True),
        sa.Column("kept", sa.Integer(), nullable=False),
        sa.Column("pulled_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("connection", "payout_id", "resource_type"),
    )


def create_accounts() -> None:
    create_object_table("entity")
    create_object_table("account")
    create_object_table(
        "account_number",
        sa.Column("account_id", sa.String(), nullable=True),
        sa.Column("number", sa.String(), nullable=True),
    )
    op.create_index("ix_account_number_account_id", "account_number", ["account_id"])
    create_object_table(
        "account_movement",
        sa.Column("account_id", sa.String(), nullable=True),
        sa.Column("direction", sa.String(), nullable=True),
        sa.Column("balance", sa.BigInteger(), nullable=True),
    )
    op.create_index("ix_account_movement_account_id", "account_movement", ["account_id"])
    create_object_table(
        "account_statement",
        sa.Column("account_id", sa.String(), nullable=True),
    )
    op.create_index("ix_account_statement_account_id", "account_statement", ["account_id"])
    create_object_table("account_verification")
    create_object_table(
        "transfer",
        sa.Column("direction", sa.String(), nullable=True),
    )
    create_object_table("transfer_batch")


def create_links() -> None:
    create_object_table("institution")
    create_object_table("link")
    create_object_table("link_account")
    create_object_table(
        "link_movement",
        sa.Column("account_id", sa.String(), nullable=True),
    )
    op.create_index("ix_link_movement_account_id", "link_movement", ["account_id"])
    create_object_table("refresh_intent")
    create_object_table("tax_invoice")
    create_object_table("tax_return")
    create_object_table(
        "tax_statement",
        sa.Column("document_number", sa.String(), nullable=True),
        sa.Column("period", sa.String(), nullable=True),
    )
    create_object_table("webhook_endpoint")


def create_inbox() -> None:
    op.create_table(
        "event",
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("type", sa.String(), nullable=False),
        sa.Column("mode", sa.String(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=True),
        sa.Column("received_at", UtcDateTime(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("resource_id", sa.String(), nullable=True),
        sa.Column("body", sa.LargeBinary(), nullable=True),
        sa.Column("raw_sha256", sa.String(), nullable=False),
        sa.Column("meaning_sha256", sa.String(), nullable=False),
        sa.Column("arrivals", sa.Integer(), nullable=False),
        sa.Column("last_arrival_at", UtcDateTime(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_try_at", UtcDateTime(), nullable=True),
        sa.Column("claimed_until", UtcDateTime(), nullable=True),
        sa.Column("claimed_by", sa.String(), nullable=True),
        sa.Column("settled_at", UtcDateTime(), nullable=True),
        sa.Column("error", sa.String(), nullable=True),
        sa.Column("listed_at", UtcDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("connection", "id"),
    )
    op.create_index("event_age", "event", ["connection", "created_at"])
    op.create_index("event_due", "event", ["state", "next_try_at"])
    op.create_index("ix_event_resource_id", "event", ["resource_id"])
    op.create_table(
        "event_conflict",
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("meaning_sha256", sa.String(), nullable=False),
        sa.Column("first_sha256", sa.String(), nullable=False),
        sa.Column("other_sha256", sa.String(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("seen_at", UtcDateTime(), nullable=False),
        sa.Column("times", sa.Integer(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("connection", "id", "meaning_sha256"),
    )
    op.create_table(
        "event_replay",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("event_id", sa.String(), nullable=False),
        sa.Column("replayed_at", UtcDateTime(), nullable=False),
        sa.Column("replayed_by", sa.String(), nullable=False),
        sa.Column("state_before", sa.String(), nullable=False),
        sa.Column("state_after", sa.String(), nullable=False),
        sa.Column("changed", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_event_replay_event_id", "event_replay", ["event_id"])


def create_webhook_secrets() -> None:
    op.create_table(
        "webhook_secret",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("label", sa.String(), nullable=False),
        sa.Column("endpoint_id", sa.String(), nullable=False),
        sa.Column("encrypted", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("overlap_until", UtcDateTime(), nullable=True),
        sa.Column("ends_at", UtcDateTime(), nullable=True),
        sa.Column("last_used_at", UtcDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_webhook_secret_connection", "webhook_secret", ["connection"])
    op.create_table(
        "webhook_secret_use",
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("mark", sa.String(), nullable=False),
        sa.Column("last_used_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("connection", "mark"),
    )


def create_windows() -> None:
    op.create_table(
        "window",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("stream", sa.String(), nullable=False),
        sa.Column("since", UtcDateTime(), nullable=True),
        sa.Column("until", UtcDateTime(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("part", sa.String(), nullable=True),
        sa.Column("cursor", sa.String(), nullable=True),
        sa.Column("pass_number", sa.Integer(), nullable=False),
        sa.Column("added_in_pass", sa.Integer(), nullable=False),
        sa.Column("announced", sa.Integer(), nullable=True),
        sa.Column("pages", sa.Integer(), nullable=False),
        sa.Column("events", sa.Integer(), nullable=False),
        sa.Column("reason", sa.String(), nullable=True),
        sa.Column("opened_at", UtcDateTime(), nullable=False),
        sa.Column("closed_at", UtcDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("window_stream", "window", ["connection", "stream", "state"])
    op.create_table(
        "checkpoint",
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("stream", sa.String(), nullable=False),
        sa.Column("complete_until", UtcDateTime(), nullable=True),
        sa.Column("pulled_at", UtcDateTime(), nullable=False),
        sa.Column("objects", sa.Integer(), nullable=False),
        sa.Column("offered", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("connection", "stream"),
    )
    op.create_table(
        "lateness",
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("way", sa.String(), nullable=False),
        sa.Column("on", sa.Date(), nullable=False),
        sa.Column("step_seconds", sa.Integer(), nullable=False),
        sa.Column("events", sa.Integer(), nullable=False),
        sa.Column("worst_seconds", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("connection", "way", "on", "step_seconds"),
    )
    op.create_table(
        "rate_slot",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("free_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("number"),
    )


def create_differences() -> None:
    op.create_table(
        "drift",
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("stream", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("field", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("ours", sa.String(), nullable=True),
        sa.Column("theirs", sa.String(), nullable=True),
        sa.Column("found_at", UtcDateTime(), nullable=False),
        sa.Column("repaired_at", UtcDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("connection", "stream", "id", "field"),
    )
    op.create_table(
        "stream_finding",
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("stream", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("problem", sa.String(), nullable=False),
        sa.Column("found_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("connection", "stream", "subject"),
    )
    op.create_table(
        "statement_document",
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("statement_id", sa.String(), nullable=False),
        sa.Column("path", sa.String(), nullable=True),
        sa.Column("sha256", sa.String(), nullable=True),
        sa.Column("size", sa.Integer(), nullable=True),
        sa.Column("problem", sa.String(), nullable=True),
        sa.Column("looked_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("connection", "statement_id"),
    )


def create_jobs() -> None:
    op.create_table(
        "tick",
        sa.Column("job", sa.String(), nullable=False),
        sa.Column("planned_at", UtcDateTime(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("worker", sa.String(), nullable=False),
        sa.Column("started_at", UtcDateTime(), nullable=False),
        sa.Column("lease_until", UtcDateTime(), nullable=False),
        sa.Column("finished_at", UtcDateTime(), nullable=True),
        sa.Column("outcome", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("job", "planned_at"),
    )
    op.create_table(
        "write_check",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("written_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "shared_file",
        sa.Column("path", sa.String(), nullable=False),
        sa.Column("part", sa.Integer(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("stored_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("path", "part"),
    )


def create_documents() -> None:
    op.create_table(
        "local_invoice",
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("doc_key", sa.String(), nullable=False),
        sa.Column("country", sa.String(), nullable=False),
        sa.Column("doc_type", sa.String(), nullable=False),
        sa.Column("series", sa.String(), nullable=False),
        sa.Column("folio", sa.String(), nullable=False),
        sa.Column("uuid", sa.String(), nullable=False),
        sa.Column("issue_date", sa.Date(), nullable=False),
        sa.Column("due_date", sa.Date(), nullable=True),
        sa.Column("customer_tax_id", sa.String(), nullable=False),
        sa.Column("customer_name", sa.String(), nullable=False),
        sa.Column("net", sa.BigInteger(), nullable=True),
        sa.Column("exempt", sa.BigInteger(), nullable=True),
        sa.Column("vat", sa.BigInteger(), nullable=True),
        sa.Column("total", sa.BigInteger(), nullable=False),
        sa.Column("currency", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("order_ref", sa.String(), nullable=False),
        sa.Column("ref_type", sa.String(), nullable=False),
        sa.Column("ref_number", sa.String(), nullable=False),
        sa.Column("payment_method", sa.String(), nullable=False),
        sa.Column("payment_form", sa.String(), nullable=False),
        sa.Column("raw", sa.String(), nullable=False),
        sa.Column("file_sha256", sa.String(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("connection", "doc_key"),
    )
    op.create_table(
        "local_invoice_change",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("doc_key", sa.String(), nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.Column("file_sha256", sa.String(), nullable=False),
        sa.Column("field", sa.String(), nullable=False),
        sa.Column("before", sa.String(), nullable=False),
        sa.Column("after", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("local_invoice_change_document", "local_invoice_change", ["connection", "doc_key"])
    op.create_table(
        "invoice_file",
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("imported_at", UtcDateTime(), nullable=False),
        sa.Column("rows", sa.Integer(), nullable=False),
        sa.Column("added", sa.Integer(), nullable=False),
        sa.Column("changed", sa.Integer(), nullable=False),
        sa.Column("totals_accepted", sa.Integer(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("connection", "sha256"),
    )


def create_fees_and_rates() -> None:
    op.create_table(
        "payout_report",
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("payout_id", sa.String(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("imported_at", UtcDateTime(), nullable=False),
        sa.Column("rows", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("connection", "payout_id"),
    )
    op.create_table(
        "provider_fee",
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("payout_id", sa.String(), nullable=False),
        sa.Column("resource_id", sa.String(), nullable=False),
        sa.Column("fee_total", sa.BigInteger(), nullable=False),
        sa.Column("cells", sa.String(), server_default="{}", nullable=False),
        sa.PrimaryKeyConstraint("connection", "payout_id", "resource_id"),
    )
    op.create_table(
        "exchange_rate",
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("currency", sa.String(), nullable=False),
        sa.Column("on", sa.Date(), nullable=False),
        sa.Column("value", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("connection", "currency", "on"),
    )


def create_bank() -> None:
    op.create_table(
        "bank_file",
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("account", sa.String(), nullable=False),
        sa.Column("file_format", sa.String(), nullable=False),
        sa.Column("since", sa.Date(), nullable=False),
        sa.Column("until", sa.Date(), nullable=False),
        sa.Column("currency", sa.String(), nullable=False),
        sa.Column("opening", sa.BigInteger(), nullable=True),
        sa.Column("closing", sa.BigInteger(), nullable=True),
        sa.Column("last_opening", sa.BigInteger(), nullable=True),
        sa.Column("imported_at", UtcDateTime(), nullable=False),
        sa.Column("rows", sa.Integer(), nullable=False),
        sa.Column("added", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("connection", "sha256"),
    )
    op.create_table(
        "bank_line",
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("account", sa.String(), nullable=False),
        sa.Column("booked_on", sa.Date(), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("currency", sa.String(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("reference", sa.String(), nullable=False),
        sa.Column("file_sha256", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("connection", "id"),
    )
    op.create_index("bank_line_day", "bank_line", ["connection", "account", "booked_on"])
    op.create_table(
        "bank_mapping",
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("account", sa.String(), nullable=False),
        sa.Column("columns", sa.String(), nullable=False),
        sa.Column("confirmed_by", sa.String(), nullable=False),
        sa.Column("confirmed_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("connection", "account"),
    )


def create_runs() -> None:
    op.create_table(
        "run",
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("as_of", sa.Date(), nullable=False),
        sa.Column("scope_from", sa.Date(), nullable=True),
        sa.Column("scope_to", sa.Date(), nullable=True),
        sa.Column("scope_payout", sa.String(), nullable=True),
        sa.Column("complete", sa.Boolean(), nullable=False),
        sa.Column("calendar", sa.String(), nullable=False),
        sa.Column("summary", sa.String(), nullable=False),
        sa.Column("started_at", UtcDateTime(), nullable=False),
        sa.Column("finished_at", UtcDateTime(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("pruned_at", UtcDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("connection", "id"),
    )
    op.create_table(
        "payout_result",
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("payout_id", sa.String(), nullable=False),
        sa.Column("payout_date", sa.Date(), nullable=True),
        sa.Column("status_recon", sa.String(), nullable=False),
        sa.Column("difference", sa.BigInteger(), nullable=False),
        sa.Column("columns", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("connection", "run_id", "payout_id"),
    )
    op.create_index(
        "payout_result_day",
        "payout_result",
        ["connection", "run_id", "payout_date", "payout_id", "status_recon", "difference"],
    )
    op.create_table(
        "result_chunk",
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("rows", sa.Integer(), nullable=False),
        sa.Column("since", sa.Date(), nullable=True),
        sa.Column("until", sa.Date(), nullable=True),
        sa.Column("undated", sa.Integer(), nullable=False),
        sa.Column("with_balance", sa.Integer(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("connection", "run_id", "kind", "number"),
    )


def create_exceptions() -> None:
    op.create_table(
        "exception",
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("code", sa.String(), nullable=False),
        sa.Column("severity", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("opened_on", sa.Date(), nullable=False),
        sa.Column("last_seen_on", sa.Date(), nullable=False),
        sa.Column("amount_at_risk", sa.BigInteger(), nullable=False),
        sa.Column("currency", sa.String(), nullable=False),
        sa.Column("payout_id", sa.String(), nullable=True),
        sa.Column("resource_id", sa.String(), nullable=True),
        sa.Column("doc_key", sa.String(), nullable=True),
        sa.Column("evidence", sa.String(), nullable=False),
        sa.Column("suggested_action", sa.String(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("note", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("resolved_on", sa.Date(), nullable=True),
        sa.Column("resolution", sa.String(), nullable=False),
        sa.Column("run_first", sa.String(), nullable=False),
        sa.Column("run_last", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("fact_on", sa.Date(), nullable=True),
        sa.Column("due_on", sa.Date(), nullable=True),
        sa.Column("customer_name", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("connection", "id"),
    )
    op.create_table(
        "exception_change",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("exception_id", sa.String(), nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.Column("author", sa.String(), nullable=False),
        sa.Column("change", sa.String(), nullable=False),
        sa.Column("before", sa.String(), nullable=False),
        sa.Column("after", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_exception_change_exception_id", "exception_change", ["exception_id"])
    op.create_table(
        "run_finding",
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("exception_id", sa.String(), nullable=False),
        sa.Column("code", sa.String(), nullable=False),
        sa.Column("severity", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("amount_at_risk", sa.BigInteger(), nullable=False),
        sa.Column("currency", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("connection", "run_id", "exception_id"),
    )


def create_decisions_and_periods() -> None:
    op.create_table(
        "decision",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("resource_id", sa.String(), nullable=False),
        sa.Column("doc_key", sa.String(), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=True),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("author", sa.String(), nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.Column("undone_by", sa.Integer(), nullable=True),
        sa.Column("reason_type", sa.String(), server_default="", nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_decision_connection", "decision", ["connection"])
    op.create_table(
        "period",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("since", sa.Date(), nullable=True),
        sa.Column("until", sa.Date(), nullable=False),
        sa.Column("ends_at", UtcDateTime(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("closed_by", sa.String(), nullable=False),
        sa.Column("closed_at", UtcDateTime(), nullable=False),
        sa.Column("reopened_by", sa.String(), nullable=False),
        sa.Column("reopened_at", UtcDateTime(), nullable=True),
        sa.Column("reopened_for", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_period_connection", "period", ["connection"])
    op.create_table(
        "closed_figure",
        sa.Column("period_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("words", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("period_id", "kind", "subject"),
    )
    op.create_table(
        "adjustment",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("period_id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("before", sa.String(), nullable=False),
        sa.Column("after", sa.String(), nullable=False),
        sa.Column("found_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("adjustment_subject", "adjustment", ["period_id", "kind", "subject"])


def create_journal() -> None:
    op.create_table(
        "journal_entry",
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("sequence", sa.Integer(), nullable=False),
        sa.Column("export_id", sa.Integer(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("on", sa.Date(), nullable=False),
        sa.Column("currency", sa.String(), nullable=False),
        sa.Column("clearing", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("connection", "key", "sequence"),
    )
    op.create_index("journal_entry_day", "journal_entry", ["connection", "on"])
    op.create_table(
        "journal_export",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("since", sa.Date(), nullable=False),
        sa.Column("until", sa.Date(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("profiles", sa.String(), nullable=False),
        sa.Column("entries", sa.Integer(), nullable=False),
        sa.Column("author", sa.String(), nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_journal_export_connection", "journal_export", ["connection"])


def create_people() -> None:
    op.create_table(
        "person",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("email", sa.String(), nullable=False),
        sa.Column("password_hash", sa.String(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("disabled_at", UtcDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("email"),
    )
    op.create_table(
        "invitation",
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("made_at", UtcDateTime(), nullable=False),
        sa.Column("expires_at", UtcDateTime(), nullable=False),
        sa.Column("used_at", UtcDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("sha256"),
    )
    op.create_table(
        "known_device",
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("seen_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("sha256", "person_id"),
    )
    op.create_table(
        "login_session",
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("password_sha256", sa.String(), nullable=False),
        sa.Column("opened_at", UtcDateTime(), nullable=False),
        sa.Column("expires_at", UtcDateTime(), nullable=False),
        sa.Column("ended_at", UtcDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("sha256"),
    )
    op.create_index("ix_login_session_person_id", "login_session", ["person_id"])
    op.create_table(
        "login_failure",
        sa.Column("account", sa.String(), nullable=False),
        sa.Column("network", sa.String(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("last_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("account", "network"),
    )


def create_tokens_and_audit() -> None:
    op.create_table(
        "token",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("revoked_at", UtcDateTime(), nullable=True),
        sa.Column("last_used_at", UtcDateTime(), nullable=True),
        sa.Column("scopes", sa.String(), server_default="reports api metrics", nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
        sa.UniqueConstraint("sha256"),
    )
    op.create_table(
        "audit_entry",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.Column("who", sa.String(), nullable=False),
        sa.Column("action", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("address", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("audit_entry_at", "audit_entry", ["at"])


def create_report_files() -> None:
    op.create_table(
        "report_file",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("format", sa.String(), nullable=False),
        sa.Column("profile", sa.String(), nullable=False),
        sa.Column("language", sa.String(), nullable=False),
        sa.Column("path", sa.String(), nullable=False),
        sa.Column("run_ids", sa.String(), nullable=False),
        sa.Column("row_count", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("made_at", UtcDateTime(), nullable=False),
        sa.Column("since", sa.Date(), nullable=True),
        sa.Column("until", sa.Date(), nullable=True),
        sa.Column("as_of", sa.Date(), nullable=True),
        sa.Column("zones", sa.String(), server_default="", nullable=False),
        sa.Column("calendars", sa.String(), server_default="", nullable=False),
        sa.Column("sums", sa.String(), server_default="{}", nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("path"),
    )
    op.create_table(
        "report_order",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("who", sa.String(), nullable=False),
        sa.Column("asked", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("rows_done", sa.Integer(), nullable=False),
        sa.Column("rows_total", sa.Integer(), nullable=False),
        sa.Column("file_id", sa.Integer(), nullable=True),
        sa.Column("error", sa.String(), nullable=False),
        sa.Column("ordered_at", UtcDateTime(), nullable=False),
        sa.Column("seen_at", UtcDateTime(), nullable=False),
        sa.Column("finished_at", UtcDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
