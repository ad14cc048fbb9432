"""Rows of an invoice file made into documents, or into rejects that say line, column, value and reason; pure."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TypeVar
from zoneinfo import ZoneInfo

from consumer.facts.messages import Message
from reconcile.books import words
from reconcile.books.cells import Row, to_text, why_spoilt
from reconcile.books.dates import DateError, to_date, to_term
from reconcile.books.figures import DecimalMark, FigureError, Written, to_amount
from reconcile.books.headers import Header
from reconcile.books.words import WordError
from reconcile.rules.kinds import CREDIT_NOTES

AMOUNTS = ("net", "exempt", "vat", "total")
_PLAIN = frozenset({*AMOUNTS, "issue_date", "due_date"})
# As a key it would be the same for every document that has none.
_KEYS = frozenset({"order_ref", "ref_number", "series"})
# Registers write the folios of several documents so.
_SEVERAL = re.compile(r"[0-9]+(-[0-9]+)+")
_NOTHING = frozenset({"nan", "none", "null", "undefined", "n/a", "n/d"})
# Only in the Mexican tax authority's own lists do these say it; elsewhere a number may mean anything.
_STATES = {"1": "vigente", "0": "cancelado"}
_PROBLEMS = (WordError, FigureError, DateError)
T = TypeVar("T")
# The line of a reject that is about the whole file.
NO_LINE = 0


@dataclass(frozen=True, slots=True)
class Reject:
    """One cell, or with column empty one row or the file, that keeps the file out of the books."""

    line: int
    column: str
    value: str
    reason: Message

    def to_row(self) -> dict[str, object]:
        """Return it for the terminal and for programs."""
        return {"line": self.line, "column": self.column, "value": self.value, "reason": str(self.reason)}


@dataclass(frozen=True, slots=True)
class Document:
    """A document as one row of a file states it; None means that the file does not say."""

    doc_key: str
    doc_type: str
    series: str
    folio: str
    uuid: str
    issue_date: date
    due_date: date | None
    customer_tax_id: str
    customer_name: str
    net: int | None
    exempt: int | None
    vat: int | None
    total: int
    currency: str
    is_void: bool | None
    order_ref: str
    ref_type: str
    ref_number: str
    payment_method: str
    payment_form: str

    @property
    def is_note(self) -> bool:
        return self.doc_type in CREDIT_NOTES


@dataclass(frozen=True, slots=True)
class Convention:
    """What holds for every cell of one file."""

    country: str
    currency: str
    mark: DecimalMark
    date_style: str
    note_sign: int
    zone: ZoneInfo
    states_as_numbers: bool = False


class RowReader:
    """Reads one row field by field and keeps every problem, so that a person sees all of them at once."""

    def __init__(self, row: Row, header: Header, convention: Convention) -> None:
        self._row, self._header, self._convention = row, header, convention
        self.rejects: list[Reject] = []

    def to_document(self) -> Document | None:
        """Return the document where its kind and amounts can be read; it is usable if nothing of it was rejected."""
        self._find_spoilt()
        if self.rejects:
            return None
        kind = self._read("doc_type", lambda text: words.to_kind(text, self._convention.country), "")
        currency = self._read("currency", self._to_currency, self._convention.currency)
        amounts = {field: self._amount(field, currency, kind) for field in AMOUNTS}
        vat = [amounts["vat"], *(self._amount(field, currency, kind) for field in self._header.more_vat)]
        amounts["vat"] = sum(part or 0 for part in vat) if any(part is not None for part in vat) else None
        is_readable = not self.rejects
        folio, series, uuid = self._identity()
        issue_date = self._read("issue_date", self._to_required_date, None)
        is_void = self._state()
        total = self._total(amounts["total"], is_void=is_void)
        customer = self._read("customer_tax_id", self._to_customer, "")
        due_date = self._read("due_date", lambda text: self._to_due_date(text, issue_date), None)
        ref_type, ref_number = self._reference()
        if not is_readable or total is None:
            return None
        return Document(
            doc_key=words.to_key(self._convention.country, kind, series=series, folio=folio, uuid=uuid),
            doc_type=kind, series=series, folio=folio, uuid=uuid, issue_date=issue_date or date.min, due_date=due_date,
            customer_tax_id=customer, customer_name=self._text("customer_name"),
            net=amounts["net"], exempt=amounts["exempt"], vat=amounts["vat"], total=total, currency=currency,
            is_void=True if is_void is None and total == 0 else is_void,
            order_ref=self._text("order_ref"), ref_type=ref_type, ref_number=ref_number,
            payment_method=self._text("payment_method"), payment_form=self._text("payment_form"),
        )  # fmt: skip

    def _find_spoilt(self) -> None:
        for field in self._header.at:
            reason = why_spoilt(self._header.raw(self._row, field), names=field.partition(" ")[0] not in _PLAIN)
            if reason is None and field in _KEYS and self._text(field).lower() in _NOTHING:
                reason = Message("books.written_nothing")
            if reason is not None:
                self._reject(field, reason)

    def _text(self, field: str) -> str:
        return self._header.cell(self._row, field)

    def _reject(self, field: str, reason: Message) -> None:
        self.rejects.append(Reject(self._row.line, self._header.name(field), self._text(field), reason))

    def _read(self, field: str, reader: Callable[[str], T], fallback: T) -> T:
        try:
            return reader(self._text(field))
        except _PROBLEMS as problem:
            self._reject(field, problem.message)
            return fallback

    def _to_currency(self, text: str) -> str:
        return words.to_currency(text, self._convention.country, self._convention.currency)

    def _to_customer(self, text: str) -> str:
        return words.to_customer(text, self._text("check_digit"), self._convention.country)

    def _identity(self) -> tuple[str, str, str]:
        uuid = self._read("uuid", lambda text: words.to_uuid(text) if text else "", "")
        written, series = self._text("folio"), self._text("series")
        if not written:
            if not self._text("uuid"):
                self._reject("folio", Message("books.no_folio"))
            return "", series.upper(), uuid
        folio, series = self._read("folio", lambda text: words.to_folio(text, series), (written, series))
        if folio == "0" and not uuid:
            self._reject("folio", Message("books.folio_zero"))
        return folio, series, uuid

    def _to_required_date(self, text: str) -> date | None:
        if not text:
            raise DateError("books.empty")
        return self._to_date(text)

    def _to_date(self, text: str) -> date:
        return to_date(text, self._convention.date_style, self._convention.zone)

    def _to_due_date(self, text: str, issued_on: date | None) -> date | None:
        if not text or issued_on is None:
            return None
        return to_term(text, issued_on) or self._to_date(text)

    def _amount(self, field: str, currency: str, kind: str) -> int | None:
        written = to_written(self._row, self._header, field, currency)
        if written is None:
            return None
        amount = self._read(field, lambda _: to_amount(written, self._convention.mark), None)
        if amount is not None and kind in CREDIT_NOTES:
            amount *= self._convention.note_sign
        if amount is not None and amount < 0:
            self._reject(field, Message("books.negative_document"))
        return amount

    def _state(self) -> bool | None:
        status = self._text("status")
        if self._convention.states_as_numbers:
            status = _STATES.get(status, status)
        try:
            return words.is_void(status, self._text("voided"))
        except WordError as problem:
            self._reject("status" if self._text("status") else "voided", problem.message)
            return None

    def _total(self, total: int | None, *, is_void: bool | None) -> int | None:
        if total is None and is_void:
            return 0
        if total is None and to_written(self._row, self._header, "total", self._convention.currency) is None:
            self._reject("total", Message("books.empty"))
        return total

    def _reference(self) -> tuple[str, str]:
        """Normalise what a note refers to as the document itself is, and leave other references as they stand."""
        # Registers write a reference to nothing as zeros.
        kind, number = (text if text.strip("0") else "" for text in map(self._text, ("ref_type", "ref_number")))
        if not kind:
            return "", _to_plain_uuid(number)
        try:
            kind = words.to_kind(kind, self._convention.country)
        except WordError:
            return kind, _to_plain_uuid(number)
        if _SEVERAL.fullmatch(number):
            return kind, number.replace("-", " ")
        try:
            return kind, words.to_folio(number, "")[0] if number else ""
        except WordError:
            return kind, _to_plain_uuid(number)


def _to_plain_uuid(text: str) -> str:
    try:
        return words.to_uuid(text)
    except WordError:
        return text


def to_written(row: Row, header: Header, field: str, currency: str) -> Written | None:
    """One amount as it stands; None where the cell is empty."""
    place = header.at.get(field)
    return None if place is None else read_written(row, place, currency)


def read_written(row: Row, place: int, currency: str) -> Written | None:
    """Return the amount in one place of a row as it stands; None where the cell is empty or the row is shorter."""
    text = to_text(row.cells[place]) if place < len(row.cells) else ""
    # Accounting formats write zero as a hyphen next to the sign of the currency.
    if not text or text.strip("$ \u00a0") == "-":
        return None
    return Written(text, currency, plain=not isinstance(row.cells[place], str))


def find_clashes(found: Sequence[tuple[Row, Document]]) -> tuple[list[tuple[Row, Document]], list[Reject], int]:
    """Collapse identical rows with a count; rows that state one document differently are all rejected."""
    by_key: dict[str, list[tuple[Row, Document]]] = {}
    for pair in found:
        by_key.setdefault(pair[1].doc_key, []).append(pair)
    kept, rejects, repeated = [], [], 0
    for key, pairs in by_key.items():
        if all(document == pairs[0][1] for _, document in pairs):
            kept.append(pairs[0])
            repeated += len(pairs) - 1
            continue
        lines = ", ".join(str(row.line) for row, _ in pairs)
        reason = Message("books.lines_clash", {"lines": lines, "difference": _first_difference(pairs)})
        rejects += [Reject(row.line, "", key, reason) for row, _ in pairs]
    return kept, rejects, repeated


def _first_difference(pairs: Sequence[tuple[Row, Document]]) -> str:
    first = pairs[0][1]
    for field in ("total", "currency", *first.__slots__):
        if any(getattr(document, field) != getattr(first, field) for _, document in pairs):
            return field
    return "nothing"
