"""The file of the books as other systems write it: separators, decimals, encodings and headings that vary.

A reader takes each for the same books or refuses it with a reason; it never reads another amount or another document.
"""

import csv
import io
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from sandbox.happening import Document

MONEY = ("net", "exempt", "vat", "total")
DATES = ("issue_date", "due_date")
SPANISH = {
    "doc_type": "Tipo Doc", "folio": "Folio", "issue_date": "Fecha Emisión", "due_date": "Fecha Vencimiento",
    "customer_tax_id": "RUT Cliente", "customer_name": "Razón Social", "net": "Monto Neto", "exempt": "Monto Exento",
    "vat": "IVA", "total": "Monto Total", "currency": "Moneda", "status": "Estado", "order_ref": "Orden",
}  # fmt: skip
Cells = dict[str, str]


@dataclass(frozen=True, slots=True)
class Variant:
    """One way of writing the file."""

    name: str
    delimiter: str = ","
    encoding: str = "utf-8"
    line_end: str = "\n"
    headings: Mapping[str, str] | None = None
    change: Callable[[Cells], Cells] = dict
    is_whole: bool = True  # False: it lacks what a reader needs, and must be refused


def group_thousands(row: Cells) -> Cells:
    """Amounts as Chile and Spain write them: points between thousands, a comma before decimals."""
    return row | {name: _grouped(row[name]) for name in MONEY}


def add_decimals(row: Cells) -> Cells:
    """Amounts with two decimals even where the currency has none."""
    return row | {name: row[name] if "." in row[name] else f"{row[name]}.00" for name in MONEY}


def turn_dates(row: Cells) -> Cells:
    """Dates with the day first."""
    return row | {name: "/".join(reversed(row[name].split("-"))) for name in DATES}


def _grouped(amount: str) -> str:
    whole, _, decimals = amount.partition(".")
    grouped = f"{int(whole):,}".replace(",", ".")
    return f"{grouped},{decimals}" if decimals else grouped


PLAIN = Variant("plain")
VARIANTS = {
    variant.name: variant
    for variant in (
        PLAIN,
        Variant("semicolon", delimiter=";"),
        Variant("tab", delimiter="\t"),
        Variant("windows-lines", line_end="\r\n"),
        Variant("byte-order-mark", encoding="utf-8-sig"),
        Variant("latin-1", encoding="latin-1"),
        Variant("utf-16", encoding="utf-16"),
        Variant("thousands", delimiter=";", change=group_thousands),
        Variant("decimals", change=add_decimals),
        Variant("day-first", change=turn_dates),
        Variant("spanish-headings", headings=SPANISH),
        Variant("excel-es", delimiter=";", encoding="latin-1", line_end="\r\n", headings=SPANISH,
                change=lambda row: turn_dates(group_thousands(row))),
        Variant("no-total", headings={"total": "observaciones"}, change=lambda row: row | {"total": ""},
                is_whole=False),
    )
}  # fmt: skip


def write_books(documents: Iterable[Document], variant: str = "plain") -> bytes:
    """The file in that variant. Raises ValueError that lists the variants."""
    if variant not in VARIANTS:
        raise ValueError(f"there is no file variant {variant!r}: choose one of {', '.join(VARIANTS)}")
    way = VARIANTS[variant]
    text = io.StringIO()
    writer = csv.writer(text, delimiter=way.delimiter, lineterminator=way.line_end)
    headings = way.headings or {}
    for place, document in enumerate(documents):
        if not place:
            writer.writerow(headings.get(name, name) for name in document.row)
        writer.writerow(way.change(document.row).values())
    return text.getvalue().encode(way.encoding)
