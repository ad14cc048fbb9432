"""What valid credit notes take from each document that they name, as tax documents state it."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from datetime import date
from typing import NamedTuple

import sqlalchemy as sa
from sqlmodel import Session, col, select

from consumer.facts.money import split_amount
from consumer.facts.store import among, batches
from reconcile.books.tax_documents import LOWERS
from reconcile.rules.kinds import CREDIT_NOTES
from reconcile.tables.books import LocalInvoice
from reconcile.tables.fiscal import FiscalDocument, FiscalRelation


class NotePart(NamedTuple):
    """What one note takes from one document."""

    key: str
    doc_key: str
    on: date
    amount: int


def read_notes(session: Session, connection: str, keys: Collection[str] | None) -> dict[str, list[NotePart]]:
    """Return the parts of notes by the document they lower, by day; `keys` asks for those that name one of these.

    No tax document says how much of a note is of which document: of several each has its part by their totals. A note
    lowers none of them if one is not known, or is in another currency.
    """
    named: dict[str, tuple[FiscalDocument, dict[str, None]]] = {}
    for relation, note in _read_relations(session, connection, keys):
        if relation.kind in LOWERS[note.country]:
            named.setdefault(note.doc_key, (note, {}))[1][relation.other_key] = None
    totals = dict(_read_totals(session, connection, sorted({key for _, others in named.values() for key in others})))
    parts: defaultdict[str, list[NotePart]] = defaultdict(list)
    for note, others in named.values():
        known = [totals[key] for key in others if key in totals]
        if (len(others) > 1 and len(known) < len(others)) or any(currency != note.currency for currency, _ in known):
            continue
        amounts = split_amount(note.total, [total for _, total in known] or [1])
        for key, amount in zip(others, amounts, strict=True):
            parts[key].append(NotePart(note.doc_key, key, note.issue_date, amount))
    return {key: sorted(found, key=lambda part: (part.on, part.key)) for key, found in parts.items()}


def _read_relations(
    session: Session, connection: str, keys: Collection[str] | None
) -> Sequence[tuple[FiscalRelation, FiscalDocument]]:
    said, note = FiscalRelation, FiscalDocument
    of_note = (col(note.connection) == col(said.connection)) & (col(note.doc_key) == col(said.doc_key))
    mine = (col(said.connection) == connection, col(said.other_key) != "", col(note.status) == "valid")
    query = select(said, note).join(note, of_note).where(*mine, col(note.kind).in_(CREDIT_NOTES))
    if keys is not None:
        of_keys = (col(said.connection) == connection, among(session, said.other_key, keys))
        query = query.where(col(said.doc_key).in_(sa.select(col(said.doc_key)).where(*of_keys)))
    return session.exec(query.order_by(col(said.doc_key), col(said.line))).all()


def _read_totals(session: Session, connection: str, keys: Sequence[str]) -> Iterator[tuple[str, tuple[str, int]]]:
    """Yield currency and total of documents: as the books know them, then as their XML states them, which counts."""
    for some in batches(keys):
        books = (col(LocalInvoice.connection) == connection, among(session, LocalInvoice.doc_key, some))
        asked = sa.select(col(LocalInvoice.doc_key), col(LocalInvoice.currency), col(LocalInvoice.total))
        plain = (col(FiscalDocument.connection) == connection, among(session, FiscalDocument.doc_key, some))
        stated = sa.select(col(FiscalDocument.doc_key), col(FiscalDocument.currency), col(FiscalDocument.total))
        for query in (asked.where(*books), stated.where(*plain)):
            yield from ((key, (currency, total)) for key, currency, total in session.execute(query))
