"""Items of payouts keep when they were last written."""

import sqlalchemy as sa
from alembic import op

from consumer.facts.tables.types import UtcDateTime

revision = "0128"
down_revision = "0127"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("payout_item", sa.Column("written_at", UtcDateTime(), nullable=True))
    known = sa.text("written_at IS NOT NULL")
    op.create_index(
        "payout_item_written",
        "payout_item",
        ["connection", "written_at"],
        sqlite_where=known,
        postgresql_where=known,
    )
