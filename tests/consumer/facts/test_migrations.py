"""From one version to the next with data inside, on both databases."""

import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command

from consumer.facts import schema, tables
from consumer.facts.store import Store

TABLES = [f"consumer.facts.tables.{path.stem}" for path in Path(tables.__path__[0]).glob("[a-z]*.py")]
AT = "2026-10-01 03:00:00.000000"

FILL = (
    """
    INSERT INTO event (connection, id, type, mode, created_at, received_at, source, state, raw_sha256, meaning_sha256,
                       attempts, last_arrival_at, arrivals)
    VALUES ('main', 'evt_1', 'payout.succeeded', 'test', :at, :at, 'webhook', 'applied', 'a', 'b', 1, :at, 1)
    """,
    """
    INSERT INTO run (connection, id, as_of, complete, calendar, summary, started_at, finished_at, number)
    VALUES ('main', 'r1', '2026-10-01', true, 'c', '{}', :at, :at, 1)
    """,
    """
    INSERT INTO tick (job, planned_at, state, worker, started_at, lease_until)
    VALUES ('nightly:main', :at, 'done', 'w', :at, :at), ('nightly:mx', :at, 'failed', 'w', :at, :at)
    """,
)


@pytest.fixture
def first(database_url: str) -> Iterator[Store]:
    """A database as the first version left it."""
    for module in ["reconcile.tables", "reports.tables", *TABLES]:
        importlib.import_module(module)
    store = Store(database_url)
    with store.connection() as connection:
        command.upgrade(schema.alembic_config(connection), "0001")
    with store.connection() as connection:
        for statement in FILL:
            connection.execute(sa.text(statement), {"at": AT})
    yield store
    store.close()


def test_a_database_of_the_first_version_keeps_what_it_holds(first: Store) -> None:
    """Events stay, finished ticks bear their new word, and runs whose rows are gone say so."""
    schema.upgrade(first)

    with first.connection() as connection:
        assert schema.differences(connection) == []
        assert connection.execute(sa.text("SELECT id, state FROM event")).all() == [("evt_1", "applied")]
        told = sa.text("SELECT job, state FROM tick ORDER BY job")
        assert connection.execute(told).all() == [("nightly:main", "complete"), ("nightly:mx", "failed")]
        pruned = connection.execute(sa.text("SELECT id, pruned_at = finished_at FROM run")).all()
        assert [(name, bool(same)) for name, same in pruned] == [("r1", True)]
