"""The store on both databases: times stay aware UTC, inserts happen once, readers do not write."""

import importlib
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlmodel import select

from consumer.facts import migrating, schema
from consumer.facts import tables as consumer_tables
from consumer.facts.bulk import insert_new_rows, insert_rows
from consumer.facts.store import Store, insert_once, one_of, put, to_ids
from consumer.facts.tables.sync import Checkpoint
from consumer.facts.tables.types import core_of
from reconcile import tables as reconcile_tables

pytestmark = pytest.mark.both_databases

PACKAGES = (consumer_tables, reconcile_tables)
MODULES = [f"{room.__name__}.{path.stem}" for room in PACKAGES for path in Path(room.__path__[0]).glob("[a-z]*.py")]
MOMENT = datetime(2026, 10, 1, 3, 0, 0, 123456, tzinfo=UTC)


def row(stream: str, objects: int = 1) -> dict[str, object]:
    return {"connection": "main", "stream": stream, "pulled_at": MOMENT, "objects": objects}


def test_a_time_comes_back_aware_and_equal(store: Store) -> None:
    """A stored moment keeps its microseconds and its zone."""
    with store.transaction() as session:
        session.add(Checkpoint(connection="main", stream="payouts", pulled_at=MOMENT))

    with store.reading() as session:
        assert session.exec(select(Checkpoint)).one().pulled_at == MOMENT


def test_a_naive_time_is_refused(store: Store) -> None:
    """A time without a zone cannot be stored."""
    with pytest.raises(sa.exc.StatementError, match="without a zone"), store.transaction() as session:
        session.add(Checkpoint(connection="main", stream="payouts", pulled_at=datetime(2026, 1, 1)))  # noqa: DTZ001


def test_an_error_of_the_database_shows_no_values(store: Store) -> None:
    """Rows hold personal data, and errors reach logs."""
    one = row("payouts-of-12345678-5")
    with pytest.raises(sa.exc.IntegrityError) as caught, store.connection() as connection:
        connection.execute(sa.insert(Checkpoint), [one, one])
    assert "[parameters" not in str(caught.value) or "hidden" in str(caught.value)
    assert "12345678-5" not in str(caught.value).partition("DETAIL")[0]


def test_insert_once_names_only_the_new_rows(store: Store) -> None:
    """The second insert of a key changes nothing and is not reported as new."""
    with store.connection() as connection:
        assert insert_once(connection, Checkpoint, [row("payouts")], keys=["connection", "stream"]) == {
            ("main", "payouts")
        }
    with store.connection() as connection:
        new = insert_once(connection, Checkpoint, [row("payouts", 9), row("refunds")], keys=["connection", "stream"])

    assert new == {("main", "refunds")}
    with store.reading() as session:
        assert session.exec(select(Checkpoint.objects).where(Checkpoint.stream == "payouts")).one() == 1


def test_a_failed_block_leaves_nothing(store: Store) -> None:
    """A transaction that raises rolls back everything it wrote."""

    def write_and_fail() -> None:
        with store.transaction() as session:
            session.add(Checkpoint(connection="main", stream="payouts", pulled_at=MOMENT))
            session.flush()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_and_fail()

    with store.reading() as session:
        assert session.exec(select(Checkpoint)).all() == []


def test_the_tables_are_those_of_the_migrations(store: Store) -> None:
    """Migrating an empty database gives exactly the declared tables, and migrating twice changes nothing."""
    for module in ["reports.tables", *MODULES]:
        importlib.import_module(module)

    schema.upgrade(store)
    schema.check_migrated(store)

    with store.connection() as connection:
        assert migrating.differences(connection) == []


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
def test_dead_rows_of_the_inbox_go_soon(store: Store) -> None:
    """PostgreSQL clears the inbox from one dead row in a hundred on."""
    with store.connection() as connection:
        options = connection.execute(sa.text("SELECT reloptions FROM pg_class WHERE relname = 'event'")).scalar_one()

    assert "autovacuum_vacuum_scale_factor=0.01" in options


def test_put_overwrites_the_row_under_its_key(store: Store) -> None:
    """The last writer's values stay, and there is one row."""
    for objects in (1, 9):
        with store.connection() as connection:
            put(connection, Checkpoint, row("payouts", objects) | {"offered": True}, keys=["connection", "stream"])

    with store.reading() as session:
        assert [found.objects for found in session.exec(select(Checkpoint))] == [9]


def test_many_rows_go_in_at_once_on_sqlite(migrated_sqlite: Path, tmp_path: Path) -> None:
    """More rows than one statement takes are all there, with their times, and a time without a zone is refused."""
    shutil.copy(migrated_sqlite, tmp_path / "cuadre.db")
    store = Store(f"sqlite:///{tmp_path / 'cuadre.db'}")
    table = core_of(Checkpoint)
    rows = [row(f"stream-{number}", number) | {"offered": True} for number in range(250)]
    names = tuple(rows[0])
    with store.connection() as connection:
        insert_rows(connection, table, names, [list(one.values()) for one in rows], rows_a_statement=100)
        insert_rows(connection, table, names, [])

    with store.reading() as session:
        found = session.exec(select(Checkpoint)).all()
    assert len(found) == 250
    assert {(one.stream, one.objects, one.pulled_at) for one in found if one.objects in {0, 249}} == {
        ("stream-0", 0, MOMENT),
        ("stream-249", 249, MOMENT),
    }
    naive = row("naive") | {"pulled_at": MOMENT.replace(tzinfo=None), "offered": True}
    with pytest.raises(ValueError, match="without a zone"), store.connection() as connection:
        insert_rows(connection, table, names, [list(naive.values())])
    store.close()


@pytest.mark.parametrize("alike", [{}, {"connection": "main", "offered": True}])
def test_rows_that_are_there_stay_as_they_are(store: Store, alike: dict[str, object]) -> None:
    """Only rows with a new key go in, and none where a condition does not hold; their keys are told."""
    table, key = core_of(Checkpoint), ("connection", "stream")
    rows = [{**row(name, number), "offered": True} for name, number in [("events", 1), ("payouts", 2), ("refunds", 3)]]
    names = [name for name in rows[0] if name not in alike]
    values = [[one[name] for name in names] for one in rows]
    with store.connection() as connection:
        insert_new_rows(connection, table, names, values[:1], key=key, alike=alike)
        values[0][names.index("objects")] = 9
        found = insert_new_rows(connection, table, names, values, key=key, alike=alike)
        nothing = insert_new_rows(connection, table, names, [], key=key, alike=alike)
        values[0][names.index("stream")] = "charges"
        kept_out = "NOT EXISTS (SELECT 1 FROM checkpoint WHERE stream = 'refunds')"
        refused = insert_new_rows(connection, table, names, values, key=key, alike=alike, only_if=kept_out)

    assert (found, nothing, refused) == ({("main", "payouts"), ("main", "refunds")}, set(), set())
    with store.reading() as session:
        stored = session.execute(sa.select(table.c.stream, table.c.objects).order_by(table.c.stream)).all()
    assert [tuple(one) for one in stored] == [("events", 1), ("payouts", 2), ("refunds", 3)]


def test_many_names_are_asked_as_one_value(store: Store) -> None:
    """Names with quotes, accents and spaces are found, others are not."""
    with store.connection() as connection:
        for stream in ('qu"ote', "ñandú ’", "plain"):
            insert_once(connection, Checkpoint, [row(stream) | {"offered": True}], keys=["connection", "stream"])
        table = core_of(Checkpoint)
        named = sa.select(table.c.stream).where(one_of(table.c.stream, connection.dialect.name))
        found = connection.execute(named, {"ids": to_ids(['qu"ote', "ñandú ’", "other"])})

        assert {one[0] for one in found} == {'qu"ote', "ñandú ’"}
