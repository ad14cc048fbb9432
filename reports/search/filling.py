"""Fills the search from the tables, in short transactions, after facts were applied, files kept and runs published.

Only what the search does not have yet is read: a row is found by what identifies it, and its state is read when it is
found. So rows change here only where a file changed a document, and go where a file was taken back. Everything here
may be repeated from where it was killed: what a batch did not write is still missing.
"""

import operator
import time
from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa
import structlog
from sqlmodel import Session, col

from consumer.facts import bulk
from consumer.facts.installation import Connection, Installation
from consumer.facts.store import Store, Turn, batches, one_of, take_turn, to_ids
from consumer.facts.tables.provider import Customer
from consumer.facts.tables.types import core_of
from reconcile.tables.books import LocalInvoiceChange, RemovedFile
from reports.queries import standing
from reports.search.sources import SOURCES, Context, Source
from reports.search.words import to_line
from reports.tables import SearchRow

log = structlog.get_logger("cuadre.search")

_ROW = core_of(SearchRow)
# On SQLite webhooks wait while one batch is written.
_ROWS_A_BATCH = 1_000
# No more missing rows than these are looked for among the last written: twice as many as are missing, and some more.
_MOST_LATELY, _FEW = 20_000, 500
_SHORTEST_REST, _SHARE = 15.0, 50
_REMOVED = core_of(RemovedFile)
# Rows that nothing finds: the number of the last change and removal that were read, and documents once changed.
_CHANGE, _REMOVAL, _CHANGED = _OWN = ("mark", "removal", "changed")
_MARKS = (_CHANGE, _REMOVAL)


def fill(installation: Installation, connection: Connection) -> int:
    """Bring in what is new, bring in again what a file changed, drop what went; return how many rows were written."""
    store, name = installation.store, connection.name
    _drop_changed(store, name)
    missing = _count_missing(store, name)
    count = sum(_add(store, connection, source, lacking) for source, lacking in missing.items() if lacking)
    if count:
        log.info("search filled", connection=name, rows=count)
    return count


def fill_again(installation: Installation) -> float:
    """Bring in what came since the last time, of every connection; return for how many seconds to rest.

    The longer a look takes the longer the rest, so that looking takes at most a fiftieth of the time.
    """
    begun = time.monotonic()
    for connection in installation.settings.all_connections:
        try_to_fill(installation, connection)
    return max(_SHORTEST_REST, _SHARE * (time.monotonic() - begun))


def try_to_fill(installation: Installation, connection: Connection) -> str:
    """Fill after other work, which must not fail by it; return a line for people where it failed, else no text."""
    try:
        fill(installation, connection)
    except (sa.exc.SQLAlchemyError, OSError, ValueError) as problem:
        log.exception("search not filled", connection=connection.name)
        return f"{connection.name}: search: not filled ({type(problem).__name__}); the next hour tries again"
    return ""


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
    mine = sa.select(_ROW.c.id).where(_ROW.c.connection.in_(connections), _ROW.c.kind.not_in(_OWN))
    return session.scalar(mine.limit(1)) is not None


def _drop_changed(store: Store, connection: str) -> None:
    """Drop documents that a file changed since the last time, and what files that were taken back brought or changed.

    Which documents a file had changed is forgotten with it, so the search keeps its own list of changed documents.
    """
    change, own_removals = core_of(LocalInvoiceChange).c, _REMOVED.c.connection == connection
    with store.reading() as session:
        if not _is_behind(session, connection):
            return
    with store.transaction() as session:
        take_turn(session, Turn.SEARCH)
        last = {kind: _find_mark(session, connection, kind) for kind in _MARKS}
        removed = session.scalar(sa.select(sa.func.max(_REMOVED.c.id)).where(own_removals)) or 0
        # SQLite may give the number of a change that went with its file to another one.
        since = last[_CHANGE] if removed == last[_REMOVAL] else 0
        asked = sa.select(change.id, change.doc_key).where(change.connection == connection, change.id > since)
        rows = session.execute(asked).all()
        if removed != last[_REMOVAL]:
            _drop_gone(session, connection)
        keys = {row.doc_key for row in rows}
        forget(session, connection, keys)
        session.add_all(SearchRow(connection=connection, kind=_CHANGED, key=key) for key in sorted(keys))
        newest = {_CHANGE: max((row.id for row in rows), default=since), _REMOVAL: removed}
        for kind in _MARKS:
            if newest[kind] != last[kind]:
                session.execute(sa.delete(_ROW).where(*_of(connection, kind)))
                session.add(SearchRow(connection=connection, kind=kind, key=str(newest[kind])))


def _is_behind(session: Session, connection: str) -> bool:
    """Return True if a file changed documents or was taken back since the last time."""
    change = core_of(LocalInvoiceChange).c
    removed = session.scalar(sa.select(sa.func.max(_REMOVED.c.id)).where(_REMOVED.c.connection == connection)) or 0
    later = (change.connection == connection, change.id > _find_mark(session, connection, _CHANGE))
    is_later = session.scalar(sa.select(change.id).where(*later).limit(1)) is not None
    return is_later or removed != _find_mark(session, connection, _REMOVAL)


def _find_mark(session: Session, connection: str, kind: str) -> int:
    return int(session.scalar(sa.select(_ROW.c.key).where(*_of(connection, kind))) or 0)


def _of(connection: str, kind: str) -> tuple[sa.ColumnElement[bool], ...]:
    return _ROW.c.connection == connection, _ROW.c.kind == kind


def _drop_gone(session: Session, connection: str) -> None:
    """Drop rows without a row in their table, and documents that may be as they were before a file."""
    changed = sa.select(_ROW.c.key).where(*_of(connection, _CHANGED))
    session.execute(sa.delete(_ROW).where(*_of(connection, "document"), _ROW.c.key.in_(changed)))
    for source in SOURCES:
        if source.may_go:
            table = core_of(source.table)
            there = (table.c.connection == connection, table.c[source.key] == _ROW.c.key)
            is_there = sa.exists().where(*there)
            session.execute(sa.delete(_ROW).where(*_of(connection, source.kind), ~is_there))


def _add(store: Store, connection: Connection, source: Source, lacking: int) -> int:
    """Write the rows of a source that are missing, oldest first, so that a higher number is newer."""
    with store.reading() as session:
        keys = _find_missing(session, connection.name, source, lacking)
        banks = standing.bank_names(session) if keys else {}
    for some in batches(keys, _ROWS_A_BATCH):
        with store.transaction() as session:
            take_turn(session, Turn.SEARCH)
            _write(session, connection, source, some, banks)
    return len(keys)


def _count_missing(store: Store, connection: str) -> dict[Source, int]:
    """Return how many rows of each source the search lacks: it has no others, so that counting is enough."""
    counted = sa.select(sa.func.count())
    there = [counted.where(core_of(source.table).c.connection == connection) for source in SOURCES]
    # Each kind by itself, since that is read from an index alone; a table is grouped by reading all of it.
    known = [counted.where(*_of(connection, source.kind)) for source in SOURCES]
    with store.reading() as session:
        found = session.execute(sa.select(*(one.scalar_subquery() for one in (*there, *known)))).one()
    lacking = map(operator.sub, found[: len(SOURCES)], found[len(SOURCES) :])
    return dict(zip(SOURCES, lacking, strict=True))


def _find_missing(session: Session, connection: str, source: Source, lacking: int) -> list[str]:
    """Return the keys that the search does not have, oldest first.

    A few missing ones are looked for among the rows that were written last; where they are not all there, among all.
    """
    table = core_of(source.table)
    mine = table.c.connection == connection

    def select_keys(rows: sa.FromClause) -> sa.Select[Any]:
        key, order = rows.c[source.key], rows.c[source.order]
        return sa.select(key).order_by(order.is_not(None), order, key)

    if source.written and 0 < lacking <= _MOST_LATELY:
        written, columns = table.c[source.written], (table.c[source.key], table.c[source.order])
        newest = sa.select(*columns).where(mine, written.is_not(None)).order_by(written.desc())
        keys = session.scalars(select_keys(newest.limit(2 * lacking + _FEW).subquery())).all()
        is_one = one_of(_ROW.c.key, session.get_bind().dialect.name, to_ids(keys))
        known = set(session.scalars(sa.select(_ROW.c.key).where(*_of(connection, source.kind), is_one)).all())
        if len(keys) - len(known) == lacking:
            return [key for key in keys if key not in known]
    is_known = sa.exists().where(*_of(connection, source.kind), _ROW.c.key == table.c[source.key])
    return list(session.scalars(select_keys(table).where(mine, ~is_known)).all())


def _write(
    session: Session, connection: Connection, source: Source, keys: Sequence[str], banks: dict[str, str]
) -> None:
    """Write one batch; another process may have written some of it."""
    database = session.connection()
    table = core_of(source.table)
    asked = (table.c.connection == connection.name, one_of(table.c[source.key], database.dialect.name, to_ids(keys)))
    columns = [table.c[name] for name in source.columns]
    place = source.columns.index(source.key)
    rows = {row[place]: row for row in database.execute(sa.select(*columns).where(*asked)).all()}
    buyers = {row.customer_id for row in rows.values()} if "customer_id" in source.columns else set[str | None]()
    context = Context(connection.country.zone, _find_customers(session, connection.name, buyers - {None}), banks)
    found = [(key, to_line(source.words(rows[key], context))) for key in keys if key in rows]
    alike = {"connection": connection.name, "kind": source.kind}
    bulk.insert_new_rows(database, _ROW, ("key", "words"), found, key=("connection", "kind", "key"), alike=alike)


def _find_customers(session: Session, connection: str, ids: Collection[str | None]) -> dict[str, tuple[str, ...]]:
    if not ids:
        return {}
    asked = sa.select(col(Customer.id), col(Customer.name), col(Customer.tax_id))
    found = session.execute(asked.where(col(Customer.connection) == connection, col(Customer.id).in_(ids)))
    return {key: tuple(filter(None, texts)) for key, *texts in found}
