"""The newest things of a kind are found without reading those of all kinds."""

from alembic import op

revision = "0119"
down_revision = "0118"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("search_row_newest", "search_row", ["connection", "kind", "id"])
