"""Control totals of a file per kind and currency, and the total rows that ERP exports put below their data."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from consumer.facts.messages import Message
from consumer.facts.money import format_decimal
from reconcile.books.cells import Row, to_text
from reconcile.books.documents import AMOUNTS, Convention, Document, Reject, to_written
from reconcile.books.figures import FigureError, to_amount
from reconcile.books.headers import Header, normalise


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
            if written is None:
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
