"""What identifies a sale beside the body of each payment, charge and refund, filled in for those already kept."""

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op

from consumer.facts.observed import read_json
from consumer.facts.sales import sale_of

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_TABLES = ("payment_intent", "charge", "refund")
_COLUMNS = ("metadata_json", "texts", "split_json", "customer_id")
_AT_ONCE = 5_000


def upgrade() -> None:
    for name in _TABLES:
        for column in _COLUMNS:
            op.add_column(name, sa.Column(column, sa.String(), nullable=True))
        _fill(op.get_bind(), sa.table(name, *map(sa.column, ("connection", "id", "body", *_COLUMNS))))


def downgrade() -> None:
    for name in _TABLES:
        with op.batch_alter_table(name, schema=None) as batch_op:
            for column in _COLUMNS:
                batch_op.drop_column(column)


def _fill(database: sa.Connection, table: sa.TableClause) -> None:
    mine = (table.c.connection == sa.bindparam("of_connection")) & (table.c.id == sa.bindparam("of_id"))
    update = sa.update(table).where(mine).values({name: sa.bindparam(name) for name in _COLUMNS})
    for rows in _batches(database, table):
        told = [
            {"of_connection": row.connection, "of_id": row.id, **sale}
            for row in rows
            if any((sale := sale_of(read_json(row.body))).values())
        ]
        if told:
            database.execute(update, told)


def _batches(database: sa.Connection, table: sa.TableClause) -> Iterator[list[Any]]:
    """Walk the table by its key, so that no more than a batch is ever held."""
    key = sa.tuple_(table.c.connection, table.c.id)
    some = sa.select(table.c.connection, table.c.id, table.c.body).order_by(table.c.connection, table.c.id)
    rows = list(database.execute(some.limit(_AT_ONCE)))
    while rows:
        yield rows
        last = sa.tuple_(sa.literal(rows[-1].connection), sa.literal(rows[-1].id))
        rows = list(database.execute(some.where(key > last).limit(_AT_ONCE)))
