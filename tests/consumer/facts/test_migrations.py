"""From one version to the next with data inside, on both databases."""

import importlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.script import ScriptDirectory

from consumer.facts import migrating, schema, tables
from consumer.facts.store import Store
from consumer.facts.tables.columns import UtcDateTime

TABLES = [f"consumer.facts.tables.{path.stem}" for path in Path(tables.__path__[0]).glob("[a-z]*.py")]
AT = "2026-10-01 03:00:00.000000"
SALE = """{"metadata": {"order_ref": "Ñ-1", "a": 1}, "comment": "Pago 7", "reference_id": "X", "customer": "cus_1",
           "split_applied": [{"entity_id": "ent_1", "amount": 70}], "cuadre:kept": {}}"""

BODIES = {
    "sale": SALE,
    "due": '{"documentation_upload_deadline": "2026-10-20T23:59:59.5-03:00"}',
    "day": '{"documentation_upload_deadline": "2026-10-20"}',
    "nonsense": '{"documentation_upload_deadline": "soon"}',
}

MANY = """
    INSERT INTO charge (connection, id, mode, version_at, version_rank, version_event, body)
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10001)
    SELECT 'mx', 'ch_' || i, 'test', CAST(:at AS TIMESTAMP), 1, '', '{"customer": {"id": "cus_2"}}' FROM n
    """

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
    INSERT INTO payment_intent (connection, id, mode, version_at, version_rank, version_event, body)
    VALUES ('main', 'pi_1', 'test', :at, 1, '', :sale), ('main', 'pi_2', 'test', :at, 1, '', '{"metadata": [7]}'),
           ('mx', 'pi_1', 'live', :at, 1, '', '{"reference_id": "X"}')
    """,
    """
    INSERT INTO charge (connection, id, mode, version_at, version_rank, version_event, body)
    VALUES ('main', 'ch_1', 'test', :at, 1, '', :sale)
    """,
    """
    INSERT INTO refund (connection, id, mode, version_at, version_rank, version_event, body)
    VALUES ('main', 're_1', 'test', :at, 1, '', :sale)
    """,
    """
    INSERT INTO dispute (connection, id, mode, version_at, version_rank, version_event, body)
    VALUES ('main', 'cb_1', 'test', :at, 1, '', :due), ('main', 'cb_2', 'test', :at, 1, '', :day),
           ('main', 'cb_3', 'test', :at, 1, '', '{}'), ('main', 'cb_4', 'test', :at, 1, '', :nonsense)
    """,
    """
    INSERT INTO tick (job, planned_at, state, worker, started_at, lease_until)
    VALUES ('nightly:main', :at, 'done', 'w', :at, :at), ('nightly:mx', :at, 'failed', 'w', :at, :at)
    """,
)

# One trigger of the version that noted changed rows, as each database had it.
NOTED = {
    "sqlite": (
        """
        CREATE TRIGGER noted_charge_altered AFTER UPDATE OF mode ON charge
        BEGIN INSERT INTO fact_change (of_table) VALUES ('charge'); END
        """,
    ),
    "postgresql": (
        """
        CREATE FUNCTION noted_charge_row() RETURNS trigger LANGUAGE plpgsql
        AS $$ BEGIN INSERT INTO fact_change (of_table) VALUES ('charge'); RETURN NULL; END $$
        """,
        """
        CREATE TRIGGER noted_charge_altered AFTER UPDATE ON charge FOR EACH ROW EXECUTE FUNCTION noted_charge_row()
        """,
    ),
}


@pytest.fixture
def first(database_url: str) -> Iterator[Store]:
    """A database as the first version left it."""
    for module in ["reconcile.tables", "reports.tables", *TABLES]:
        importlib.import_module(module)
    store = Store(database_url)
    with store.connection() as connection:
        command.upgrade(migrating.alembic_config(connection), "0001")
    with store.connection() as connection:
        for statement in FILL:
            given = {name: value for name, value in BODIES.items() if f":{name}" in statement}
            connection.execute(sa.text(statement), {"at": AT} | given)
    yield store
    store.close()


def test_a_database_of_the_first_version_keeps_what_it_holds(first: Store) -> None:
    """Events stay, finished ticks bear their new word, and runs whose rows are gone say so."""
    schema.upgrade(first)

    with first.connection() as connection:
        assert migrating.differences(connection) == []
        assert connection.execute(sa.text("SELECT id, state FROM event")).all() == [("evt_1", "applied")]
        told = sa.text("SELECT job, state FROM tick ORDER BY job")
        assert connection.execute(told).all() == [("nightly:main", "complete"), ("nightly:mx", "failed")]
        pruned = connection.execute(sa.text("SELECT id, pruned_at = finished_at FROM run")).all()
        assert [(name, bool(same)) for name, same in pruned] == [("r1", True)]


def test_the_last_migration_is_known_without_alembic(database_url: str) -> None:
    """The numbers that files begin with end in alembic's own head, so a database need only be asked for one word."""
    store = Store(database_url)
    with store.connection() as connection:
        head = ScriptDirectory.from_config(migrating.alembic_config(connection)).get_current_head()
    schema.upgrade(store)

    assert (schema.VERSIONS[-1], schema.version_of(store)) == (head, head)
    store.close()


def test_what_identifies_a_sale_is_filled_in_from_bodies(first: Store) -> None:
    """Every payment, charge and refund gets its columns, however many batches they make; what says nothing has none."""
    with first.connection() as connection:
        connection.execute(sa.text(MANY), {"at": AT})
    schema.upgrade(first)

    split = '[{"amount":70,"charge_processing_fee":null,"entity_id":"ent_1"}]'
    sale = ('{"a":1,"order_ref":"Ñ-1"}', "Pago 7\nX", split)
    told = "SELECT metadata_json, texts, split_json, customer_id FROM"
    with first.connection() as connection:
        payments = connection.execute(sa.text(f"{told} payment_intent ORDER BY connection, id")).all()
        assert payments == [(*sale, "cus_1"), (None, None, None, None), (None, "X", None, None)]
        assert connection.execute(sa.text(f"{told} charge WHERE connection = 'main'")).all() == [(*sale, "cus_1")]
        assert connection.execute(sa.text(f"{told} refund")).all() == [(*sale, "cus_1")]
        assert connection.execute(sa.text("SELECT count(*) FROM charge WHERE customer_id = 'cus_2'")).scalar() == 10_001


def test_the_deadline_of_a_dispute_is_filled_in_from_its_body(first: Store) -> None:
    """A moment, a bare date as midnight UTC, and nothing where nothing is said that can be read."""
    schema.upgrade(first)

    asked: sa.Select[*tuple[Any, ...]] = (
        sa.select(sa.column("id"), sa.column("due_at", UtcDateTime())).select_from(sa.text("dispute")).order_by("id")
    )
    with first.connection() as connection:
        assert connection.execute(asked).all() == [
            ("cb_1", datetime(2026, 10, 21, 2, 59, 59, 500_000, tzinfo=UTC)),
            ("cb_2", datetime(2026, 10, 20, tzinfo=UTC)),
            ("cb_3", None),
            ("cb_4", None),
        ]


def test_a_database_whose_triggers_noted_changes_loses_them(first: Store) -> None:
    """It is at the version that brought them, and goes on from there."""
    with first.connection() as connection:
        command.upgrade(migrating.alembic_config(connection), "0004")
        connection.execute(sa.text("CREATE TABLE fact_change (of_table VARCHAR NOT NULL)"))
        connection.execute(sa.text("CREATE TABLE remembered_tables (connection VARCHAR NOT NULL)"))
        for statement in NOTED[connection.dialect.name]:
            connection.execute(sa.text(statement))
    schema.upgrade(first)

    with first.connection() as connection:
        assert migrating.differences(connection) == []
        connection.execute(sa.text("UPDATE charge SET mode = 'live'"))
