"""Triggers note which rows of the large tables changed, so that a run may read those alone."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_OBJECT = ("connection", "id", "mode", "gone_at")
_SALE = (
    *_OBJECT, "status", "amount", "currency", "created_at", "succeeded_at", "customer_tax_id", "metadata_json", "texts",
    "split_json", "customer_id",
)  # fmt: skip
# Each table with the column that names a row in the log, and every column a run reads or asks about.
_NOTED: dict[str, tuple[str, tuple[str, ...]]] = {
    "local_invoice": ("doc_key", (
        "connection", "doc_key", "doc_type", "series", "folio", "uuid", "issue_date", "due_date", "customer_tax_id",
        "customer_name", "net", "exempt", "vat", "total", "currency", "status", "order_ref", "ref_type", "ref_number",
        "payment_method", "payment_form",
    )),
    "payment_intent": ("id", (*_SALE, "subtype", "customer_name", "sender_tax_id")),
    "charge": ("id", _SALE),
    "refund": ("id", (*(name for name in _SALE if name != "customer_tax_id"), "resource_id", "failed_at")),
    "payout_item": ("resource_id", (
        "connection", "payout_id", "resource_type", "resource_id", "mode", "amount", "currency",
    )),
    "customer": ("id", (*_OBJECT, "tax_id", "name")),
    "event": ("id", ("connection", "id", "type", "mode", "created_at", "resource_id")),
    "provider_fee": ("payout_id", ("connection", "payout_id", "resource_id", "fee_total")),
}  # fmt: skip


def upgrade() -> None:
    op.create_table(
        "fact_change",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("of_table", sa.String(), nullable=False),
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=True),
        sa.Column("transaction_id", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "remembered_tables",
        sa.Column("connection", sa.String(), nullable=False),
        sa.Column("token", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("connection"),
    )
    is_sqlite = op.get_bind().dialect.name == "sqlite"
    for table, (key, columns) in _NOTED.items():
        for statement in (_on_sqlite if is_sqlite else _on_postgresql)(table, key, columns):
            op.execute(statement)


def downgrade() -> None:
    is_sqlite = op.get_bind().dialect.name == "sqlite"
    for table in _NOTED:
        for what in ("added", "removed", "altered", *([] if is_sqlite else ["emptied"])):
            op.execute(f"DROP TRIGGER noted_{table}_{what}" + ("" if is_sqlite else f" ON {table}"))
        if not is_sqlite:
            op.execute(f"DROP FUNCTION noted_{table}_rows()")
            op.execute(f"DROP FUNCTION noted_{table}_row()")
            op.execute(f"DROP FUNCTION noted_{table}_whole()")
    op.drop_table("remembered_tables")
    op.drop_table("fact_change")


def _on_sqlite(table: str, key: str, columns: tuple[str, ...]) -> list[str]:
    into = "INSERT INTO fact_change (of_table, connection, key)"
    is_other = " OR ".join(f"OLD.{name} IS NOT NEW.{name}" for name in columns)
    is_moved = f"OLD.{key} IS NOT NEW.{key} OR OLD.connection IS NOT NEW.connection"
    old, new = (f"{into} SELECT '{table}', {row}.connection, {row}.{key}" for row in ("OLD", "NEW"))
    ways = {
        "added AFTER INSERT": ("", new),
        "removed AFTER DELETE": ("", old),
        f"altered AFTER UPDATE OF {', '.join(columns)}": (f"WHEN {is_other}", f"{old}; {new} WHERE {is_moved}"),
    }
    return [
        f"CREATE TRIGGER noted_{table}_{what} ON {table} {when} BEGIN {noted}; END"
        for what, (when, noted) in ways.items()
    ]


def _on_postgresql(table: str, key: str, columns: tuple[str, ...]) -> list[str]:
    schema = op.get_bind().execute(sa.text("SELECT quote_ident(current_schema())")).scalar_one()
    into = f"INSERT INTO {schema}.fact_change (of_table, connection, key, transaction_id)"
    # Of the whole transaction, within a savepoint too.
    now = "CAST(CAST(pg_current_xact_id() AS TEXT) AS BIGINT)"
    is_other = " OR ".join(f"OLD.{name} IS DISTINCT FROM NEW.{name}" for name in columns)
    is_moved = f"OLD.{key} IS DISTINCT FROM NEW.{key} OR OLD.connection IS DISTINCT FROM NEW.connection"
    old, new = (f"{into} VALUES ('{table}', {row}.connection, {row}.{key}, {now})" for row in ("OLD", "NEW"))
    bodies = {
        "rows": f"{into} SELECT '{table}', connection, {key}, {now} FROM touched",  # noqa: S608 - our own names
        "row": f"{old}; IF {is_moved} THEN {new}; END IF",
        "whole": f"{into} VALUES ('{table}', '', NULL, {now})",
    }
    ways = {
        "added": ("rows", f"INSERT ON {table} REFERENCING NEW TABLE AS touched FOR EACH STATEMENT"),
        "removed": ("rows", f"DELETE ON {table} REFERENCING OLD TABLE AS touched FOR EACH STATEMENT"),
        "altered": ("row", f"UPDATE ON {table} FOR EACH ROW WHEN ({is_other})"),
        "emptied": ("whole", f"TRUNCATE ON {table} FOR EACH STATEMENT"),
    }
    functions = [
        f"CREATE FUNCTION {schema}.noted_{table}_{name}() RETURNS trigger LANGUAGE plpgsql "
        f"AS $$ BEGIN {body}; RETURN NULL; END $$"
        for name, body in bodies.items()
    ]
    triggers = [
        f"CREATE TRIGGER noted_{table}_{what} AFTER {how} EXECUTE FUNCTION {schema}.noted_{table}_{by}()"
        for what, (by, how) in ways.items()
    ]
    # Else a session that plays the replica would write past them.
    always = [f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER noted_{table}_{what}" for what in ways]
    return [*functions, *triggers, *always]
