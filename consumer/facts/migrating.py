"""Alembic, which runs the migrations and compares tables; loading it costs more than asking whether it is needed."""

from pathlib import Path

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.util import CommandError
from sqlalchemy import Connection
from sqlmodel import SQLModel

from consumer.facts.store import SchemaError


def alembic_config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    return config


def run_migrations(connection: Connection, *, to: str = "head") -> None:
    """Run every migration that is missing, or those up to a version, in the caller's transaction."""
    try:
        command.upgrade(alembic_config(connection), to)
    except CommandError as error:
        raise SchemaError(f"the database belongs to another version of Cuadre: {error}") from None


def differences(connection: Connection) -> list[str]:
    """Name what the declared tables have and the database has not, or the reverse."""
    context = MigrationContext.configure(connection, opts={"compare_type": True, "include_name": is_declared})
    return [str(difference) for difference in compare_metadata(context, SQLModel.metadata)]


def is_declared(name: str | None, _kind: str, _parents: object) -> bool:
    """Return False for what only a migration makes, since each database has its own form of it: the search."""
    return not (name or "").startswith("search_index")
