"""What the merchant's own system says of its orders."""

import sqlalchemy as sa
from alembic import op

from consumer.facts.tables.types import UtcDateTime

revision = "0106"
down_revision = "0105"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "order_answer",
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("order_ref", sa.String(), nullable=False),
        sa.Column("delivered_on", sa.Date(), nullable=True),
        sa.Column("amount", sa.BigInteger(), nullable=True),
        sa.Column("currency", sa.String(), nullable=True),
        sa.Column("asked_on", sa.Date(), nullable=False),
        sa.Column("asked_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("connection", "order_ref"),
    )
