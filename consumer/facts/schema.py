"""Migrations: bring a database to this version's tables, and say whether it is there."""

from pathlib import Path

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection, text
from sqlmodel import SQLModel

from consumer.facts.store import Store

_MIGRATION_LOCK = 717_043


class SchemaError(Exception):
    """The database's tables are not those of this version."""


def alembic_config(connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    return config


def upgrade(store: Store) -> None:
    """Run every migration that is missing, in one transaction; a second process waits and then finds nothing to do."""
    with store.connection() as connection:
        if not store.is_sqlite:
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _MIGRATION_LOCK})
        try:
            command.upgrade(alembic_config(connection), "head")
        except CommandError as error:
            raise SchemaError(f"the database belongs to another version of Cuadre: {error}") from None


def is_empty(store: Store) -> bool:
    """Tell whether no migration ever ran here."""
    with store.reading() as session:
        return MigrationContext.configure(session.connection()).get_current_revision() is None


def check_migrated(store: Store) -> None:
    """Refuse to work on tables of another version."""
    wanted = ScriptDirectory.from_config(alembic_config()).get_current_head()
    with store.reading() as session:
        found = MigrationContext.configure(session.connection()).get_current_revision()
    if found != wanted:
        raise SchemaError(f"the database is at version {found or 'none'}, this program at {wanted}: cuadre db upgrade")


def differences(connection: Connection) -> list[str]:
    """Name what the declared tables have and the database has not, or the reverse."""
    context = MigrationContext.configure(connection, opts={"compare_type": True})
    return [str(difference) for difference in compare_metadata(context, SQLModel.metadata)]
