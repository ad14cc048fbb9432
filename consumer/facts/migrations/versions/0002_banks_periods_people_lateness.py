"""Bank files, closed periods, sessions and invitations, lateness; results of runs in chunks."""

import sqlalchemy as sa
from alembic import op

from consumer.facts.tables.columns import UtcDateTime

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
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
    with op.batch_alter_table("adjustment", schema=None) as batch_op:
        batch_op.create_index("adjustment_subject", ["period_id", "kind", "subject"], unique=False)

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
    with op.batch_alter_table("bank_line", schema=None) as batch_op:
        batch_op.create_index("bank_line_day", ["connection", "account", "booked_on"], unique=False)

    op.create_table(
        "closed_figure",
        sa.Column("period_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("words", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("period_id", "kind", "subject"),
    )
    op.create_table(
        "exchange_rate",
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("currency", sa.String(), nullable=False),
        sa.Column("on", sa.Date(), nullable=False),
        sa.Column("value", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("connection", "currency", "on"),
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
        "login_address",
        sa.Column("address", sa.String(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("since", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("address"),
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
    with op.batch_alter_table("login_session", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_login_session_person_id"), ["person_id"], unique=False)

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
    with op.batch_alter_table("period", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_period_connection"), ["connection"], unique=False)

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
    op.create_table(
        "statement_document",
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("statement_id", sa.String(), nullable=False),
        sa.Column("path", sa.String(), nullable=True),
        sa.Column("sha256", sa.String(), nullable=True),
        sa.Column("size", sa.Integer(), nullable=True),
        sa.Column("told", sa.String(), nullable=True),
        sa.Column("looked_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("connection", "statement_id"),
    )
    op.create_table(
        "stream_finding",
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("stream", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("told", sa.String(), nullable=False),
        sa.Column("found_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("connection", "stream", "subject"),
    )
    op.create_table(
        "webhook_secret_use",
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("mark", sa.String(), nullable=False),
        sa.Column("last_used_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("connection", "mark"),
    )
    op.drop_table("document_result")
    with op.batch_alter_table("line", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("line_payout"))
        batch_op.drop_index(batch_op.f("line_resource"))

    op.drop_table("line")
    with op.batch_alter_table("audit_entry", schema=None) as batch_op:
        batch_op.create_index("audit_entry_at", ["at"], unique=False)

    with op.batch_alter_table("decision", schema=None) as batch_op:
        batch_op.add_column(sa.Column("reason_type", sa.String(), server_default="", nullable=False))

    with op.batch_alter_table("event", schema=None) as batch_op:
        batch_op.add_column(sa.Column("listed_at", UtcDateTime(), nullable=True))

    with op.batch_alter_table("provider_fee", schema=None) as batch_op:
        batch_op.add_column(sa.Column("cells", sa.String(), server_default="{}", nullable=False))

    with op.batch_alter_table("report_file", schema=None) as batch_op:
        batch_op.add_column(sa.Column("since", sa.Date(), nullable=True))
        batch_op.add_column(sa.Column("until", sa.Date(), nullable=True))
        batch_op.add_column(sa.Column("as_of", sa.Date(), nullable=True))
        batch_op.add_column(sa.Column("zones", sa.String(), server_default="", nullable=False))
        batch_op.add_column(sa.Column("calendars", sa.String(), server_default="", nullable=False))
        batch_op.add_column(sa.Column("sums", sa.String(), server_default="{}", nullable=False))

    with op.batch_alter_table("run", schema=None) as batch_op:
        batch_op.add_column(sa.Column("pruned_at", UtcDateTime(), nullable=True))
    # Their rows went with the tables above; the same content reconciled again fills them anew.
    op.execute("UPDATE run SET pruned_at = finished_at")
    op.execute("UPDATE tick SET state = 'complete' WHERE state = 'done'")

    with op.batch_alter_table("token", schema=None) as batch_op:
        batch_op.add_column(sa.Column("scopes", sa.String(), server_default="reports api metrics", nullable=False))

    with op.batch_alter_table("window", schema=None) as batch_op:
        batch_op.drop_column("late_seconds")


def downgrade() -> None:
    with op.batch_alter_table("window", schema=None) as batch_op:
        batch_op.add_column(sa.Column("late_seconds", sa.INTEGER(), nullable=True))

    with op.batch_alter_table("token", schema=None) as batch_op:
        batch_op.drop_column("scopes")

    with op.batch_alter_table("run", schema=None) as batch_op:
        batch_op.drop_column("pruned_at")

    with op.batch_alter_table("report_file", schema=None) as batch_op:
        batch_op.drop_column("sums")
        batch_op.drop_column("calendars")
        batch_op.drop_column("zones")
        batch_op.drop_column("as_of")
        batch_op.drop_column("until")
        batch_op.drop_column("since")

    with op.batch_alter_table("provider_fee", schema=None) as batch_op:
        batch_op.drop_column("cells")

    with op.batch_alter_table("event", schema=None) as batch_op:
        batch_op.drop_column("listed_at")

    with op.batch_alter_table("decision", schema=None) as batch_op:
        batch_op.drop_column("reason_type")

    with op.batch_alter_table("audit_entry", schema=None) as batch_op:
        batch_op.drop_index("audit_entry_at")

    op.create_table(
        "line",
        sa.Column("connection", sa.VARCHAR(), nullable=False),
        sa.Column("run_id", sa.VARCHAR(), nullable=False),
        sa.Column("position", sa.INTEGER(), nullable=False),
        sa.Column("payout_id", sa.VARCHAR(), nullable=True),
        sa.Column("payout_date", sa.DATE(), nullable=True),
        sa.Column("resource_type", sa.VARCHAR(), nullable=False),
        sa.Column("resource_id", sa.VARCHAR(), nullable=False),
        sa.Column("doc_key", sa.VARCHAR(), nullable=True),
        sa.Column("outcome", sa.VARCHAR(), nullable=False),
        sa.Column("columns", sa.VARCHAR(), nullable=False),
        sa.PrimaryKeyConstraint("connection", "run_id", "position"),
    )
    with op.batch_alter_table("line", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("line_resource"), ["connection", "resource_id"], unique=False)
        batch_op.create_index(batch_op.f("line_payout"), ["connection", "run_id", "payout_id"], unique=False)

    op.create_table(
        "document_result",
        sa.Column("connection", sa.VARCHAR(), nullable=False),
        sa.Column("run_id", sa.VARCHAR(), nullable=False),
        sa.Column("doc_key", sa.VARCHAR(), nullable=False),
        sa.Column("outcome", sa.VARCHAR(), nullable=False),
        sa.Column("paid", sa.BIGINT(), nullable=False),
        sa.Column("credited", sa.BIGINT(), nullable=False),
        sa.Column("balance", sa.BIGINT(), nullable=False),
        sa.Column("columns", sa.VARCHAR(), nullable=False),
        sa.PrimaryKeyConstraint("connection", "run_id", "doc_key"),
    )
    op.drop_table("webhook_secret_use")
    op.drop_table("stream_finding")
    op.drop_table("statement_document")
    op.drop_table("result_chunk")
    op.drop_table("report_order")
    with op.batch_alter_table("period", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_period_connection"))

    op.drop_table("period")
    with op.batch_alter_table("login_session", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_login_session_person_id"))

    op.drop_table("login_session")
    op.drop_table("login_address")
    op.drop_table("lateness")
    op.drop_table("invitation")
    op.drop_table("exchange_rate")
    op.drop_table("closed_figure")
    with op.batch_alter_table("bank_line", schema=None) as batch_op:
        batch_op.drop_index("bank_line_day")

    op.drop_table("bank_line")
    op.drop_table("bank_file")
    with op.batch_alter_table("adjustment", schema=None) as batch_op:
        batch_op.drop_index("adjustment_subject")

    op.drop_table("adjustment")
