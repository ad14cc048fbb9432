"""Files taken back whole, and what they had changed."""

import sqlalchemy as sa
from alembic import op

from consumer.facts.tables.types import UtcDateTime

revision = "0111"
down_revision = "0110"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "local_invoice_before",
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("file_sha256", sa.String(), nullable=False),
        sa.Column("doc_key", sa.String(), nullable=False),
        sa.Column("document", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("connection", "file_sha256", "doc_key"),
    )
    op.create_table(
        "removed_file",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("imported_at", UtcDateTime(), nullable=False),
        sa.Column("rows", sa.Integer(), nullable=False),
        sa.Column("removed_at", UtcDateTime(), nullable=False),
        sa.Column("removed_by", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    with op.batch_alter_table("removed_file", schema=None) as batch_op:
        batch_op.create_index("ix_removed_file_connection", ["connection"], unique=False)

    with op.batch_alter_table("bank_file", schema=None) as batch_op:
        batch_op.add_column(sa.Column("rests_on", sa.String(), nullable=True))

    with op.batch_alter_table("invoice_file", schema=None) as batch_op:
        batch_op.add_column(sa.Column("rests_on", sa.String(), nullable=True))
