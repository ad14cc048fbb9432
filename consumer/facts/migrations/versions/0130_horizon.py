"""What the runs of a connection may leave unread."""

import sqlalchemy as sa
from alembic import op

from consumer.facts.tables.types import UtcDateTime

revision = "0130"
down_revision = "0129"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "horizon",
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("as_of", sa.Date(), nullable=False),
        sa.Column("until", sa.Date(), nullable=False),
        sa.Column("seen_at", UtcDateTime(), nullable=False),
        sa.Column("basis", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("connection"),
    )
