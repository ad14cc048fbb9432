"""Files that people add to exceptions."""

import sqlalchemy as sa
from alembic import op

from consumer.facts.tables.types import UtcDateTime

revision = "0140"
down_revision = "0135"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "exception_attachment",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("exception_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("who", sa.String(), nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("connection", "exception_id", "sha256"),
    )
