"""Files of the books and of the bank taken back whole, unless something rests on them."""

import json
import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain, islice
from typing import TypeAlias

import msgspec
import sqlalchemy as sa
from sqlmodel import Session, col, select

from consumer.facts.messages import Message, RefusalError
from consumer.facts.store import Turn, take_turn
from reconcile.desk.decisions import LONGEST_TEXT, Signature
from reconcile.kept.records import read_closed_periods
from reconcile.tables.books import (
    BankFile,
    BankLine,
    BankMapping,
    InvoiceFile,
    LocalInvoice,
    LocalInvoiceBefore,
    LocalInvoiceChange,
    RemovedFile,
)
from reconcile.tables.closing import ClosedFigure, Period
from reconcile.tables.desk import Decision
from reconcile.tables.fiscal import FiscalDocument, FiscalPayment, FiscalRelation
from reconcile.tables.runs import PayoutResult

# At most so many reasons are listed.
MOST_REASONS = 20
_NAMED = re.compile(r'"(?:doc_key|bank_movement_id)": ?"([^"]+)"')
_READ = 10_000
_SHORTEST_DIGEST = 8
File: TypeAlias = InvoiceFile | BankFile
Keys: TypeAlias = sa.Select[str]
_OfFile: TypeAlias = LocalInvoice | LocalInvoiceChange | LocalInvoiceBefore | BankLine | FiscalDocument


class RemovalError(RefusalError):
    """A file that cannot be taken back; the message says why, `reasons` everything that rests on it."""

    def __init__(self, code: str, /, *reasons: Message, **values: str | int) -> None:
        super().__init__(code, **values)
        self.reasons = reasons


class Kind(StrEnum):
    INVOICES = "invoices"
    BANK = "bank"


@dataclass(frozen=True, slots=True)
class Removal:
    """What taking a file back does: documents or lines that go, documents that are as they were before it."""

    file: File
    gone: int
    restored: int
    reasons: tuple[Message, ...]


def _list_files(session: Session, connection: str, kind: Kind) -> Sequence[File]:
    """Return the kept files of a kind, oldest first."""
    if kind is Kind.BANK:
        bank = select(BankFile).where(BankFile.connection == connection)
        return session.exec(bank.order_by(col(BankFile.imported_at), col(BankFile.sha256))).all()
    books = select(InvoiceFile).where(InvoiceFile.connection == connection)
    return session.exec(books.order_by(col(InvoiceFile.imported_at), col(InvoiceFile.sha256))).all()


def _kind_of(file: File) -> Kind:
    return Kind.INVOICES if isinstance(file, InvoiceFile) else Kind.BANK


def find_file(session: Session, connection: str, kind: Kind, name: str, *, account: str = "") -> File:
    """Find a kept file by its name, its digest or the beginning of it; raise RemovalError if that is not one file."""
    digest = name.lower() if len(name) >= _SHORTEST_DIGEST else "-"
    found = [
        one
        for one in _list_files(session, connection, kind)
        if (one.name == name or one.sha256.startswith(digest)) and account in {"", getattr(one, "account", "")}
    ]
    if not found:
        raise RemovalError("removal.no_file", name=name, connection=connection)
    if len(found) > 1:
        known = ", ".join(f"{one.sha256[:12]} ({one.imported_at:%Y-%m-%d %H:%M} UTC)" for one in found)
        raise RemovalError("removal.several_files", name=name, known=known)
    return found[0]


def look(session: Session, file: File) -> Removal:
    """Return what taking a file back would do, and what rests on it: then it stays."""
    restored = 0
    if isinstance(file, InvoiceFile):
        restored = len(session.exec(select(LocalInvoiceBefore.doc_key).where(_is_of(LocalInvoiceBefore, file))).all())
    brought = session.scalar(sa.select(sa.func.count()).select_from(_keys(file).subquery())) or 0
    reasons = tuple(islice(_find_reasons(session, file), MOST_REASONS))
    return Removal(file, max(0, brought - restored), restored, reasons)


def take_back(session: Session, file: File, signed: Signature) -> Removal:
    """Take a file back whole: its documents or lines go, what it changed is as before, and a row says who and why.

    Raise RemovalError while anything rests on it.
    """
    if not signed.reason.strip():
        raise RemovalError("desk.needs_reason")
    if len(signed.reason) > LONGEST_TEXT:
        raise RemovalError("desk.reason_too_long", longest=LONGEST_TEXT)
    take_turn(session, Turn.BOOKS)
    take_turn(session, Turn.PERIODS)
    if session.scalar(sa.select(col(type(file).sha256)).where(*_is_file(file))) is None:
        raise RemovalError("removal.no_file", name=file.name, connection=file.connection)
    removal = look(session, file)
    if removal.reasons:
        raise RemovalError("removal.rests", *removal.reasons, name=file.name)
    row = RemovedFile(
        connection=file.connection, kind=_kind_of(file), name=file.name, sha256=file.sha256,
        imported_at=file.imported_at, rows=file.rows, removed_at=signed.at, removed_by=signed.author.strip(),
        reason=signed.reason.strip(),
    )  # fmt: skip
    if isinstance(file, InvoiceFile):
        _restore_documents(session, file)
    else:
        _drop_lines(session, file)
    session.add(row)
    session.execute(sa.delete(type(file)).where(*_is_file(file)))
    return removal


def _is_file(file: File) -> tuple[sa.ColumnElement[bool], ...]:
    table = type(file)
    return col(table.connection) == file.connection, col(table.sha256) == file.sha256


def _is_of(table: type[_OfFile], file: File) -> sa.ColumnElement[bool]:
    """Ask for the rows that a file brought."""
    return (col(table.connection) == file.connection) & (col(table.file_sha256) == file.sha256)


def _restore_documents(session: Session, file: InvoiceFile) -> None:
    before = sa.select(col(LocalInvoiceBefore.document)).where(_is_of(LocalInvoiceBefore, file))
    rows = [_to_row(document) for document in session.scalars(before)]
    stated = sa.select(col(FiscalDocument.doc_key)).where(_is_of(FiscalDocument, file))
    replaced = (col(FiscalDocument.connection) == file.connection, col(FiscalDocument.replaced_by).in_(stated))
    session.execute(sa.update(FiscalDocument).where(*replaced).values(status="valid", replaced_by=""))
    for part in (FiscalRelation, FiscalPayment):
        mine = (col(part.connection) == file.connection, col(part.doc_key).in_(stated))
        session.execute(sa.delete(part).where(*mine))
    for table in (LocalInvoice, LocalInvoiceChange, LocalInvoiceBefore, FiscalDocument):
        session.execute(sa.delete(table).where(_is_of(table, file)))
    if rows:
        session.execute(sa.insert(LocalInvoice), rows)


def _to_row(document: str) -> dict[str, object]:
    """Read a document as it was kept before a change, its dates and moments as such."""
    kinds = LocalInvoice.model_fields
    return {name: msgspec.convert(value, kinds[name].annotation) for name, value in json.loads(document).items()}


def _drop_lines(session: Session, file: BankFile) -> None:
    """Drop the lines of a file, and what was remembered of its columns when it was confirmed."""
    session.execute(sa.delete(BankLine).where(_is_of(BankLine, file)))
    memory = (col(BankMapping.connection) == file.connection, col(BankMapping.account) == file.account)
    session.execute(sa.delete(BankMapping).where(*memory, col(BankMapping.confirmed_at) == file.imported_at))


def _keys(file: File) -> Keys:
    """Select what a file brought or was the last to change."""
    if isinstance(file, InvoiceFile):
        return sa.select(col(LocalInvoice.doc_key)).where(_is_of(LocalInvoice, file))
    return sa.select(col(BankLine.id)).where(_is_of(BankLine, file))


def _find_reasons(session: Session, file: File) -> Iterator[Message]:
    if isinstance(file, InvoiceFile) and file.rests_on is None and file.changed:
        yield Message("removal.before_unknown")
    yield from chain(_find_later_files(session, file), _find_decisions(session, file), _find_closings(session, file))


def _find_later_files(session: Session, file: File) -> Iterator[Message]:
    """Name the files that state the same documents or lines again; of older ones it is not known which they repeat."""
    for other in _list_files(session, file.connection, _kind_of(file)):
        is_later = other.imported_at >= file.imported_at and other.sha256 != file.sha256
        if not is_later or getattr(other, "account", "") != getattr(file, "account", ""):
            continue
        repeats = other.rows > other.added if other.rests_on is None else file.sha256 in json.loads(other.rests_on)
        if repeats:
            yield Message("removal.later_file", {"file": other.name, "at": other.imported_at})


def _find_decisions(session: Session, file: File) -> Iterator[Message]:
    """Name the decisions that hold about what the file brought."""
    about = sa.or_(col(Decision.doc_key).in_(_keys(file)), col(Decision.resource_id).in_(_keys(file)))
    holds = (col(Decision.connection) == file.connection, col(Decision.undone_by).is_(None))
    later = sa.select(Decision).where(*holds, col(Decision.at) >= file.imported_at, about)
    for one in session.scalars(later.order_by(col(Decision.id)).limit(MOST_REASONS)):
        values = {"number": one.id, "subject": one.doc_key or one.resource_id, "author": one.author, "at": one.at}
        yield Message("removal.decision", values)


def _find_closings(session: Session, file: File) -> Iterator[Message]:
    """Name what closed periods hold of the file: its documents, and payments or payouts that were tied to it."""
    closed = [one for one in read_closed_periods(session, file.connection) if one.closed_at >= file.imported_at]
    brought = set(session.scalars(_keys(file))) if closed else set()
    for period in closed:
        for key in sorted(_find_closed(session, file, period, brought)):
            yield Message("removal.closed", {"subject": key, "until": period.until, "closed_by": period.closed_by})


def _find_closed(session: Session, file: File, period: Period, brought: AbstractSet[str]) -> set[str]:
    if isinstance(file, BankFile):
        payout = col(PayoutResult.columns)
        paid = (col(PayoutResult.connection) == file.connection, col(PayoutResult.run_id) == period.run_id)
        return _find_named(
            session, sa.select(payout).where(*paid, col(PayoutResult.payout_date) <= period.until), brought
        )
    figure = sa.select(col(ClosedFigure.subject)).where(col(ClosedFigure.period_id) == period.id)
    documents = figure.where(col(ClosedFigure.kind) == "document", col(ClosedFigure.subject).in_(_keys(file)))
    words = sa.select(col(ClosedFigure.words)).where(col(ClosedFigure.period_id) == period.id)
    items = _find_named(session, words.where(col(ClosedFigure.kind) == "item"), brought)
    return items.union(session.scalars(documents))


def _find_named(session: Session, texts: Keys, brought: AbstractSet[str]) -> set[str]:
    """Return what was brought of all that texts of JSON name."""
    found = session.execute(texts.execution_options(yield_per=_READ)).scalars()
    return {key for text in found for key in _NAMED.findall(text)} & brought
