"""Exceptions keep the day of what they tell of, the due date and the customer."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_ADDED = (("fact_on", sa.Date()), ("due_on", sa.Date()), ("customer_name", sa.String()))


def upgrade() -> None:
    for name, kind in _ADDED:
        op.add_column("exception", sa.Column(name, kind, nullable=True))


def downgrade() -> None:
    for name, _ in _ADDED:
        op.drop_column("exception", name)
