"""Fills the search from the tables, in short transactions, after facts were applied, files kept and runs published.

Only what the search does not have yet is read: a row is found by what identifies it, and its state is read when it is
found. So rows change here only where a file changed a document, and go where their row went.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import sqlalchemy as sa
import structlog
from sqlmodel import Session, col

from consumer.facts import bulk
from consumer.facts.installation import Connection, Installation
from consumer.facts.store import Store, Turn, batches, one_of, take_turn, to_ids
from consumer.facts.tables.provider import Customer
from consumer.facts.tables.types import core_of
from reconcile.tables import LocalInvoiceChange
from reports import standing
from reports.search.sources import SOURCES, Context, Source
from reports.search.words import join, to_line
from reports.tables import SearchRow

log = structlog.get_logger("cuadre.search")

_ROW = core_of(SearchRow)
# On SQLite webhooks wait while one batch is written.
_ROWS_A_BATCH = 1_000
# Its key is the number of the last change of a document that was read.
_MARK = "mark"


def fill(installation: Installation, connection: Connection) -> int:
    """Bring in what is new, bring in again what a file changed, drop what went; return how many rows were written."""
    store, name = installation.store, connection.name
    _drop_changed(store, name)
    for source in SOURCES:
        if source.may_go:
            _drop_gone(store, name, source)
    count = sum(_add(store, connection, source) for source in SOURCES)
    log.info("search filled", connection=name, rows=count)
    return count


def rebuild(installation: Installation, connection: Connection) -> int:
    """Drop all rows of a connection and read them again."""
    mine, store = sa.select(_ROW.c.id).where(_ROW.c.connection == connection.name), installation.store
    while True:
        with store.transaction() as session:
            ids = list(session.scalars(mine.limit(_ROWS_A_BATCH)))
            session.execute(sa.delete(_ROW).where(_ROW.c.id.in_(ids)))
        if not ids:
            return fill(installation, connection)


def forget(session: Session, connection: str, keys: Collection[str]) -> None:
    """Remove everything the search has about documents, payments or other subjects with these keys."""
    for some in batches(sorted(keys)):
        session.execute(sa.delete(_ROW).where(_ROW.c.connection == connection, _ROW.c.key.in_(some)))


def has_rows(session: Session, connections: Sequence[str]) -> bool:
    mine = sa.select(_ROW.c.id).where(_ROW.c.connection.in_(connections), _ROW.c.kind != _MARK)
    return session.scalar(mine.limit(1)) is not None


def to_kind_word(kind: str, connection: str) -> str:
    """Return the word that every row of a kind and connection has, so that a search reads no others."""
    return f"zzkind{kind.replace('_', '')}{join(connection)}"


def _drop_changed(store: Store, connection: str) -> None:
    """Drop documents that a file changed since the last time: they are read again."""
    change = core_of(LocalInvoiceChange).c
    mark = (_ROW.c.connection == connection, _ROW.c.kind == _MARK)
    with store.transaction() as session:
        take_turn(session, Turn.SEARCH)
        last = int(session.scalar(sa.select(_ROW.c.key).where(*mark)) or 0)
        asked = sa.select(change.id, change.doc_key).where(change.connection == connection, change.id > last)
        rows = session.execute(asked).all()
        if not rows:
            return
        forget(session, connection, {row.doc_key for row in rows})
        session.execute(sa.delete(_ROW).where(*mark))
        session.add(SearchRow(connection=connection, kind=_MARK, key=str(max(row.id for row in rows))))


def _drop_gone(store: Store, connection: str, source: Source) -> None:
    table = core_of(source.table)
    there = sa.select(table.c[source.key]).where(table.c.connection == connection)
    with store.reading() as session:
        gone = sorted(session.scalars(sa.except_(_select_keys(connection, source), there)))
    for some in batches(gone, _ROWS_A_BATCH):
        with store.transaction() as session:
            forget(session, connection, some)


def _select_keys(connection: str, source: Source) -> sa.Select[tuple[str]]:
    return sa.select(_ROW.c.key).where(_ROW.c.connection == connection, _ROW.c.kind == source.kind)


def _add(store: Store, connection: Connection, source: Source) -> int:
    """Write the rows of a source that are missing, oldest first, so that a higher number is newer."""
    with store.reading() as session:
        keys = _find_missing(session, connection.name, source)
        banks = standing.bank_names(session) if keys else {}
    for some in batches(keys, _ROWS_A_BATCH):
        with store.transaction() as session:
            take_turn(session, Turn.SEARCH)
            _write(session, connection, source, some, banks)
    return len(keys)


def _find_missing(session: Session, connection: str, source: Source) -> list[str]:
    """Return the keys that the search does not have; both databases compare two indexes faster than they join them."""
    table, dialect = core_of(source.table), session.connection().dialect.name
    key, order = table.c[source.key], table.c[source.order]
    mine = table.c.connection == connection
    missing = list(session.scalars(sa.except_(sa.select(key).where(mine), _select_keys(connection, source))))
    dated = [
        (on is not None, on, found)
        for some in batches(missing)
        for found, on in session.execute(sa.select(key, order).where(mine, one_of(key, dialect, to_ids(some))))
    ]
    return [found for _, _, found in sorted(dated)]


def _write(
    session: Session, connection: Connection, source: Source, keys: Sequence[str], banks: dict[str, str]
) -> None:
    """Write one batch; another process may have written some of it."""
    database = session.connection()
    table = core_of(source.table)
    asked = (table.c.connection == connection.name, one_of(table.c[source.key], database.dialect.name, to_ids(keys)))
    columns = [table.c[name] for name in source.columns]
    rows = {getattr(row, source.key): row for row in database.execute(sa.select(*columns).where(*asked))}
    mine = (_ROW.c.connection == connection.name, _ROW.c.kind == source.kind)
    known = set(session.scalars(sa.select(_ROW.c.key).where(*mine, _ROW.c.key.in_(keys))))
    context = Context(connection.country.zone, _find_customers(session, connection.name, rows.values()), banks)
    own = to_kind_word(source.kind, connection.name)
    found = [
        (key, to_line([own, *source.words(rows[key], context)])) for key in keys if key in rows and key not in known
    ]
    bulk.insert_rows(
        database, _ROW, ("key", "words"), found, alike={"connection": connection.name, "kind": source.kind}
    )


def _find_customers(session: Session, connection: str, rows: Iterable[Any]) -> dict[str, tuple[str, ...]]:
    ids = {row.customer_id for row in rows if getattr(row, "customer_id", None)}
    if not ids:
        return {}
    asked = sa.select(col(Customer.id), col(Customer.name), col(Customer.tax_id))
    found = session.execute(asked.where(col(Customer.connection) == connection, col(Customer.id).in_(ids)))
    return {key: tuple(filter(None, texts)) for key, *texts in found}
