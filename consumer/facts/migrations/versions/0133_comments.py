"""Comments of exceptions, and who is named in them."""

import sqlalchemy as sa
from alembic import op

from consumer.facts.tables.types import UtcDateTime

revision = "0133"
down_revision = "0132"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "exception_comment",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("exception_id", sa.String(), nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.Column("author", sa.String(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_exception_comment_exception_id", "exception_comment", ["exception_id"])
    op.create_table(
        "mention",
        sa.Column("comment_id", sa.Integer(), nullable=False),
        sa.Column("login", sa.String(), nullable=False),
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("exception_id", sa.String(), nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.Column("author", sa.String(), nullable=False),
        sa.Column("seen_at", UtcDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("comment_id", "login"),
    )
    op.create_index("ix_mention_exception_id", "mention", ["exception_id"])
    op.create_index("ix_mention_connection_login", "mention", ["connection", "login"])
