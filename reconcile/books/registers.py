"""What the registers of tax authorities and programs hold beside documents: other people's, repeats, further taxes."""

from collections.abc import Iterator, Sequence

from reconcile.books.cells import Row, to_text
from reconcile.books.documents import Reject
from reconcile.books.headers import Header, normalise

_PURCHASES = frozenset({"tipo compra", "rut proveedor", "rfc proveedor"})
_ISSUERS = frozenset({"rfc emisor", "rfcemisor", "rut emisor", "rfc del emisor", "rut del emisor"})
_FURTHER_TAXES = ("codigo otro imp", "codigo otro impuesto")
# Receipts that some registers sum up by month in a row that looks like a document.
_SUMMED = frozenset({"35", "38", "39", "41"})


def find_strangers(rows: Sequence[Row], header: Header) -> Iterator[Reject]:
    """Refuse a file that says itself that its documents are not the merchant's own sales."""
    sells = "customer_tax_id" in header.at and normalise(header.name("customer_tax_id")) not in {"rut", "rfc"}
    for name in header.columns:
        if normalise(name) in _PURCHASES and not sells:
            reason = "the column says that these are purchases: import the register of sales"
            yield Reject(header.line, name, "", reason)
            return
    for place, name in enumerate(header.columns):
        if normalise(name) not in _ISSUERS:
            continue
        issuers = {normalise(text) for row in rows if (text := _at(row, place))}
        if len(issuers) > 1:
            reason = f"the column names {len(issuers)} issuers: own sales have one, so import those issued alone"
            yield Reject(header.line, name, "", reason)
            return


def set_taxes_aside(rows: Sequence[Row], header: Header) -> tuple[list[Row], int]:
    """Leave out rows that only bear a further tax of the document above, which its total holds already."""
    places = [place for place, name in enumerate(header.columns) if normalise(name) in _FURTHER_TAXES]
    if not places:
        return list(rows), 0
    kept: list[Row] = []
    for row in rows:
        further = not header.cell(row, "total") and _at(row, places[0]) and kept
        if not further or _identity(row, header) != _identity(kept[-1], header):
            kept.append(row)
    return kept, len(rows) - len(kept)


def is_summed_up(row: Row, header: Header, kind: str) -> bool:
    """Tell the month's receipts in one row: folio 0 is no document's."""
    return kind in _SUMMED and header.cell(row, "folio").strip("0") == "" and bool(header.cell(row, "folio"))


def _identity(row: Row, header: Header) -> tuple[str, ...]:
    return tuple(header.cell(row, field) for field in ("doc_type", "folio", "customer_tax_id"))


def _at(row: Row, place: int) -> str:
    return to_text(row.cells[place]) if place < len(row.cells) else ""
