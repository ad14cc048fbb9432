"""Alembic's entry: runs the migrations on the connection that `schema.upgrade` hands over."""

from typing import Any, Literal

from alembic import context
from alembic.autogenerate.api import AutogenContext
from sqlalchemy import Connection
from sqlmodel import SQLModel
from sqlmodel.sql.sqltypes import AutoString

from consumer.facts.migrating import is_declared
from consumer.facts.tables.types import UtcDateTime


def render(kind: str, item: Any, _context: AutogenContext) -> str | Literal[False]:
    """Write our column types in a new migration without naming the libraries behind them."""
    if kind == "type" and isinstance(item, UtcDateTime):
        return "UtcDateTime()"
    if kind == "type" and isinstance(item, AutoString):
        return "sa.String()"
    return False


connection: Connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=SQLModel.metadata,
    render_as_batch=connection.dialect.name == "sqlite",
    render_item=render,
    compare_type=True,
    include_name=is_declared,
)
with context.begin_transaction():
    context.run_migrations()
