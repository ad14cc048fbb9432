"""One document of the books and everything that touched it: payments, notes, changes, decisions, exceptions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import sqlalchemy as sa
from sqlmodel import Session, col

from consumer.facts.tables.types import core_of
from reconcile.desk import decisions
from reconcile.desk.decisions import Pair
from reconcile.kept import chunks
from reconcile.tables.books import InvoiceFile, LocalInvoice, LocalInvoiceChange
from reconcile.tables.closing import Period
from reconcile.tables.desk import Decision, ExceptionRow
from reconcile.tables.runs import Run
from reports.queries import bookkeeping
from reports.queries.listing import Wanted, to_row
from reports.shapes.spans import Row

_MOST_LINES = 200


@dataclass(frozen=True, slots=True)
class Dossier:
    """What one page shows of a document; `result` is what the run made of it, `file` the one that last changed it.

    `seen` is the newest decision that holds about each payment decided upon, under no name about the document alone.
    """

    document: LocalInvoice
    result: Row | None
    lines: Sequence[Row]
    notes: Sequence[LocalInvoice]
    changes: Sequence[Row]
    decisions: Sequence[Decision]
    exceptions: Sequence[Row]
    file: InvoiceFile | None
    closed: Period | None
    seen: Mapping[str, int]

    @property
    def newest_decision(self) -> int:
        """Name the newest decision about the document alone, which is what an adjustment must have seen."""
        return self.seen.get("", 0)


def find_dossier(session: Session, runs: Sequence[Run], connection: str, doc_key: str) -> Dossier | None:
    document = session.get(LocalInvoice, (connection, doc_key))
    if document is None:
        return None
    run = next((run for run in runs if run.connection == connection), None)
    closed = bookkeeping.find_last_closing(session, connection)
    is_closed = closed is not None and document.issue_date <= closed.until
    decided = _decisions(session, connection, doc_key)
    lines = list(chunks.find_lines(session, run, "doc_key", doc_key))[:_MOST_LINES] if run else []
    return Dossier(
        document=document,
        result=chunks.find_document(session, run, doc_key) if run else None,
        lines=[{**line, "connection": connection} for line in lines],
        notes=_notes(session, document),
        changes=_changes(session, document),
        decisions=decided,
        exceptions=_exceptions(session, connection, doc_key),
        file=session.get(InvoiceFile, (connection, document.file_sha256)),
        closed=closed if is_closed else None,
        seen={
            name: max((row.id or 0 for row in decisions.standing(session, Pair(connection, name, doc_key))), default=0)
            for name in {row.resource_id for row in decided}
        },
    )


def _notes(session: Session, document: LocalInvoice) -> Sequence[LocalInvoice]:
    """Find notes and re-issues that name this document."""
    numbers, kinds = (
        sa.literal(" ") + column + " " for column in (col(LocalInvoice.ref_number), col(LocalInvoice.ref_type))
    )
    names = [name for name in (document.folio, document.uuid) if name]
    query = sa.select(LocalInvoice).where(
        col(LocalInvoice.connection) == document.connection,
        sa.or_(*(numbers.contains(f" {name} ", autoescape=True) for name in names)),
        sa.or_(col(LocalInvoice.ref_type) == "", kinds.contains(f" {document.doc_type} ", autoescape=True)),
        col(LocalInvoice.doc_key) != document.doc_key,
    )
    return session.scalars(query.order_by(col(LocalInvoice.issue_date), col(LocalInvoice.doc_key))).all()


def _changes(session: Session, document: LocalInvoice) -> Sequence[Row]:
    change = LocalInvoiceChange
    mine = (col(change.connection) == document.connection, col(change.doc_key) == document.doc_key)
    query = bookkeeping.document_changes(Wanted([document.connection])).where(*mine)
    return [to_row(bookkeeping.DOCUMENT_CHANGES, found) for found in session.execute(query)]


def _decisions(session: Session, connection: str, doc_key: str) -> Sequence[Decision]:
    mine = (col(Decision.connection) == connection, col(Decision.doc_key) == doc_key)
    return session.scalars(sa.select(Decision).where(*mine).order_by(col(Decision.id))).all()


def _exceptions(session: Session, connection: str, doc_key: str) -> Sequence[Row]:
    table = core_of(ExceptionRow)
    query = sa.select(table).where(table.c.connection == connection, table.c.doc_key == doc_key)
    ordered = query.order_by(table.c.resolved_on.is_not(None), table.c.code, table.c.id)
    return [dict(row) for row in session.execute(ordered).mappings()]
