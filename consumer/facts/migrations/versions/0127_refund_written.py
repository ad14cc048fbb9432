"""Refunds keep when they were last written."""

import sqlalchemy as sa
from alembic import op

from consumer.facts.tables.types import UtcDateTime

revision = "0127"
down_revision = "0126"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("refund", sa.Column("written_at", UtcDateTime(), nullable=True))
    known = sa.text("written_at IS NOT NULL")
    op.create_index(
        "refund_written",
        "refund",
        ["connection", "written_at"],
        sqlite_where=known,
        postgresql_where=known,
    )
