"""When a login was last used."""

import sqlalchemy as sa
from alembic import op

from consumer.facts.tables.types import UtcDateTime

revision = "0110"
down_revision = "0109"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("login_session", schema=None) as batch_op:
        batch_op.add_column(sa.Column("seen_at", UtcDateTime(), nullable=True))
