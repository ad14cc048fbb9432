"""Where a run and a horizon find the settled rows that they left out."""

import sqlalchemy as sa
from alembic import op

revision = "0164"
down_revision = "0160"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("run", "horizon"):
        with op.batch_alter_table(name) as table:
            table.add_column(sa.Column("layers", sa.String(), server_default="", nullable=False))
