"""Payments keep when they were last written."""

import sqlalchemy as sa
from alembic import op

from consumer.facts.tables.types import UtcDateTime

revision = "0125"
down_revision = "0124"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("payment_intent", sa.Column("written_at", UtcDateTime(), nullable=True))
    known = sa.text("written_at IS NOT NULL")
    op.create_index(
        "payment_intent_written",
        "payment_intent",
        ["connection", "written_at"],
        sqlite_where=known,
        postgresql_where=known,
    )
