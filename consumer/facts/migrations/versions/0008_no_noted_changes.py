"""Databases whose triggers noted changed rows lose these triggers and their tables."""

from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_NOTED = (
    "local_invoice", "payment_intent", "charge", "refund", "payout_item", "customer", "event", "provider_fee",
)  # fmt: skip
_CHANGES = ("added", "removed", "altered", "emptied")
_FUNCTIONS = ("rows", "row", "whole")


def upgrade() -> None:
    is_sqlite = op.get_bind().dialect.name == "sqlite"
    for table in _NOTED:
        for change in _CHANGES:
            op.execute(f"DROP TRIGGER IF EXISTS noted_{table}_{change}" + ("" if is_sqlite else f" ON {table}"))
        if not is_sqlite:
            for function in _FUNCTIONS:
                op.execute(f"DROP FUNCTION IF EXISTS noted_{table}_{function}()")
    for table in ("remembered_tables", "fact_change"):
        op.execute(f"DROP TABLE IF EXISTS {table}")


def downgrade() -> None:
    """Leave them away: no version needs them."""
