"""Alarms that stand, and messages about them."""

import sqlalchemy as sa
from alembic import op

from consumer.facts.tables.types import UtcDateTime

revision = "0101"
down_revision = "0100"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "alarm",
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("cause", sa.String(), nullable=False),
        sa.Column("severity", sa.String(), nullable=False),
        sa.Column("since", UtcDateTime(), nullable=False),
        sa.Column("seen_at", UtcDateTime(), nullable=False),
        sa.Column("ended_at", UtcDateTime(), nullable=True),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("amounts", sa.String(), nullable=False),
        sa.Column("found", sa.String(), nullable=False),
        sa.Column("mark", sa.String(), nullable=False),
        sa.Column("acknowledged_by", sa.String(), nullable=False),
        sa.Column("acknowledged_at", UtcDateTime(), nullable=True),
        sa.Column("notified_at", UtcDateTime(), nullable=True),
        sa.Column("notified_mark", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("connection", "cause"),
    )
    op.create_table(
        "alarm_message",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("channel", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("content", sa.String(), nullable=False),
        sa.Column("made_at", UtcDateTime(), nullable=False),
        sa.Column("next_try_at", UtcDateTime(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("claimed_until", UtcDateTime(), nullable=True),
        sa.Column("sent_at", UtcDateTime(), nullable=True),
        sa.Column("error", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    with op.batch_alter_table("alarm_message", schema=None) as batch_op:
        batch_op.create_index("alarm_message_due", ["next_try_at"], unique=False)
