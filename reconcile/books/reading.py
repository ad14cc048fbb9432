"""An invoice file from bytes to documents, rejects and control totals; pure, so that a preview is the import itself."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from zoneinfo import ZoneInfo

from consumer.facts.countries import COUNTRIES
from consumer.facts.messages import Message
from consumer.facts.money import MoneyError, format_decimal
from reconcile.books import words
from reconcile.books.cells import Row, Sheet, SheetError, to_text
from reconcile.books.dates import decide_style, to_term
from reconcile.books.documents import (
    AMOUNTS,
    NO_LINE,
    Convention,
    Document,
    Reject,
    RowReader,
    find_clashes,
    to_written,
)
from reconcile.books.figures import DecimalMark, FigureError, Written, decide_mark, to_amount
from reconcile.books.headers import (
    COUNTERS,
    REQUIRED,
    SYNONYMS,
    Header,
    ReadColumn,
    find_header,
    leave_row_count_out,
    normalise,
    set_headers_aside,
    states_rate,
)
from reconcile.books.parts import find_further, find_unequal, leave_vat_alone
from reconcile.books.registers import (
    cut_further_taxes,
    find_strangers,
    find_summary,
    is_summed_up,
    names_issuers,
    set_taxes_aside,
)
from reconcile.books.sheets import TILDE, read_sheets
from reconcile.rules.kinds import CREDIT_NOTES, NO_SALES


@dataclass(frozen=True, slots=True)
class ControlTotal:
    """What a clerk compares with the screen of the ERP; amounts of credit notes are positive here as there."""

    doc_type: str
    currency: str
    count: int
    net: int
    exempt: int
    vat: int
    total: int


def control_totals(documents: Iterable[Document]) -> tuple[ControlTotal, ...]:
    sums: dict[tuple[str, str], list[int]] = {}
    for document in documents:
        row = sums.setdefault((document.doc_type, document.currency), [0, 0, 0, 0, 0])
        row[0] += 1
        for index, field in enumerate(AMOUNTS, start=1):
            row[index] += getattr(document, field) or 0
    return tuple(ControlTotal(*key, *row) for key, row in sorted(sums.items()))


def is_total_row(row: Row, header: Header) -> bool:
    """A row that names no document and says "total"."""
    if header.cell(row, "folio") or header.cell(row, "uuid") or header.cell(row, "issue_date"):
        return _says_total(header.cell(row, "folio"))
    return any(_says_total(to_text(cell)) for cell in row.cells)


def _says_total(text: str) -> bool:
    words = normalise(text).split()
    return bool(words) and words[0] in {"total", "totales", "subtotal", "suma", "sumas"}


def check_total_row(
    total_rows: Sequence[Row], found: Sequence[tuple[Row, Document]], header: Header, convention: Convention
) -> Iterator[Reject]:
    """Compare each total row with the sum of all rows above it, or of those since the total row before."""
    if len({document.currency for _, document in found}) != 1:
        return
    currency, since = found[0][1].currency, header.line
    for row in total_rows:
        above = [document for other, document in found if other.line < row.line]
        block = [document for other, document in found if since < other.line < row.line]
        since = row.line
        for field in AMOUNTS:
            written = to_written(row, header, field, currency)
            if written is None or (field == "vat" and header.more_vat):
                continue
            try:
                stated = to_amount(written, convention.mark)
            except FigureError:
                continue
            sums = {_sum(part, field, sign) for part in (above, block) for sign in (1, -1)}
            if stated not in sums:
                rows = format_decimal(_sum(above, field, 1), currency)
                reason = Message("books.total_row_differs", {"sum": rows})
                yield Reject(row.line, header.name(field), written.text, reason)


def _sum(documents: Iterable[Document], field: str, note_sign: int) -> int:
    return sum((getattr(document, field) or 0) * (note_sign if document.is_note else 1) for document in documents)


_ANY_DAY = date(2000, 1, 1)


def kind_of(row: Row, header: Header, country: str) -> str:
    """Read the kind of document of a row; empty where no rule knows it."""
    try:
        return words.to_kind(header.cell(row, "doc_type"), country)
    except words.WordError:
        return ""


def decide_convention(sheet: Sheet, rows: Sequence[Row], header: Header, *, country: str) -> Convention:
    """Decide by all cells together; raise FigureError where they could be read in two ways."""
    currency = COUNTRIES[country].currency
    home = DecimalMark.COMMA if country == "cl" and not header.is_canonical else DecimalMark.POINT
    rows = [row for row in rows if kind_of(row, header, country) not in NO_SALES]
    amounts = [amount for row in rows for amount in _amounts(row, header, country)]
    mark = decide_mark(amounts, preferred=home)
    style = _date_style(rows, header, from_1904=sheet.from_1904)
    zone, coded = ZoneInfo(COUNTRIES[country].zone), sheet.separator == TILDE
    convention = Convention(country, currency, mark, style, note_sign=1, zone=zone, states_as_numbers=coded)
    return replace(convention, note_sign=_note_sign(rows, header, convention))


def _amounts(row: Row, header: Header, country: str) -> Iterator[Written]:
    try:
        currency = words.to_currency(header.cell(row, "currency"), country, COUNTRIES[country].currency)
    except words.WordError:
        return
    for field in (*AMOUNTS, *header.more_vat):
        written = to_written(row, header, field, currency)
        if written is not None:
            yield written


def _date_style(rows: Sequence[Row], header: Header, *, from_1904: bool) -> str:
    cells = [header.raw(row, field) for row in rows for field in ("issue_date", "due_date")]
    dates = (cell for cell in cells if not isinstance(cell, str) or to_term(cell, _ANY_DAY) is None)
    return decide_style(dates, from_1904=from_1904)


def _note_sign(rows: Sequence[Row], header: Header, convention: Convention) -> int:
    """Credit notes are negative in some exports: the sign of the kind counts, if the file keeps to one of them."""
    signs = set()
    for row in rows:
        written = to_written(row, header, "total", convention.currency)
        if kind_of(row, header, convention.country) not in CREDIT_NOTES or written is None:
            continue
        try:
            amount = to_amount(written, convention.mark)
        except (FigureError, MoneyError):
            continue
        signs.add((amount > 0) - (amount < 0))
    return -1 if signs - {0} == {-1} else 1


@dataclass(frozen=True, slots=True)
class Reading:
    """What a file says, whether or not it may go into the books.

    `unequal` are the documents whose parts do not add up to their total; `may_accept_totals` says that nothing else
    keeps the file out.
    """

    documents: tuple[tuple[Document, dict[str, str]], ...]
    rejects: tuple[Reject, ...]
    totals: tuple[ControlTotal, ...] = ()
    rows: int = 0
    repeated: int = 0
    encoding: str = ""
    separator: str = ""
    columns: tuple[ReadColumn, ...] = ()
    notes: tuple[Message, ...] = ()
    unequal: tuple[Reject, ...] = ()
    may_accept_totals: bool = False


def read_invoices(
    content: bytes,
    *,
    country: str,
    mapping: Mapping[str, str],
    own_tax_ids: frozenset[str] = frozenset(),
    accept_totals: bool = False,
) -> Reading:
    """Read a whole file under one convention; any reject keeps all of it out.

    If the merchant's own tax ids are known, documents of another issuer are refused; documents whose parts
    do not add up to their total are too, unless a person accepted them.
    """
    try:
        found = _best_sheet(content, mapping)
    except SheetError as error:
        return Reading((), (Reject(NO_LINE, "", "", error.message),))
    if found is None:
        reason = Message("books.no_header")
        return Reading((), (Reject(NO_LINE, "", "", reason),))
    sheet, header = found
    if not mapping.get("folio"):
        header = leave_row_count_out(sheet.rows, header)
    if summary := tuple(find_summary(header)):
        return Reading((), summary, encoding=sheet.encoding, separator=sheet.separator)
    unusable = (*_missing_columns(header), *_refuse_doubled(header), *_unclear_columns(header))
    columns = header.list_columns(further.place for further in find_further(header))
    if unusable:
        return Reading((), unusable, encoding=sheet.encoding, separator=sheet.separator, columns=columns)
    reading = replace(_read_rows(sheet, header, country, own_tax_ids), columns=columns)
    return _judge_totals(reading, accepted=accept_totals)


def _best_sheet(content: bytes, mapping: Mapping[str, str]) -> tuple[Sheet, Header] | None:
    """The way of cutting the file whose header knows most columns."""
    best: tuple[Sheet, Header] | None = None
    lists: list[str] = []
    try:
        for sheet in read_sheets(content):
            header = find_header(sheet.rows, mapping)
            if header is None:
                continue
            if not sheet.separator and not tuple(_missing_columns(header)):
                lists.append(sheet.encoding)
            if best is None or len(header.at) > len(best[1].at):
                best = sheet, header
    except SheetError:
        if best is None:
            raise
    if len(lists) > 1:
        raise SheetError("books.several_lists", count=len(lists), sheets="; ".join(lists))
    return best


def _missing_columns(header: Header) -> Iterator[Reject]:
    for field in REQUIRED:
        if field not in header.at and field not in header.fixed:
            names = ", ".join(SYNONYMS[field][:4])
            yield Reject(header.line, field, "", Message("books.column_missing", {"names": names, "field": field}))
    if "folio" not in header.at and "uuid" not in header.at:
        counter = next((name for name in header.columns if normalise(name) in COUNTERS), "")
        reason = Message("books.counts_rows", {"column": counter}) if counter else Message("books.no_folio_column")
        yield Reject(header.line, counter or "folio", "", reason)


def _unclear_columns(header: Header) -> Iterator[Reject]:
    """Refuse a bare amount next to one of its parts, which may be net or total, and VAT that may stand there twice."""
    name = header.names.get("total", "")
    if normalise(name) == "monto" and {"net", "vat"} & header.at.keys():
        reason = Message("books.net_or_total")
        yield Reject(header.line, name, "", reason)
    if header.more_vat and not states_rate(header.name("vat")) and "net" not in header.at:
        others = ", ".join(map(header.name, header.more_vat))
        yield Reject(
            header.line,
            header.name("vat"),
            "",
            Message("books.vat_twice", {"vat": header.name("vat"), "others": others}),
        )


def _refuse_doubled(header: Header) -> Iterator[Reject]:
    for field, name in header.names.items():
        places = header.twins(field)
        if len(places) > 1:
            listed = ", ".join(map(str, places))
            reason = Message("books.columns_same_name", {"columns": listed})
            yield Reject(header.line, name, "", reason)


def _read_rows(sheet: Sheet, header: Header, country: str, own_tax_ids: frozenset[str]) -> Reading:
    body = [row for row in sheet.rows if row.line > header.line and not row.is_blank]
    body = set_headers_aside(body, header)
    total_rows = [row for row in body if is_total_row(row, header)]
    set_aside = {row.line for row in total_rows}
    rows = [row for row in body if row.line not in set_aside]
    strangers = tuple(find_strangers(rows, header, country=country, own=own_tax_ids))
    if strangers:
        return Reading((), strangers, encoding=sheet.encoding, separator=sheet.separator)
    if not sheet.separator:
        rows = [_pad(row, header) for row in rows]
    rows, taxes = cut_further_taxes(rows, header)
    cells = _cells_of_a_row(rows, header) if sheet.separator else None
    uneven = [_refuse_uneven(row, header) for row in rows if _has_other_width(row, header, cells)]
    if uneven:
        return Reading((), tuple(uneven), encoding=sheet.encoding, separator=sheet.separator)
    rows, rows_of_taxes = set_taxes_aside(rows, header)
    for line, further in rows_of_taxes.items():
        taxes.setdefault(line, []).extend(further)
    try:
        convention = decide_convention(sheet, rows, header, country=country)
    except FigureError as error:
        return Reading(
            (),
            (Reject(header.line, "", "", Message("books.amount_problem", {"problem": error.message})),),
            encoding=sheet.encoding,
        )
    reading = _read_documents(sheet, header, convention, rows=rows, total_rows=total_rows, taxes=taxes)
    remarks = _remarks(taxes, is_unsure=not own_tax_ids and names_issuers(rows, header))
    return replace(reading, notes=(*reading.notes, *remarks))


def _judge_totals(reading: Reading, *, accepted: bool) -> Reading:
    """Refuse documents whose parts do not add up to their total, or say how many a person accepted so."""
    if not reading.unequal:
        return reading
    if accepted:
        remark = Message("books.unequal_accepted", {"count": len(reading.unequal)})
        return replace(reading, notes=(*reading.notes, remark))
    rejects = tuple(sorted((*reading.rejects, *reading.unequal), key=lambda reject: reject.line))
    return replace(reading, rejects=rejects, may_accept_totals=not reading.rejects)


def _remarks(taxes: Mapping[int, Sequence[Row]], *, is_unsure: bool) -> Iterator[Message]:
    if taxes:
        count = sum(map(len, taxes.values()))
        yield Message("books.further_tax_rows", {"count": count})
    if is_unsure:
        yield Message("books.own_tax_id_unknown")


def _read_documents(
    sheet: Sheet,
    header: Header,
    convention: Convention,
    *,
    rows: Sequence[Row],
    total_rows: Sequence[Row],
    taxes: Mapping[int, Sequence[Row]],
) -> Reading:
    found: list[tuple[Row, Document]] = []
    unusable: list[tuple[Row, Document]] = []
    rejects: list[Reject] = []
    left_out: Counter[str] = Counter()
    summed: Counter[str] = Counter()
    for row in rows:
        kind = kind_of(row, header, convention.country)
        if kind in NO_SALES:
            left_out[kind] += 1
            continue
        if is_summed_up(row, header, kind):
            summed[kind] += 1
            continue
        reader = RowReader(row, header, convention)
        document = reader.to_document()
        rejects += reader.rejects
        if document is not None:
            (unusable if reader.rejects else found).append((row, document))
    kept, clashes, repeated = find_clashes(found)
    rejects += clashes
    if not rejects and not left_out and not summed:
        rejects += check_total_row(total_rows, found, header, convention)
    checked = leave_vat_alone([*kept, *unusable], header, convention, taxes)
    remarks = [] if checked[: len(kept)] == kept else [Message("books.all_taxes", {"column": header.name("vat")})]
    kept = checked[: len(kept)]
    return Reading(
        documents=tuple((document, _raw(row, header)) for row, document in kept),
        rejects=tuple(sorted(rejects, key=lambda reject: reject.line)),
        totals=control_totals([document for _, document in kept]),
        rows=len(found),
        repeated=repeated,
        encoding=sheet.encoding,
        separator=sheet.separator,
        notes=(
            *sheet.notes,
            *remarks,
            *_notes(left_out, summed, repeated, sheet=sheet, empty=not found and not rejects),
        ),
        # What else is wrong with a row hides no wrong sum, so that one look names all there is to correct.
        unequal=tuple(find_unequal(checked, header, convention, taxes)),
    )


def _notes(
    left_out: Counter[str], summed: Counter[str], repeated: int, *, sheet: Sheet, empty: bool
) -> Iterator[Message]:
    if empty:
        yield Message("books.no_documents")
    if sheet.separator == TILDE and not empty:
        yield Message("books.no_currency_named")
    for kind, count in sorted(summed.items()):
        yield Message("books.summed_receipts", {"kind": kind, "count": count})
    for kind, count in sorted(left_out.items()):
        yield Message("books.not_receivable", {"kind": kind, "count": count})
    if repeated:
        yield Message("books.repeated_rows", {"count": repeated})


def _pad(row: Row, header: Header) -> Row:
    """Fill a workbook's row up: its empty cells at the end are not stored."""
    return replace(row, cells=row.cells + ("",) * (header.width - len(row.cells)))


def _cells_of_a_row(rows: Sequence[Row], header: Header) -> int:
    """Count the cells of a row of text: as many as the header, or one more where a register ends every row with one.

    The canonical form has no such habit: there a separator more is one too many.
    """
    end_alike = all(len(row.cells) == header.cells + 1 for row in rows)
    return header.cells + int(end_alike and not header.is_canonical)


def _has_other_width(row: Row, header: Header, cells: int | None) -> bool:
    """In text one separator more or less moves every cell after it, also where the last ones are empty."""
    if cells is not None and len(row.cells) != cells:
        return True
    return any(to_text(cell) for cell in row.cells[header.width if cells is None else header.cells :])


def _refuse_uneven(row: Row, header: Header) -> Reject:
    reason = Message("books.row_width", {"cells": len(row.cells), "header": header.cells})
    return Reject(row.line, "", "", reason)


def _raw(row: Row, header: Header) -> dict[str, str]:
    """The row as it stood, under the file's own column names."""
    pairs = zip(header.columns, row.cells, strict=False)
    return {name: to_text(cell) for name, cell in pairs if name and to_text(cell)}
