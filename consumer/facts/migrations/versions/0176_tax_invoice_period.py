"""Month, number and side of a document of the register as the provider shows it, so that a month reads its own."""

import msgspec
import sqlalchemy as sa
from alembic import op

revision = "0176"
down_revision = "0175"
branch_labels = None
depends_on = None

_BATCH = 1_000


def upgrade() -> None:
    with op.batch_alter_table("tax_invoice") as table:
        for name in ("period", "number", "direction"):
            table.add_column(sa.Column(name, sa.String(), nullable=True))
    op.create_index("tax_invoice_period", "tax_invoice", ["connection", "period", "number"])
    op.create_index("tax_invoice_version", "tax_invoice", ["connection", "version_at", "gone_at"])
    database = op.get_bind()
    names = ("connection", "id", "body", "period", "number", "direction")
    invoices = sa.table("tax_invoice", *(sa.column(name, sa.String()) for name in names))
    key = (invoices.c.connection, invoices.c.id)
    last = ("", "")
    update = invoices.update().where(*(column == sa.bindparam(f"of_{column.name}") for column in key))
    asked = sa.select(*key, invoices.c.body).order_by(*key).limit(_BATCH)
    while found := database.execute(asked.where(sa.tuple_(*key) > last)).all():
        places = [{"of_connection": one[0], "of_id": one[1], **_place_of(msgspec.json.decode(one[2]))} for one in found]
        database.execute(update.values({name: sa.bindparam(name) for name in names[3:]}), places)
        last = (found[-1][0], found[-1][1])


def _place_of(data: dict[str, object]) -> dict[str, str | None]:
    month, _, year = str(data.get("tax_period") or "").partition("/")
    number, side = data.get("number"), data.get("issue_type")
    return {
        "period": f"{year}-{month:0>2}" if year else None,
        "number": str(number).lower() if number else None,
        "direction": str(side) if side else None,
    }
