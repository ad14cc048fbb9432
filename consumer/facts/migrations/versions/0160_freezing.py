"""Frozen rows count by the number of their freezing, and the numbers that settled documents bear are kept.

Horizons were to try only: the next run of each connection judges everything and freezes anew.
"""

import sqlalchemy as sa
from alembic import op

revision = "0160"
down_revision = "0140"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.drop_table("frozen_row")
    op.drop_table("frozen_name")
    op.execute("DELETE FROM horizon")
    with op.batch_alter_table("horizon") as table:
        table.add_column(sa.Column("freezing", sa.Integer(), nullable=False))
        table.add_column(sa.Column("claimed_by", sa.String(), nullable=False))
    op.create_table(
        "frozen_row",
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("part", sa.String(), nullable=False),
        sa.Column("freezing", sa.Integer(), nullable=False),
        sa.Column("cell", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("connection", "kind", "key", "part", "freezing"),
        sqlite_with_rowid=False,
    )
    op.create_index("frozen_row_cell", "frozen_row", ["connection", "cell"])
    op.create_table(
        "frozen_name",
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("word", sa.BigInteger(), nullable=False),
        sa.Column("cell", sa.BigInteger(), nullable=False),
        sa.Column("freezing", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("connection", "word", "cell", "freezing"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "frozen_number",
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("run", sa.String(), nullable=False),
        sa.Column("head", sa.String(), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.Column("freezing", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("connection", "run", "head", "since", "until", "freezing"),
        sqlite_with_rowid=False,
    )
