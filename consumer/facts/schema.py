"""Migrations: bring a database to this version's tables, and say whether it is there."""

from pathlib import Path

import sqlalchemy as sa

from consumer.facts.store import SchemaError, Store

_MIGRATION_LOCK = 717_043
_VERSION = sa.table("alembic_version", sa.column("version_num"))
# A migration's file begins with its number, which is its name in the database too; the first made the first release.
VERSIONS = sorted(path.name[:4] for path in (Path(__file__).parent / "migrations" / "versions").glob("[0-9]*.py"))


def upgrade(store: Store) -> None:
    """Run every migration that is missing, in one transaction; a second process waits and then has no more to do."""
    found = version_of(store)
    if found == VERSIONS[-1]:
        return
    _refuse_unreleased(found)
    with store.connection() as connection:
        if not store.is_sqlite:
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": _MIGRATION_LOCK})
        upgrade_to(connection, VERSIONS[-1])


def upgrade_to(connection: sa.Connection, version: str) -> None:
    """Run the migrations up to a version, in the caller's transaction."""
    from consumer.facts.migrating import run_migrations  # noqa: PLC0415 - alembic is slow to load

    run_migrations(connection, to=version)


def version_of(store: Store) -> str | None:
    """Return the last migration that ran here, or None."""
    with store.reading() as session:
        if not sa.inspect(session.connection()).has_table(_VERSION.name):
            return None
        return session.scalar(sa.select(_VERSION.c.version_num))


def check_migrated(store: Store) -> None:
    """Refuse to work on tables of another version."""
    found = version_of(store)
    _refuse_unreleased(found)
    if found != VERSIONS[-1]:
        raise SchemaError(
            f"the database is at version {found or 'none'}, this program at {VERSIONS[-1]}: cuadre db upgrade"
        )


def _refuse_unreleased(found: str | None) -> None:
    """Raise SchemaError for a database made before the first release, which no migration starts from."""
    if found is not None and found < VERSIONS[0]:
        raise SchemaError(
            f"this database was made before the first release (version {found}) and cannot be upgraded: "
            "choose a new CUADRE_DATA_DIR (with PostgreSQL an empty database), then run cuadre backfill and "
            "cuadre pull all"
        )
