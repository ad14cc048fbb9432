"""Nothing any more: triggers noted changed rows here for a while, and the eighth migration takes them away."""

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Leave a new database as it is."""


def downgrade() -> None:
    """Leave a database as it is."""
