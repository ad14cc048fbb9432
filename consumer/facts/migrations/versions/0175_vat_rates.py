"""Bases and tax of each rate, as Mexican documents and complements state them."""

import sqlalchemy as sa
from alembic import op

revision = "0175"
down_revision = "0164"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("fiscal_document", "fiscal_payment"):
        with op.batch_alter_table(name) as table:
            table.add_column(sa.Column("rates", sa.String(), server_default="", nullable=False))
