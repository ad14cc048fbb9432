"""People whose data was erased, by keyed digests."""

import sqlalchemy as sa
from alembic import op

from consumer.facts.tables.types import UtcDateTime

revision = "0117"
down_revision = "0116"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "erasure",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.Column("who", sa.String(), nullable=False),
        sa.Column("finished_at", UtcDateTime(), nullable=True),
        sa.Column("replaced", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "erasure_mark",
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("erasure_id", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("kind", "key"),
    )
    op.create_table(
        "erasing_key",
        sa.Column("label", sa.String(), nullable=False),
        sa.Column("encrypted", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("label"),
    )
