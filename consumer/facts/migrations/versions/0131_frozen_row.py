"""The input rows of the run a horizon rests on."""

import sqlalchemy as sa
from alembic import op

revision = "0131"
down_revision = "0130"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "frozen_row",
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("part", sa.String(), nullable=False),
        sa.Column("cell", sa.Integer(), nullable=False),
        sa.Column("digest", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("connection", "kind", "key", "part"),
    )
    op.create_index("frozen_row_cell", "frozen_row", ["connection", "cell"])
