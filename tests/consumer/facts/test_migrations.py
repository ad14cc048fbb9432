"""From one version to the next, on both databases."""

import pytest
import sqlalchemy as sa
from alembic.script import ScriptDirectory

from consumer.facts import migrating, schema
from consumer.facts.store import SchemaError, Store

pytestmark = pytest.mark.both_databases


def test_the_last_migration_is_known_without_alembic(database_url: str) -> None:
    """The numbers that files begin with end in alembic's own head, so a database need only be asked for one word."""
    store = Store(database_url)
    with store.connection() as connection:
        head = ScriptDirectory.from_config(migrating.alembic_config(connection)).get_current_head()
    schema.upgrade(store)

    assert (schema.VERSIONS[-1], schema.version_of(store)) == (head, head)
    store.close()


def test_a_database_made_before_the_first_release_is_refused(store: Store) -> None:
    """Upgrading and checking both say in one sentence what to do, and change nothing."""
    with store.connection() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '0008'"))

    for refuse in (schema.upgrade, schema.check_migrated):
        with pytest.raises(SchemaError) as refused:
            refuse(store)
        assert str(refused.value) == (
            "this database was made before the first release (version 0008) and cannot be upgraded: choose a new "
            "CUADRE_DATA_DIR (with PostgreSQL an empty database), then run cuadre backfill and cuadre pull all"
        )
    assert schema.version_of(store) == "0008"


def test_a_database_of_a_later_release_is_refused(store: Store) -> None:
    """A version that this program does not know is named as another program's."""
    with store.connection() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))

    with pytest.raises(SchemaError, match="belongs to another version of Cuadre"):
        schema.upgrade(store)
