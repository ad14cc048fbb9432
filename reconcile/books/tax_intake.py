"""Tax documents into the books: a verdict for each file, bounded batches, sales and notes as documents of the books."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
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
from consumer.facts.store import Turn, among, take_turn
from consumer.facts.tables.types import core_of
from consumer.facts.taxids import GENERIC_RFCS, GENERIC_RUTS
from consumer.facts.work import Completion
from reconcile.books.documents import AMOUNTS, Document
from reconcile.books.headers import ReadColumn
from reconcile.books.invoices import ChangedField, ImportOutcome, find_own_tax_ids, keep, look
from reconcile.books.reading import ControlTotal, Reading
from reconcile.books.tax_documents import SUBSTITUTES, Relation, Settlement, TaxDocument
from reconcile.books.tax_files import Member, list_members
from reconcile.books.tax_judging import ISSUED, Found, Verdict, judge_members
from reconcile.rules.kinds import NO_SALES
from reconcile.tables.books import LocalInvoice
from reconcile.tables.fiscal import FiscalDocument, FiscalPayment, FiscalRelation

_BATCH = 1_000
# So many refused files are listed; all of them are counted.
MOST_LISTED = 200
_GENERIC = GENERIC_RFCS | GENERIC_RUTS


KEPT = (Verdict.TAKEN, Verdict.REPLACED, Verdict.CANCELLED)
_AGAIN = (Verdict.KNOWN, Verdict.CHANGED)
REFUSED = (Verdict.CHANGED, Verdict.NO_STAMP, Verdict.OTHER_ISSUER, Verdict.UNREADABLE)


@dataclass(slots=True)
class TaxOutcome:
    """What became of all files; `listed` are refused ones up to a number, `passed_over` the first that is no matter.

    `added`, `changed` and `unchanged` say what documents that came in are to the books: those that a list had brought
    are not new. `amounts` add up all documents that came in or are known, by kind, direction and currency.
    """

    name: str
    counts: Counter[Verdict] = field(default_factory=Counter)
    listed: list[Found] = field(default_factory=list)
    passed_over: Found | None = None
    added: int = 0
    changed: int = 0
    unchanged: int = 0
    changes: list[ChangedField] = field(default_factory=list)
    amounts: dict[tuple[str, str, str], Counter[str]] = field(default_factory=dict)
    # What a dry run found new in earlier batches.
    seen: dict[str, str] = field(default_factory=dict)

    @property
    def totals(self) -> list[ControlTotal]:
        """Return control totals by kind and currency; those of documents of others say that they were received."""
        return [
            ControlTotal(
                kind if direction == ISSUED else f"{kind} {direction}", currency, sums["count"],
                *(sums[name] for name in AMOUNTS),
            )
            for (kind, direction, currency), sums in sorted(self.amounts.items())
        ]  # fmt: skip

    @property
    def refused(self) -> int:
        return sum(self.counts[verdict] for verdict in REFUSED)

    @property
    def kept(self) -> int:
        return sum(self.counts[verdict] for verdict in KEPT)

    @property
    def status(self) -> Completion:
        if self.kept or self.counts[Verdict.KNOWN]:
            return Completion.PARTLY_DONE if self.refused else Completion.DONE
        return Completion.NOTHING_DONE if self.refused or self.passed_over else Completion.DONE

    def add(self, found: Found) -> None:
        self.counts[found.verdict] += 1
        if found.verdict in REFUSED and len(self.listed) < MOST_LISTED:
            self.listed.append(found)
        if found.verdict is Verdict.NOT_FOR_US:
            self.passed_over = self.passed_over or found
        document = found.document
        if document and found.verdict in {*KEPT, Verdict.KNOWN} and document.kind not in NO_SALES:
            sums = self.amounts.setdefault((document.kind, found.direction, document.currency), Counter())
            own = {"count": 1, "net": document.net, "exempt": document.exempt, "vat": document.vat}
            for name, value in (*own.items(), ("total", document.payable)):
                sums[name] += value or 0


OnFound: TypeAlias = Callable[[Found], None]
# Key and issuer of a document.
Issued: TypeAlias = tuple[str, str]


def ignore_found(_found: Found) -> None:
    """Show no progress."""


def import_tax_files(
    installation: Installation, connection: Connection, paths: Sequence[Path], *, dry_run: bool = False,
    on_found: OnFound = ignore_found, members: Iterable[Member] | None = None,
) -> TaxOutcome:  # fmt: skip
    """Read every file and keep its documents; files are read in their order and written in batches.

    A batch goes in whole in one transaction. What a killed process left out comes in the next time: a document that is
    known under its identity with the same content stays as it is.
    """
    name = paths[0].name if len(paths) == 1 else f"{paths[0].name} …"
    outcome = TaxOutcome(name)
    with installation.store.reading() as session:
        own = find_own_tax_ids(session, connection) - _GENERIC
    found = judge_members(members or list_members(paths), own)
    number = 0
    while batch := list(islice(found, _BATCH)):
        number += 1
        part = name if number == 1 else f"{name} ({number})"
        opened = installation.store.reading() if dry_run else installation.store.transaction()
        with opened as session:
            judged = _keep_batch(session, connection, batch, part, outcome=outcome, dry_run=dry_run)
        for one in judged:
            outcome.add(one)
            on_found(one)
    return outcome


def _keep_batch(
    session: Session, connection: Connection, batch: Sequence[Found], name: str, *, outcome: TaxOutcome, dry_run: bool
) -> list[Found]:
    """Judge a batch against what is known, and write what is new in the caller's transaction."""
    if not dry_run:
        take_turn(session, Turn.BOOKS)
    judged = _compare(session, connection.name, batch, outcome.seen)
    new = [one for one in judged if one.document is not None and one.verdict in KEPT]
    if not dry_run:
        _note_others(session, connection.name, judged)
    if not new:
        return judged
    at = utc_now()
    digest = hashlib.sha256("".join(one.digest for one in new).encode()).hexdigest()
    own = list(_list_books(new))
    books = [*own, *_list_replaced(session, connection.name, new)]
    reading = Reading(
        tuple((document, {}) for document in books), (), rows=len(new), columns=(ReadColumn("", "currency"),)
    )
    made = ImportOutcome(name, digest, True, False, reading, ())
    if dry_run:
        made = look(session, connection, made)
        outcome.changes += made.changes
        outcome.seen |= {one.document.doc_key: one.digest for one in new if one.document}
    else:
        made = keep(session, connection, made, at=at)
        _write(session, connection, new, digest, at)
    altered = {one.doc_key for one in made.changes} & {document.doc_key for document in own}
    as_before = len(own) - made.added - len(altered)
    outcome.added += len(new) - len(altered) - as_before
    outcome.changed += made.changed
    outcome.unchanged += as_before
    return judged


def _compare(session: Session, connection: str, batch: Sequence[Found], seen: Mapping[str, str]) -> list[Found]:
    """Tell new documents from known ones, and new ones that another took the place of from those that live."""
    keys = sorted({one.document.doc_key for one in batch if one.document and one.verdict is Verdict.TAKEN})
    known = {**seen, **dict(_read_known(session, connection, keys))}
    void = set(_read_void(session, connection, keys))
    judged = []
    for one in batch:
        if one.document is None or one.verdict is not Verdict.TAKEN:
            judged.append(one)
            continue
        key, digest = one.document.doc_key, one.digest
        if key in known:
            judged.append(_to_known(one, is_same=known[key] == digest))
            continue
        known[key] = digest
        judged.append(replace(one, verdict=Verdict.CANCELLED) if key in void else one)
    replaced = dict(_read_replacing(session, connection, keys)) | _list_replacing(judged)
    return [
        replace(one, verdict=Verdict.REPLACED)
        if one.document and one.verdict in KEPT and (one.document.doc_key, one.document.issuer_tax_id) in replaced
        else one
        for one in judged
    ]


def _list_replacing(new: Iterable[Found]) -> dict[Issued, str]:
    """Return which new document takes the place of each: of its own issuer's documents alone, and never of itself."""
    documents = [one.document for one in new if one.document and one.verdict in KEPT]
    return {
        (key, document.issuer_tax_id): document.doc_key
        for document in documents
        for key in document.replaced_keys()
        if key != document.doc_key
    }


def _to_known(one: Found, *, is_same: bool) -> Found:
    assert one.document is not None
    if is_same:
        return replace(one, verdict=Verdict.KNOWN)
    reason = Message("tax.changed", {"document": one.document.doc_key})
    return replace(one, verdict=Verdict.CHANGED, reason=reason)


def _note_others(session: Session, connection: str, judged: Sequence[Found]) -> None:
    """Note what other XML of a known document states differently; its own content, brought in again, takes it back."""
    table = FiscalDocument
    again = _redact(session, connection, [one for one in judged if one.verdict in _AGAIN])
    documents = {one.document.doc_key: one.document for verdict in _AGAIN for one in again
                 if one.document and one.verdict is verdict}  # fmt: skip
    changed = {one.document.doc_key for one in again if one.document and one.verdict is Verdict.CHANGED}
    mine = (col(table.connection) == connection, among(session, table.doc_key, documents))
    # Of files brought in again few were ever changed: the others are not read.
    is_asked = sa.or_(col(table.doc_key).in_(changed), col(table.other_fields) != "")
    for row in session.exec(select(table).where(*mine, is_asked)) if documents else ():
        other = documents[row.doc_key]
        stated = {
            "total": (row.payable, other.payable), "customer_tax_id": (row.receiver_tax_id, other.receiver_tax_id),
            "issue_date": (row.issue_date, other.issue_date), "currency": (row.currency, other.currency),
        }  # fmt: skip
        fields = " ".join(name for name, (known, new) in stated.items() if known != new)
        row.other_fields, row.other_payable = fields, other.payable if fields else None
        session.add(row)


def _read_known(session: Session, connection: str, keys: Sequence[str]) -> Iterator[tuple[str, str]]:
    query = select(FiscalDocument.doc_key, FiscalDocument.content_sha256)
    mine = (col(FiscalDocument.connection) == connection, among(session, FiscalDocument.doc_key, keys))
    yield from session.exec(query.where(*mine))


def _read_void(session: Session, connection: str, keys: Sequence[str]) -> Iterator[str]:
    mine = (col(LocalInvoice.connection) == connection, among(session, LocalInvoice.doc_key, keys))
    yield from session.exec(select(LocalInvoice.doc_key).where(*mine, LocalInvoice.status == "void"))


def _list_books(new: Iterable[Found]) -> Iterator[Document]:
    """Yield sales and notes of the merchant as documents of the books.

    A global invoice sums up sales that were paid one by one, so no payment is its own: it stays out.
    """
    for one in new:
        document = one.document
        if document is None or one.direction != ISSUED or document.kind in NO_SALES or document.global_of:
            continue
        ref_type, ref_number = document.references()
        yield Document(
            doc_key=document.doc_key, doc_type=document.kind, series=document.series.upper(), folio=document.folio,
            uuid=document.uuid, issue_date=document.issue_date, due_date=document.due_date,
            customer_tax_id=document.receiver_tax_id, customer_name=document.receiver_name, net=document.net,
            exempt=document.exempt, vat=document.vat, total=document.payable, currency=document.currency,
            is_void=True if one.verdict is not Verdict.TAKEN else None, order_ref=document.order_ref,
            ref_type=ref_type, ref_number=ref_number,
            payment_method=document.payment_method if document.country == "mx" else "",
            payment_form=document.payment_form,
        )  # fmt: skip


def _list_replaced(session: Session, connection: str, new: Sequence[Found]) -> Iterator[Document]:
    """Yield known documents of the books that a new one takes the place of, as void."""
    own = {one.document.doc_key for one in new if one.document}
    keys = sorted({key for one in new if one.document and one.direction == ISSUED
                   for key in one.document.replaced_keys()} - own)  # fmt: skip
    names = [name for name in Document.__slots__ if name != "is_void"]
    mine = (col(LocalInvoice.connection) == connection, among(session, LocalInvoice.doc_key, keys))
    for row in session.exec(select(LocalInvoice).where(*mine)):
        yield Document(**{name: getattr(row, name) for name in names}, is_void=True)


def _write(session: Session, connection: Connection, new: Sequence[Found], digest: str, at: datetime) -> None:
    """Write what the XML states, and mark what it takes the place of."""
    database, here = session.connection(), {"connection": connection.name}
    pairs = [(one, one.document) for one in _redact(session, connection.name, new) if one.document]
    keys = [document.doc_key for _, document in pairs]
    replacing = dict(_read_replacing(session, connection.name, keys)) | _list_replacing(new)
    alike = here | {"cancelled_on": None, "file_sha256": digest, "updated_at": at}
    rows = [_to_row(one, document, replacing) for one, document in pairs]
    insert_rows(database, core_of(FiscalDocument), (*_SAME, *_OWN), rows, alike=alike)
    relations = [(document.doc_key, line, *_values_of_relation(relation)) for _, document in pairs
                 for line, relation in enumerate(document.relations, start=1)]  # fmt: skip
    insert_rows(database, core_of(FiscalRelation), ("doc_key", "line", *_OF_RELATION), relations, alike=here)
    payments = [(document.doc_key, *_values_of_payment(one)) for _, document in pairs for one in document.payments]
    insert_rows(database, core_of(FiscalPayment), ("doc_key", *_OF_PAYMENT), payments, alike=here)
    table = core_of(FiscalDocument)
    for (key, issuer), by in replacing.items():
        of_key = (table.c.connection == connection.name, table.c.doc_key == key, table.c.issuer_tax_id == issuer)
        database.execute(sa.update(table).where(*of_key).values(status=Verdict.REPLACED.value, replaced_by=by))


def _read_replacing(session: Session, connection: str, keys: Sequence[str]) -> Iterator[tuple[Issued, str]]:
    """Yield which known document takes the place of each."""
    said, by = FiscalRelation, FiscalDocument
    of_document = (col(by.connection) == said.connection) & (col(by.doc_key) == said.doc_key)
    mine = (col(said.connection) == connection, among(session, said.other_key, keys), said.other_key != said.doc_key)
    query = select(said.other_key, by.issuer_tax_id, said.doc_key).join(by, of_document).where(*mine)
    for key, issuer, doc_key in session.exec(query.where(said.kind == SUBSTITUTES, by.country == "mx")):
        yield (key, issuer), doc_key


def _redact(session: Session, connection: str, new: Sequence[Found]) -> Sequence[Found]:
    """Return documents as they may be kept: without what they say of people who were erased."""
    subjects = read_subjects(session.connection())
    if subjects is None:
        return new
    words, found = subjects.pseudonyms.text, []
    for one in new:
        document = one.document
        if document and subjects.is_in([f"{connection} {document.doc_key}", document.receiver_tax_id]):
            document = replace(
                document, receiver_tax_id=words(document.receiver_tax_id), receiver_name=words(document.receiver_name),
                order_ref=words(document.order_ref),
            )  # fmt: skip
        found.append(replace(one, document=document))
    return found


_SAME = (
    "doc_key", "country", "kind", "issuer_tax_id", "receiver_tax_id", "series", "folio", "uuid", "issued_at",
    "issue_date", "currency", "rate", "net", "exempt", "vat", "withheld", "total", "payable", "payment_method",
    "payment_form", "due_date", "global_of", "third_party", "no_debit_right", "order_ref",
    "rates",
)  # fmt: skip
# What is ours to say of a document, after what it states.
_OWN = ("direction", "name", "period", "status", "replaced_by", "content_sha256")
_OF_PAYMENT = tuple(Settlement.__slots__)
_OF_RELATION = tuple(Relation.__slots__)
_values_of, _values_of_payment, _values_of_relation = (
    attrgetter(*names) for names in (_SAME, _OF_PAYMENT, _OF_RELATION)
)
_STATES = {Verdict.TAKEN: "valid", Verdict.REPLACED: "replaced", Verdict.CANCELLED: "cancelled"}


def _to_row(one: Found, document: TaxDocument, replacing: Mapping[Issued, str]) -> tuple[object, ...]:
    name = document.receiver_name if one.direction == ISSUED else document.issuer_name
    by = replacing.get((document.doc_key, document.issuer_tax_id), "")
    period = document.issue_date.isoformat()[:7]
    return (*_values_of(document), one.direction, name, period, _STATES[one.verdict], by, one.digest)
