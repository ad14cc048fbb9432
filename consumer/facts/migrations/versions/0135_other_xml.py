"""What other XML of a tax document stated differently."""

import sqlalchemy as sa
from alembic import op

revision = "0135"
down_revision = "0134"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("fiscal_document") as table:
        table.add_column(sa.Column("other_fields", sa.String(), server_default="", nullable=False))
        table.add_column(sa.Column("other_payable", sa.BigInteger(), nullable=True))
