"""What people, tokens and files of the archive see or show of the connections."""

import sqlalchemy as sa
from alembic import op

revision = "0104"
down_revision = "0103"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table in ("person", "token"):
        op.add_column(table, sa.Column("connections", sa.String(), nullable=True))
    op.add_column("report_file", sa.Column("connections", sa.String(), server_default="", nullable=False))
    files = sa.table("report_file", *map(sa.column, ("id", "run_ids", "connections")))
    here = op.get_bind()
    for number, runs in here.execute(sa.select(files.c.id, files.c.run_ids)).all():
        names = " ".join(sorted({run.partition(":")[0] for run in runs.split()}))
        here.execute(sa.update(files).where(files.c.id == number).values(connections=names))
