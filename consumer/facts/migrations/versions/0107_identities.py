"""Subjects of an identity provider, and the people they are."""

import sqlalchemy as sa
from alembic import op

from consumer.facts.tables.types import UtcDateTime

revision = "0107"
down_revision = "0106"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "identity",
        sa.Column("issuer", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("linked_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("issuer", "subject"),
        sa.UniqueConstraint("person_id"),
    )
