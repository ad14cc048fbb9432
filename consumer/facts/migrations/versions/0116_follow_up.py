"""The day on which a person wants an exception done."""

import sqlalchemy as sa
from alembic import op

revision = "0116"
down_revision = "0115"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("exception", sa.Column("follow_up_on", sa.Date(), nullable=True))
