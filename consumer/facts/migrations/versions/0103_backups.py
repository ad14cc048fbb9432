"""Backups that were made, and the certificates of drills."""

import sqlalchemy as sa
from alembic import op

from consumer.facts.tables.types import UtcDateTime

revision = "0103"
down_revision = "0102"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "backup",
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("file", sa.String(), nullable=False),
        sa.Column("made_at", UtcDateTime(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("sha256"),
    )
    op.create_index("ix_backup_made_at", "backup", ["made_at"])
    op.create_table(
        "backup_certificate",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("drilled_at", UtcDateTime(), nullable=False),
        sa.Column("is_proven", sa.Boolean(), nullable=False),
        sa.Column("content", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_backup_certificate_drilled_at", "backup_certificate", ["drilled_at"])
