"""Names that settled documents bear."""

import sqlalchemy as sa
from alembic import op

revision = "0132"
down_revision = "0131"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "frozen_name",
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("word", sa.BigInteger(), nullable=False),
        sa.Column("cell", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("connection", "word", "cell"),
    )
