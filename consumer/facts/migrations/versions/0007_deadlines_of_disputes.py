"""Until when a dispute waits for documents, filled in for those already kept."""

from datetime import UTC, date, datetime, time
from typing import Any

import sqlalchemy as sa
from alembic import op

from consumer.facts.clock import to_instant
from consumer.facts.observed import read_json
from consumer.facts.tables.columns import UtcDateTime

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_DATE_LENGTH = len("2026-10-31")


def upgrade() -> None:
    op.add_column("dispute", sa.Column("due_at", UtcDateTime(), nullable=True))
    disputes = sa.table(
        "dispute", sa.column("connection"), sa.column("id"), sa.column("body"), sa.column("due_at", UtcDateTime())
    )
    database = op.get_bind()
    for row in database.execute(sa.select(disputes.c.connection, disputes.c.id, disputes.c.body)).all():
        due_at = _deadline(read_json(row.body).get("documentation_upload_deadline"))
        mine = (disputes.c.connection == row.connection) & (disputes.c.id == row.id)
        database.execute(sa.update(disputes).where(mine).values(due_at=due_at))


def downgrade() -> None:
    with op.batch_alter_table("dispute", schema=None) as batch_op:
        batch_op.drop_column("due_at")


def _deadline(value: Any) -> datetime | None:
    """Read a moment as later versions read it; what is no moment was never one."""
    if not isinstance(value, str) or not value:
        return None
    try:
        if len(value) == _DATE_LENGTH:
            return datetime.combine(date.fromisoformat(value), time(), tzinfo=UTC)
        return to_instant(value)
    except (ValueError, OverflowError):
        return None
