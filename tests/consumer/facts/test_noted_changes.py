"""Whatever alters a row that a run reads leaves its key in the log of changes, on both databases."""

from typing import Any

import pytest
import sqlalchemy as sa

from consumer.facts import changes
from consumer.facts.store import Store

AT, LATER = "2026-10-01 03:00:00.000000", "2026-10-02 03:00:00.000000"
_OBJECT = {"connection": "main", "id": "x_1", "mode": "test", "version_at": AT, "version_rank": 1,
           "version_event": "", "body": "{}"}  # fmt: skip
# One row of each table that is watched.
ROWS: dict[str, dict[str, Any]] = {
    "local_invoice": {
        "connection": "main", "doc_key": "x_1", "country": "cl", "doc_type": "33", "series": "", "folio": "1",
        "uuid": "", "issue_date": "2026-09-01", "due_date": None, "customer_tax_id": "", "customer_name": "",
        "net": None, "exempt": None, "vat": None, "total": 1190, "currency": "CLP", "status": "valid",
        "order_ref": "", "ref_type": "", "ref_number": "", "payment_method": "", "payment_form": "", "raw": "",
        "file_sha256": "0", "updated_at": AT,
    },
    **dict.fromkeys(("payment_intent", "charge", "refund", "customer"), _OBJECT),
    "payout_item": {
        "connection": "main", "payout_id": "po_1", "resource_type": "refund", "resource_id": "x_1", "mode": "test",
        "amount": 5, "currency": "CLP", "body": "{}",
    },
    "event": {
        "connection": "main", "id": "x_1", "type": "refund.succeeded", "mode": "test", "created_at": AT,
        "received_at": AT, "source": "webhook", "state": "waiting", "resource_id": "re_1", "raw_sha256": "a",
        "meaning_sha256": "b", "arrivals": 1, "attempts": 0, "last_arrival_at": AT,
    },
    "provider_fee": {"connection": "main", "payout_id": "x_1", "resource_id": "pi_1", "fee_total": 5, "cells": "{}"},
}  # fmt: skip
_SALE = ["connection", "id", "mode", "status", "amount", "currency", "created_at", "gone_at", "succeeded_at",
         "metadata_json", "texts", "split_json", "customer_id"]  # fmt: skip
# What a run reads or asks of each.
READ = {
    "local_invoice": ["connection", "doc_key", "doc_type", "series", "folio", "uuid", "issue_date", "due_date",
                      "customer_tax_id", "customer_name", "net", "exempt", "vat", "total", "currency", "status",
                      "order_ref", "ref_type", "ref_number", "payment_method", "payment_form"],
    "payment_intent": [*_SALE, "subtype", "customer_tax_id", "customer_name", "sender_tax_id"],
    "charge": [*_SALE, "customer_tax_id"],
    "refund": [*_SALE, "resource_id", "failed_at"],
    "customer": ["connection", "id", "mode", "gone_at", "tax_id", "name"],
    "payout_item": ["connection", "payout_id", "resource_type", "resource_id", "mode", "amount", "currency"],
    "event": ["connection", "id", "type", "mode", "created_at", "resource_id"],
    "provider_fee": ["connection", "payout_id", "resource_id", "fee_total"],
}  # fmt: skip
UNREAD = [("event", "state"), ("event", "attempts"), ("payment_intent", "body"), ("local_invoice", "raw"),
          ("customer", "body"), ("payout_item", "body"), ("provider_fee", "cells")]  # fmt: skip
COLUMNS = [(table, column) for table, columns in READ.items() for column in columns]
NUMBERS = {"amount", "net", "exempt", "vat", "total", "fee_total", "attempts"}


def _run(store: Store, statement: str, **given: Any) -> None:
    with store.connection() as database:
        database.execute(sa.text(statement), given)


def _insert(store: Store, table: str) -> None:
    names = list(ROWS[table])
    places = ", ".join(f"CAST(:{name} AS TIMESTAMP)" if name.endswith("_at") and store.engine.name != "sqlite"
                       else f"CAST(:{name} AS DATE)" if name.endswith("_date") and store.engine.name != "sqlite"
                       else f":{name}" for name in names)  # fmt: skip
    _run(store, f"INSERT INTO {table} ({', '.join(names)}) VALUES ({places})", **ROWS[table])  # noqa: S608 - our own names


def _noted(store: Store) -> list[tuple[str, str, str]]:
    """What was noted since the last look."""
    with store.connection() as database:
        rows = database.execute(sa.text("SELECT of_table, connection, key FROM fact_change ORDER BY id")).all()
        database.execute(sa.text("DELETE FROM fact_change"))
    return [tuple(row) for row in rows]


def _other(column: str) -> str:
    if column in NUMBERS:
        return "7"
    if column.endswith("_at"):
        return f"CAST('{LATER}' AS TIMESTAMP)"
    return "CAST('2026-11-11' AS DATE)" if column.endswith("_date") else "'other'"


@pytest.mark.parametrize("table", list(ROWS))
def test_a_row_that_comes_and_goes_is_noted(store: Store, table: str) -> None:
    """Also where somebody writes by hand; and the row's key is the column that the readers know it by."""
    _insert(store, table)
    assert _noted(store) == [(table, "main", "x_1")]
    _run(store, f"DELETE FROM {table}")  # noqa: S608 - one of the names above
    assert _noted(store) == [(table, "main", "x_1")]
    assert set(changes.NOTED) == set(ROWS) == set(READ)


def test_every_column_that_is_read_is_noted_when_it_alters(store: Store) -> None:
    """The row's old key, and its new one where the key or the connection is what altered."""
    for table in ROWS:
        _insert(store, table)
    _noted(store)
    for table, column in COLUMNS:
        before, after = _row(store, table), _other(column)
        _run(store, f"UPDATE {table} SET {column} = {after}")  # noqa: S608 - names from above
        key = changes.NOTED[table]
        moved = {key: (table, "main", "other"), "connection": (table, "other", "x_1")}.get(column)
        assert _noted(store) == [(table, "main", "x_1"), *([moved] if moved else [])], (table, column)
        _run(store, f"UPDATE {table} SET {column} = {after}")  # noqa: S608 - our own names
        assert _noted(store) == [], (table, column)
        _run(store, f"UPDATE {table} SET {column} = :before", before=before[column])  # noqa: S608 - our own names
        _noted(store)


def _row(store: Store, table: str) -> dict[str, Any]:
    with store.reading() as session:
        return dict(session.connection().execute(sa.text(f"SELECT * FROM {table}")).mappings().one())  # noqa: S608 - our own names


def test_what_no_run_reads_is_not_noted(store: Store) -> None:
    """An event that is settled, or a body that is written again, costs no row of the log."""
    for table in ROWS:
        _insert(store, table)
    _noted(store)
    for table, column in UNREAD:
        _run(store, f"UPDATE {table} SET {column} = {_other(column)}")  # noqa: S608 - our own names
    assert _noted(store) == []


def test_a_row_that_is_written_over_another_is_noted(store: Store) -> None:
    """Both databases' ways to insert or update leave the key, and doing nothing leaves none."""
    _insert(store, "charge")
    _noted(store)
    insert = (
        "INTO charge (connection, id, mode, version_at, version_rank, version_event, body, status) "
        "VALUES ('main', 'x_1', 'test', CAST(:at AS TIMESTAMP), 1, '', '{}', 'failed')"
    )
    _run(store, f"INSERT {insert} ON CONFLICT (connection, id) DO NOTHING", at=AT)
    assert _noted(store) == []
    _run(store, f"INSERT {insert} ON CONFLICT (connection, id) DO UPDATE SET status = excluded.status", at=AT)
    assert _noted(store) == [("charge", "main", "x_1")]
    if store.is_sqlite:
        _run(store, f"INSERT OR REPLACE {insert}", at=AT)
        assert _noted(store) == [("charge", "main", "x_1")]


def test_a_table_that_is_emptied_at_once_cannot_be_told_by_keys(store: Store) -> None:
    """PostgreSQL can empty a table without touching its rows; then any row may have changed, of every connection."""
    if store.is_sqlite:
        return
    with store.reading() as session:
        mark = changes.seen_until(session.connection())
    _run(store, "TRUNCATE charge")
    with store.reading() as session:
        assert changes.touched_since(session.connection(), "main", mark, most=9) is None


def test_keys_are_told_by_table_since_a_mark(store: Store) -> None:
    """Of one connection, each once, and none of them where they are more than one wants to hear of."""
    _insert(store, "charge")
    with store.reading() as session:
        mark = changes.seen_until(session.connection())
        assert changes.touched_since(session.connection(), "main", mark, most=9) == {}
    for amount in (7, 8):
        _run(store, "UPDATE charge SET amount = :amount", amount=amount)
    _insert(store, "refund")
    _insert(store, "event")
    _run(store, "UPDATE event SET connection = 'mx'")
    with store.reading() as session:
        database = session.connection()
        keys = frozenset({"x_1"})
        told = {"charge": keys, "refund": keys, "event": keys}
        assert changes.touched_since(database, "main", mark, most=3) == told
        assert changes.touched_since(database, "main", mark, most=2) is None
        assert changes.touched_since(database, "mx", mark, most=9) == {"event": keys}


def test_a_key_that_readers_would_cut_is_not_told(store: Store) -> None:
    """SQLite holds a NUL in a text and writes the text up to it: such a row is found by reading everything."""
    if not store.is_sqlite:
        return
    _run(store, "INSERT INTO provider_fee (connection, payout_id, resource_id, fee_total) "
                "VALUES ('main', 'x_1' || char(0), 'a', 1)")  # fmt: skip
    with store.reading() as session:
        assert changes.touched_since(session.connection(), "main", 0, most=9) is None


def test_who_trims_the_log_names_new_tables(store: Store) -> None:
    """Only one of two that saw the same token replaces it; the log before its mark goes, of its connection alone."""
    _insert(store, "charge")
    _insert(store, "refund")
    _run(store, "UPDATE refund SET connection = 'mx'")
    with store.reading() as session:
        mark = changes.seen_until(session.connection())
    _run(store, "UPDATE charge SET amount = 8")
    told: list[bool] = []
    for seen, token in ((None, "a"), (None, "b"), ("b", "c"), ("a", "d")):
        with store.connection() as database:
            told.append(changes.replace_token(database, "main", seen=seen, token=token, mark=mark))
    assert told == [True, False, False, True]
    assert _noted(store) == [("refund", "mx", "x_1"), ("charge", "main", "x_1")]
    with store.reading() as session:
        assert changes.read_token(session.connection(), "main") == "d"
        assert changes.read_token(session.connection(), "mx") is None


def test_numbers_of_the_log_are_never_given_again(store: Store) -> None:
    """A change after the log was emptied comes after every mark that was ever seen."""
    _insert(store, "charge")
    with store.reading() as session:
        mark = changes.seen_until(session.connection())
    _noted(store)
    _run(store, "UPDATE charge SET amount = 8")
    with store.reading() as session:
        assert changes.touched_since(session.connection(), "main", mark, most=9) == {"charge": frozenset({"x_1"})}


def test_a_change_that_commits_late_comes_after_the_mark(store: Store) -> None:
    """PostgreSQL: a transaction that began before a view and commits after it was not seen, whoever overtook it."""
    if store.is_sqlite:
        return
    _insert(store, "charge")
    _insert(store, "refund")
    with store.engine.connect() as slow, slow.begin() as open_one:
        with slow.begin_nested():
            slow.execute(sa.text("UPDATE charge SET amount = 8"))
        _run(store, "UPDATE refund SET amount = 9")
        with store.reading() as session:
            mark = changes.seen_until(session.connection())
            slow.execute(sa.text("UPDATE charge SET amount = 10"))
            assert changes.touched_since(session.connection(), "main", mark, most=9) == {"refund": frozenset({"x_1"})}
        open_one.commit()
    with store.reading() as session:
        told = changes.touched_since(session.connection(), "main", mark, most=9)
    # What overtook is told again: reading a row twice harms nobody.
    assert told == {"charge": frozenset({"x_1"}), "refund": frozenset({"x_1"})}


def test_a_watch_that_was_off_is_another_watch(store: Store) -> None:
    """A trigger that is missing, was made anew or was switched off and on in between is seen."""
    with store.reading() as session:
        watch = changes.watch_of(session.connection())
        assert watch == changes.watch_of(session.connection())
    assert watch is not None
    if store.is_sqlite:
        with store.reading() as session:
            made = session.scalar(sa.text("SELECT sql FROM sqlite_master WHERE name = 'noted_charge_altered'"))
        off, on = "DROP TRIGGER noted_charge_altered", str(made)
    else:
        off = "ALTER TABLE charge DISABLE TRIGGER noted_charge_altered"
        on = "ALTER TABLE charge ENABLE ALWAYS TRIGGER noted_charge_altered"
    _run(store, off)
    with store.reading() as session:
        assert changes.watch_of(session.connection()) is None
    _run(store, on)
    with store.reading() as session:
        assert changes.watch_of(session.connection()) not in {None, watch}
