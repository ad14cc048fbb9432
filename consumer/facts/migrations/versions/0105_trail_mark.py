"""How far the trail was handed on."""

import sqlalchemy as sa
from alembic import op

from consumer.facts.tables.types import UtcDateTime

revision = "0105"
down_revision = "0104"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "trail_mark",
        sa.Column("part", sa.String(), nullable=False),
        sa.Column("last_id", sa.Integer(), nullable=False),
        sa.Column("claimed_until", UtcDateTime(), nullable=True),
        sa.Column("failed_since", UtcDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("part"),
    )
