"""Second factors, links to choose a password by, where sessions come from, and when tokens end."""

import sqlalchemy as sa
from alembic import op

from consumer.facts.tables.types import UtcDateTime

revision = "0102"
down_revision = "0101"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "recovery_code",
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("sha256"),
    )
    with op.batch_alter_table("recovery_code", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_recovery_code_person_id"), ["person_id"], unique=False)

    op.create_table(
        "second_factor",
        sa.Column("person_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("encrypted", sa.LargeBinary(), nullable=False),
        sa.Column("begun_at", UtcDateTime(), nullable=False),
        sa.Column("confirmed_at", UtcDateTime(), nullable=True),
        sa.Column("last_step", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("person_id"),
    )
    with op.batch_alter_table("invitation", schema=None) as batch_op:
        batch_op.add_column(sa.Column("person_id", sa.Integer(), nullable=True))

    with op.batch_alter_table("login_session", schema=None) as batch_op:
        batch_op.add_column(sa.Column("address", sa.String(), server_default="", nullable=False))

    with op.batch_alter_table("token", schema=None) as batch_op:
        batch_op.add_column(sa.Column("expires_at", UtcDateTime(), nullable=True))
