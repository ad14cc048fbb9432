"""Invoice files into the books: a file goes in whole or not at all, once, and changes of known documents are kept."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import date, datetime
from operator import attrgetter
from pathlib import Path
from typing import TypeAlias

import sqlalchemy as sa
from sqlmodel import Session, col, select

from consumer.facts.bulk import insert_rows
from consumer.facts.clock import utc_now
from consumer.facts.erasures import read_subjects
from consumer.facts.installation import Connection, Installation
from consumer.facts.messages import Message
from consumer.facts.store import Turn, among, batches, insert_once, take_turn
from consumer.facts.tables.provider import Entity
from consumer.facts.tables.types import core_of
from consumer.facts.taxids import TaxIdError, to_tax_id
from consumer.facts.work import Completion
from reconcile.books.documents import NO_LINE, Document, Reject
from reconcile.books.headers import MappingError, read_mapping
from reconcile.books.reading import Reading, read_invoices
from reconcile.tables.books import InvoiceFile, LocalInvoice, LocalInvoiceBefore, LocalInvoiceChange
from reconcile.tables.closing import Period
from reconcile.tables.fiscal import FiscalDocument

_FIELDS = tuple(field.name for field in fields(Document) if field.name not in {"doc_key", "is_void"})
_values_of = attrgetter(*_FIELDS)
# What is said of a customer.
OF_A_PERSON = ("customer_tax_id", "customer_name", "order_ref")
_AMOUNTS = frozenset({"net", "exempt", "vat", "total"})

# A field of a document, and what a later file changes of known ones: before and after by field.
Cell: TypeAlias = str | int | date | None
Differences: TypeAlias = dict[str, tuple[Cell, Cell]]


@dataclass(frozen=True, slots=True)
class ChangedField:
    """One field of a known document that a file changes; `is_closed` where it was issued on a closed day."""

    doc_key: str
    field: str
    before: Cell
    after: Cell
    currency: str
    is_closed: bool


@dataclass(frozen=True, slots=True)
class ImportOutcome:
    """What became of one file; `accepted` also holds for a dry run, and for one that came in before (`earlier`)."""

    name: str
    sha256: str
    accepted: bool
    kept: bool
    reading: Reading
    rejects: tuple[Reject, ...]
    added: int = 0
    changed: int = 0
    unchanged: int = 0
    earlier: Message | None = None
    # What it changes of known documents, and why a look at that does not hold any longer.
    changes: tuple[ChangedField, ...] = ()
    stale: Message | None = None

    @property
    def seen(self) -> str:
        """Name what the file changes, so that a person confirms what they saw."""
        return hashlib.sha256(repr([self.added, self.unchanged, self.changes]).encode()).hexdigest()

    @property
    def status(self) -> Completion:
        return Completion.DONE if self.accepted else Completion.NOTHING_DONE

    @property
    def totals_accepted(self) -> int:
        """How many documents went in, or would, although their parts do not add up to their total."""
        return len(self.reading.unequal) if self.accepted else 0


def import_invoices(  # noqa: PLR0913 - one file, and what only a person knows of it
    installation: Installation, connection: Connection, path: Path, *, mapping: str | None = None,
    columns: Mapping[str, str] | None = None, dry_run: bool = False, accept_totals: bool = False,
    seen: str | None = None,
) -> ImportOutcome:  # fmt: skip
    """Read one file and keep its documents in one transaction; a dry run says what would happen.

    `columns` adds to the mapping, as one does, what a person says of this file alone.
    `accept_totals` takes documents in whose parts do not add up to their total. `seen` names the changes that a person
    confirmed (`ImportOutcome.seen`); others are not made.
    """
    try:
        content = path.read_bytes()
        named = (read_mapping(installation, mapping) if mapping else {}) | dict(columns or {})
    except OSError as error:
        return _refuse(path.name, "", Message("books.file_unreadable", {"reason": str(error.strerror)}))
    except MappingError as error:
        return _refuse(path.name, "", error.message)
    sha256 = _digest(content, named)
    with installation.store.reading() as session:
        earlier = session.get(InvoiceFile, (connection.name, sha256))
        if earlier is not None:
            return _report_known(path.name, sha256, earlier)
        own_tax_ids = find_own_tax_ids(session, connection)
    reading = read_invoices(
        content,
        country=connection.country_code,
        mapping=named,
        own_tax_ids=own_tax_ids,
        accept_totals=accept_totals,
    )
    outcome = ImportOutcome(path.name, sha256, not reading.rejects, False, reading, reading.rejects)
    if reading.rejects:
        return outcome
    if dry_run:
        with installation.store.reading() as session:
            return look(session, connection, outcome)
    with installation.store.transaction() as session:
        return keep(session, connection, outcome, at=utc_now(), seen=seen)


def find_own_tax_ids(session: Session, connection: Connection) -> frozenset[str]:
    """Return the merchant's own tax ids: the one that is set, else those of its root entities at the provider."""
    if connection.tax_id is not None:
        return frozenset({to_tax_id(connection.tax_id, connection.country_code)})
    here = (col(Entity.connection) == connection.name, col(Entity.mode) == connection.mode)
    bodies = session.exec(select(Entity.body).where(*here, col(Entity.gone_at).is_(None)))
    roots = [entity for entity in map(json.loads, bodies) if entity.get("is_root") is True]
    return frozenset(filter(None, (_to_own_tax_id(root.get("holder_id"), connection) for root in roots)))


def _to_own_tax_id(value: object, connection: Connection) -> str | None:
    """Canonical tax id of an entity; one of another country or form is not used."""
    try:
        return to_tax_id(value, connection.country_code) if isinstance(value, str) else None
    except TaxIdError:
        return None


def _refuse(name: str, sha256: str, reason: Message) -> ImportOutcome:
    reject = Reject(NO_LINE, "", "", reason)
    return ImportOutcome(name, sha256, False, False, Reading((), (reject,)), (reject,))


def _digest(content: bytes, columns: Mapping[str, str]) -> str:
    """Name a file by its bytes, and by the mapping it is read with: under another one it says something else."""
    digest = hashlib.sha256(content)
    if columns:
        digest.update(json.dumps(columns, sort_keys=True).encode())
    return digest.hexdigest()


def _report_known(name: str, sha256: str, file: InvoiceFile) -> ImportOutcome:
    earlier = Message("books.imported_before", {"at": file.imported_at, "name": file.name})
    if file.totals_accepted:
        values = {**earlier.values, "accepted": file.totals_accepted}
        earlier = Message("books.imported_before_accepted", values)
    return ImportOutcome(name, sha256, True, False, Reading((), (), rows=file.rows), (), earlier=earlier)


@dataclass(frozen=True, slots=True)
class Changes:
    """New documents, what the file changes of known ones (field, before, after), and the files that brought those."""

    added: tuple[tuple[Document, dict[str, str]], ...]
    changed: tuple[tuple[Document, dict[str, str], Differences], ...]
    unchanged: int
    known: Mapping[str, LocalInvoice]

    @property
    def earlier_files(self) -> list[str]:
        return sorted({row.file_sha256 for row in self.known.values()})


def look(session: Session, connection: Connection, outcome: ImportOutcome) -> ImportOutcome:
    """Return what an accepted file would change."""
    return _with_counts(session, outcome, find_changes(session, connection, outcome.reading))


def keep(
    session: Session, connection: Connection, outcome: ImportOutcome, *, at: datetime, seen: str | None = None
) -> ImportOutcome:
    """Write the documents of an accepted file and how they changed."""
    take_turn(session, Turn.BOOKS)
    changes = find_changes(session, connection, outcome.reading)
    outcome = _with_counts(session, outcome, changes)
    if seen and seen != outcome.seen and session.get(InvoiceFile, (connection.name, outcome.sha256)) is None:
        return replace(outcome, stale=Message("books.changed_since_look"))
    file = {
        "connection": connection.name, "sha256": outcome.sha256, "name": outcome.name, "imported_at": at,
        "rows": outcome.reading.rows, "added": len(changes.added), "changed": len(changes.changed),
        "totals_accepted": outcome.totals_accepted, "rests_on": json.dumps(changes.earlier_files),
    }  # fmt: skip
    if not insert_once(session.connection(), InvoiceFile, [file], keys=["connection", "sha256"]):
        # Another process brought the same file between our look and this turn.
        return _report_known(outcome.name, outcome.sha256, session.get_one(InvoiceFile, tuple(file.values())[:2]))
    alike = {"connection": connection.name, "country": connection.country_code, "file_sha256": outcome.sha256,
             "updated_at": at}  # fmt: skip
    rows = [(document.doc_key, *_values_of(document), "void" if document.is_void else "valid", _to_json(raw))
            for document, raw in changes.added]  # fmt: skip
    insert_rows(session.connection(), core_of(LocalInvoice), ("doc_key", *_FIELDS, "status", "raw"), rows, alike=alike)
    before = [_before(changes.known[document.doc_key], outcome.sha256) for document, _, _ in changes.changed]
    if before:
        session.execute(sa.insert(LocalInvoiceBefore), before)
    _update(session.connection(), changes, connection.name, {"file_sha256": outcome.sha256, "updated_at": at})
    history = list(_history(changes, connection, outcome.sha256, at))
    if history:
        session.execute(sa.insert(LocalInvoiceChange), history)
    return replace(outcome, kept=True)


def _update(connection: sa.Connection, changes: Changes, name: str, kept: Mapping[str, object]) -> None:
    """Write changed documents, those that change the same fields at once.

    Not through the session, which would look for each one among all documents that it has read.
    """
    table = core_of(LocalInvoice)
    alike: dict[tuple[str, ...], list[dict[str, object]]] = {}
    for document, raw, differences in changes.changed:
        values = {field: after for field, (_, after) in differences.items()}
        alike.setdefault(tuple(values), []).append({"of_key": document.doc_key, "raw": _to_json(raw), **values, **kept})
    mine = (table.c.connection == name, table.c.doc_key == sa.bindparam("of_key"))
    for rows in alike.values():
        fields: dict[str, object] = {field: sa.bindparam(field) for field in rows[0] if field != "of_key"}
        connection.execute(sa.update(table).where(*mine).values(fields), rows)


def _with_counts(session: Session, outcome: ImportOutcome, changes: Changes) -> ImportOutcome:
    added, changed = len(changes.added), len(changes.changed)
    fields = tuple(_list_changed(session, changes))
    return replace(outcome, added=added, changed=changed, unchanged=changes.unchanged, changes=fields)


def _list_changed(session: Session, changes: Changes) -> Iterator[ChangedField]:
    """Yield each field that the file changes; a document lies in closed days if its old or new date does."""
    if not changes.changed:
        return
    connection = changes.known[changes.changed[0][0].doc_key].connection
    closed = (col(Period.connection) == connection, col(Period.reopened_at).is_(None))
    until = session.scalar(sa.select(sa.func.max(col(Period.until))).where(*closed))
    for document, _, differences in changes.changed:
        known = changes.known[document.doc_key]
        is_closed = until is not None and min(known.issue_date, document.issue_date) <= until
        for field, (before, after) in differences.items():
            yield ChangedField(document.doc_key, field, before, after, known.currency, is_closed)


def _before(known: LocalInvoice, sha256: str) -> dict[str, str]:
    document = known.model_dump_json()
    return {"connection": known.connection, "file_sha256": sha256, "doc_key": known.doc_key, "document": document}


def find_changes(session: Session, connection: Connection, reading: Reading) -> Changes:
    """Compare a reading with the books."""
    keys = [document.doc_key for document, _ in reading.documents]
    known = {row.doc_key: row for row in _find_known(session, connection.name, keys)}
    replaced = set(_find_replaced(session, connection.name, keys))
    states_currency = any(column.field == "currency" for column in reading.columns)
    added, changed = [], []
    for document, raw in _redact(session, connection.name, reading.documents):
        if document.doc_key not in known:
            added.append((document, raw))
            continue
        differences = _differences(known[document.doc_key], document, states_currency=states_currency)
        if document.doc_key in replaced and differences.get("status", ("", ""))[1] == "valid":
            del differences["status"]
        if differences:
            changed.append((document, raw, differences))
    return Changes(tuple(added), tuple(changed), len(keys) - len(added) - len(changed), known)


def _redact(
    session: Session, connection: str, documents: Sequence[tuple[Document, dict[str, str]]]
) -> Sequence[tuple[Document, dict[str, str]]]:
    """Return documents as they may be kept: without what they say of customers who were erased."""
    subjects = read_subjects(session.connection())
    if subjects is None:
        return documents
    words, found = subjects.pseudonyms.text, []
    for document, raw in documents:
        if subjects.is_in([f"{connection} {document.doc_key}", document.customer_tax_id]):
            tax_id, name, order = (words(getattr(document, name)) for name in OF_A_PERSON)
            document = replace(document, customer_tax_id=tax_id, customer_name=name, order_ref=order)  # noqa: PLW2901
            raw = {column: words(cell) for column, cell in raw.items()}  # noqa: PLW2901
        found.append((document, raw))
    return found


def _find_known(session: Session, connection: str, keys: Sequence[str]) -> Iterator[LocalInvoice]:
    for some in batches(keys):
        mine = (LocalInvoice.connection == connection, among(session, LocalInvoice.doc_key, some))
        yield from session.exec(select(LocalInvoice).where(*mine))


def _find_replaced(session: Session, connection: str, keys: Sequence[str]) -> Iterator[str]:
    """Yield documents that another took the place of, as its XML states: no list makes them valid again."""
    for some in batches(keys):
        mine = (FiscalDocument.connection == connection, among(session, FiscalDocument.doc_key, some))
        yield from session.exec(select(FiscalDocument.doc_key).where(*mine, FiscalDocument.status == "replaced"))


def _differences(known: LocalInvoice, document: Document, *, states_currency: bool) -> Differences:
    """Return what the file changes; an empty cell, or a void row without amounts, removes no value."""
    stated = {field: getattr(document, field) for field in _FIELDS}
    if not states_currency:
        del stated["currency"]
    if document.is_void and document.total == 0:
        stated = {field: value for field, value in stated.items() if field not in _AMOUNTS}
    if document.is_void is not None:
        stated["status"] = "void" if document.is_void else "valid"
    return {
        field: (getattr(known, field), value)
        for field, value in stated.items()
        if value not in (None, "") and getattr(known, field) != value
    }


def _to_json(raw: dict[str, str]) -> str:
    return json.dumps(raw, ensure_ascii=False)


def _history(changes: Changes, connection: Connection, sha256: str, at: datetime) -> Iterator[dict[str, object]]:
    for document, _, differences in changes.changed:
        for field, (before, after) in differences.items():
            yield {
                "connection": connection.name, "doc_key": document.doc_key, "at": at, "file_sha256": sha256,
                "field": field, "before": _to_plain(before), "after": _to_plain(after),
            }  # fmt: skip


def _to_plain(value: Cell) -> str:
    if value is None:
        return ""
    return value.isoformat() if isinstance(value, date) else str(value)
