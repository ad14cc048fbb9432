"""Documents that changed since a moment are found by it."""

from alembic import op

revision = "0129"
down_revision = "0128"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("local_invoice_updated", "local_invoice", ["connection", "updated_at"])
