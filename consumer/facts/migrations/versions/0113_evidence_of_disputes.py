"""Evidence of disputes."""

import sqlalchemy as sa
from alembic import op

from consumer.facts.tables.types import UtcDateTime

revision = "0113"
down_revision = "0112"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "dispute_evidence",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("dispute_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("who", sa.String(), nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.Column("sent_by", sa.String(), nullable=False),
        sa.Column("sent_at", UtcDateTime(), nullable=True),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("refusal", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("connection", "dispute_id", "sha256"),
    )
