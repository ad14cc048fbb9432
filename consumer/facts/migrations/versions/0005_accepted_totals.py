"""How many documents of an invoice file a person took in although their parts do not add up to their total."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("invoice_file", sa.Column("totals_accepted", sa.Integer(), server_default="0", nullable=False))


def downgrade() -> None:
    with op.batch_alter_table("invoice_file", schema=None) as batch_op:
        batch_op.drop_column("totals_accepted")
