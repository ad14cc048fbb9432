"""Registers of tax authorities as witnesses."""

import sqlalchemy as sa
from alembic import op

from consumer.facts.tables.types import UtcDateTime

revision = "0121"
down_revision = "0120"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "register_file",
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("side", sa.String(), nullable=False),
        sa.Column("section", sa.String(), nullable=False),
        sa.Column("period", sa.String(), nullable=False),
        sa.Column("as_of", UtcDateTime(), nullable=False),
        sa.Column("imported_at", UtcDateTime(), nullable=False),
        sa.Column("rows", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("connection", "sha256"),
    )
    op.create_table(
        "register_row",
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("file_sha256", sa.String(), nullable=False),
        sa.Column("line", sa.Integer(), nullable=False),
        sa.Column("side", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("period", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=True),
        sa.Column("issuer_tax_id", sa.String(), nullable=False),
        sa.Column("receiver_tax_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("series", sa.String(), nullable=False),
        sa.Column("folio", sa.String(), nullable=False),
        sa.Column("uuid", sa.String(), nullable=False),
        sa.Column("issue_date", sa.Date(), nullable=True),
        sa.Column("received_on", sa.Date(), nullable=True),
        sa.Column("net", sa.BigInteger(), nullable=True),
        sa.Column("exempt", sa.BigInteger(), nullable=True),
        sa.Column("vat", sa.BigInteger(), nullable=True),
        sa.Column("vat_not_recoverable", sa.BigInteger(), nullable=True),
        sa.Column("total", sa.BigInteger(), nullable=False),
        sa.Column("currency", sa.String(), nullable=False),
        sa.Column("cancelled_on", sa.Date(), nullable=True),
        sa.Column("ref_kind", sa.String(), nullable=False),
        sa.Column("ref_folio", sa.String(), nullable=False),
        sa.Column("as_of", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("connection", "file_sha256", "line"),
    )
    op.create_index("register_row_period", "register_row", ["connection", "side", "period"])
