"""Dead rows of the inbox are cleared away soon on PostgreSQL: each event is written two or three times."""

from alembic import op

revision = "0134"
down_revision = "0133"
branch_labels = None
depends_on = None


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute(
            "ALTER TABLE event SET (autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.01, "
            "autovacuum_vacuum_cost_delay = 0)"
        )
