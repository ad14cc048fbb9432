"""What registers of tax authorities hold besides the merchant's documents: those of others, repeats, further taxes."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from consumer.facts.messages import Message
from consumer.facts.taxids import TaxIdError, to_tax_id
from reconcile.books.cells import Cell, Row, to_text
from reconcile.books.documents import Reject
from reconcile.books.headers import Header, normalise, readings_of
from reconcile.rules.kinds import RECEIPTS

_PURCHASES = frozenset({"tipo compra", "rut proveedor", "rfc proveedor"})
_ISSUERS = frozenset({"rfc emisor", "rut emisor", "rfc del emisor", "rut del emisor", "rfcemisor", "rutemisor"})
_FURTHER_TAXES = ("codigo otro imp", "codigo otro impuesto")
# Code, value and rate: the columns of a further tax, and the cells that each one more adds behind the last column.
_CELLS_OF_A_TAX = 3
# Columns of files that sum documents up: by kind for a month, or by range of folios for a day.
_SUMS = frozenset(
    {
        "total documentos", "total doctos", "cantidad documentos", "cantidad de documentos", "cantidad doctos",
        "cantidad", "n documentos", "no documentos", "numero documentos", "numero de documentos", "folio desde",
        "folio hasta", "folio inicial", "folio final", "desde folio", "hasta folio",
    }
)  # fmt: skip


def find_summary(header: Header) -> Iterator[Reject]:
    """Refuse a file that only counts and sums documents: a sum is no claim on a customer."""
    if {"folio", "uuid"} & header.at.keys():
        return
    name = next((name for name in header.columns if normalise(name) in _SUMS), None)
    if name is not None:
        reason = Message("books.summary_by_day" if "issue_date" in header.at else "books.summary_by_kind")
        yield Reject(header.line, name, "", reason)


def cut_further_taxes(rows: Sequence[Row], header: Header) -> tuple[list[Row], dict[int, list[Row]]]:
    """Cut off what a register adds behind its last column for each further tax, and give it by the document's line.

    Some of its rows end with a separator more; a row with other cells more stays as it is.
    """
    ends_with_tax = normalise("".join(header.columns[-_CELLS_OF_A_TAX:][:1])) in _FURTHER_TAXES
    if not ends_with_tax or header.cells != header.width:
        return list(rows), {}
    kept: list[Row] = []
    taxes: dict[int, list[Row]] = {}
    for row in rows:
        cells, further = row.cells[: header.cells], row.cells[header.cells :]
        triples = [further[place : place + _CELLS_OF_A_TAX] for place in range(0, len(further), _CELLS_OF_A_TAX)]
        if not all(map(_is_tax_or_empty, triples)):
            kept.append(row)
            continue
        kept.append(replace(row, cells=cells))
        empty = ("",) * (header.cells - _CELLS_OF_A_TAX)
        own = [Row(row.line, (*empty, *triple)) for triple in triples if to_text(triple[0])]
        if own:
            taxes[row.line] = own
    return kept, taxes


def _is_tax_or_empty(triple: Sequence[Cell]) -> bool:
    texts = [to_text(cell) for cell in triple]
    return not any(texts) or (
        len(texts) == _CELLS_OF_A_TAX and texts[0].isascii() and texts[0].isdecimal() and bool(texts[1])
    )


def find_strangers(rows: Sequence[Row], header: Header, *, country: str, own: Collection[str]) -> Iterator[Reject]:
    """Refuse a file that says itself that its documents are not the merchant's own sales.

    `own` are the merchant's tax ids; if none is known, several issuers mean purchases.
    """
    sells = "customer_tax_id" in header.at and normalise(header.name("customer_tax_id")) not in {"rut", "rfc"}
    for name in header.columns:
        if normalise(name) in _PURCHASES and not sells:
            reason = Message("books.purchases")
            yield Reject(header.line, name, "", reason)
            return
    for place in _issuer_columns(header):
        name = header.columns[place]
        issuers = {_to_issuer(text, country): (row.line, text) for row in rows[::-1] if (text := _at(row, place))}
        if own and (foreign := [issuers[issuer] for issuer in issuers if issuer not in own]):
            line, written = min(foreign)
            reason = Message("books.other_issuer", {"own": ", ".join(sorted(own))})
            yield Reject(line, name, written, reason)
            return
        if len(issuers) > 1 and not own:
            reason = Message("books.several_issuers", {"count": len(issuers)})
            yield Reject(header.line, name, "", reason)
            return


def names_issuers(rows: Sequence[Row], header: Header) -> bool:
    return any(_at(row, place) for place in _issuer_columns(header) for row in rows)


def _issuer_columns(header: Header) -> list[int]:
    return [place for place, name in enumerate(header.columns) if _ISSUERS.intersection(readings_of(name))]


def _to_issuer(text: str, country: str) -> str:
    """Canonical tax id of an issuer; what is none stands for itself."""
    try:
        return to_tax_id(text, country)
    except TaxIdError:
        return normalise(text)


def set_taxes_aside(rows: Sequence[Row], header: Header) -> tuple[list[Row], dict[int, list[Row]]]:
    """Part rows that only bear a further tax from the documents above, and give them by that document's line.

    Such a row has no number of its own, no total, and kind, folio and customer of the document.
    """
    places = [place for place, name in enumerate(header.columns) if normalise(name) in _FURTHER_TAXES]
    if not places:
        return list(rows), {}
    kept: list[Row] = []
    taxes: dict[int, list[Row]] = {}
    for row in rows:
        further = not header.cell(row, "total") and _at(row, places[0]) and kept
        if further and _identity(row, header) == _identity(kept[-1], header):
            taxes.setdefault(kept[-1].line, []).append(row)
        else:
            kept.append(row)
    return kept, taxes


def is_summed_up(row: Row, header: Header, kind: str) -> bool:
    """Return True if a row sums up the month's receipts: such a row has folio 0."""
    return kind in RECEIPTS and header.cell(row, "folio").strip("0") == "" and bool(header.cell(row, "folio"))


def _identity(row: Row, header: Header) -> tuple[str, ...]:
    return tuple(header.cell(row, field) for field in ("doc_type", "folio", "customer_tax_id"))


def _at(row: Row, place: int) -> str:
    return to_text(row.cells[place]) if place < len(row.cells) else ""
