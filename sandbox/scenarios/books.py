"""The merchant's books as files: the canonical columns, all text, and the variants other systems write."""

import csv
import io
from codecs import getincrementalencoder
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from sandbox.scenarios.ledger import LocalDocument
from sandbox.state.happening import Document

COLUMNS = (
    "doc_type", "series", "folio", "uuid", "issue_date", "due_date", "customer_tax_id", "customer_name", "net",
    "exempt", "vat", "total", "currency", "status", "order_ref", "ref_type", "ref_number", "payment_method",
    "payment_form",
)  # fmt: skip
DECIMALS = {"CLP": 0, "MXN": 2, "USD": 2, "CLF": 4}
MONEY = ("net", "exempt", "vat", "total")
DATES = ("issue_date", "due_date")
SPANISH = {
    "doc_type": "Tipo Doc", "folio": "Folio", "issue_date": "Fecha Emisión", "due_date": "Fecha Vencimiento",
    "customer_tax_id": "RUT Cliente", "customer_name": "Razón Social", "net": "Monto Neto", "exempt": "Monto Exento",
    "vat": "IVA", "total": "Monto Total", "currency": "Moneda", "status": "Estado", "order_ref": "Orden",
}  # fmt: skip
PIECE = 65_536
Cells = dict[str, str]


def to_major(amount: int, currency: str) -> str:
    """Minor units as decimal text of the major unit."""
    places = DECIMALS[currency]
    if not places:
        return str(amount)
    return f"{amount // 10**places}.{amount % 10**places:0{places}d}"


def to_row(document: LocalDocument) -> Document:
    """Return one document in the canonical columns, in their order."""
    referred = document.refers_to
    currency = document.currency
    row = {
        "doc_type": document.doc_type,
        "series": document.series,
        "folio": document.folio,
        "uuid": document.uuid,
        "issue_date": document.issue_on.isoformat(),
        "due_date": "" if document.due_on is None else document.due_on.isoformat(),
        "customer_tax_id": document.buyer_tax_id,
        "customer_name": "" if document.buyer is None else document.buyer.name,
        "net": to_major(document.net, currency),
        "exempt": to_major(document.exempt, currency),
        "vat": to_major(document.vat, currency),
        "total": to_major(document.total, currency),
        "currency": currency,
        "status": document.status,
        "order_ref": document.order_ref,
        "ref_type": "" if referred is None else referred.doc_type,
        "ref_number": "" if referred is None else referred.uuid or referred.folio,
        "payment_method": document.payment_method,
        "payment_form": document.payment_form,
    }
    return Document(document.known_at, row)


@dataclass(frozen=True, slots=True)
class Variant:
    """One way of writing the file."""

    name: str
    delimiter: str = ","
    encoding: str = "utf-8"
    line_end: str = "\r\n"
    headings: Mapping[str, str] = field(default_factory=dict)
    titles: tuple[str, ...] = ()  # lines above the headings
    is_summed: bool = False  # a last line with the sum of each column of money
    change: Callable[[Cells], Cells] = dict
    is_whole: bool = True  # False: it lacks what a reader needs, and must be refused


def group_thousands(row: Cells) -> Cells:
    """Amounts as Chile and Spain write them: points between thousands, a comma before decimals."""
    return row | {name: _group_digits(row[name]) for name in MONEY}


def add_decimals(row: Cells) -> Cells:
    """Amounts with two decimals even where the currency has none."""
    return row | {name: row[name] if "." in row[name] else f"{row[name]}.00" for name in MONEY}


def turn_dates(row: Cells) -> Cells:
    """Dates with the day first."""
    return row | {name: "/".join(reversed(row[name].split("-"))) for name in DATES}


def _group_digits(amount: str) -> str:
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
        Variant("unix-lines", line_end="\n"),
        Variant("byte-order-mark", encoding="utf-8-sig"),
        Variant("latin-1", encoding="latin-1"),
        Variant("utf-16", encoding="utf-16"),
        Variant("thousands", delimiter=";", change=group_thousands),
        Variant("decimals", change=add_decimals),
        Variant("day-first", change=turn_dates),
        Variant("spanish-headings", headings=SPANISH),
        Variant("excel-es", delimiter=";", encoding="latin-1", headings=SPANISH,
                change=lambda row: turn_dates(group_thousands(row))),
        Variant("title-rows", titles=("Almacenes Tres Puentes", "Libro de ventas")),
        Variant("total-row", is_summed=True),
        Variant("no-total", headings={"total": "observaciones"}, change=lambda row: row | {"total": ""},
                is_whole=False),
    )
}  # fmt: skip


def write_books(documents: Iterable[Document], variant: str = "plain") -> Iterator[bytes]:
    """Return the file in that variant, piece by piece. Raise ValueError that lists the variants."""
    if variant not in VARIANTS:
        raise ValueError(f"there is no file variant {variant!r}: choose one of {', '.join(VARIANTS)}")
    way = VARIANTS[variant]
    encoder = getincrementalencoder(way.encoding)()
    return (encoder.encode(text) for text in _lines(documents, way))


def _lines(documents: Iterable[Document], way: Variant) -> Iterator[str]:
    """Return some lines at a time, the headings first."""
    text, sums = io.StringIO(), dict.fromkeys(MONEY, Decimal(0))
    writer = csv.writer(text, delimiter=way.delimiter, lineterminator=way.line_end)
    for title in way.titles:
        writer.writerow([title])
    writer.writerow(way.headings.get(name, name) for name in COLUMNS)
    for document in documents:
        if text.tell() > PIECE:
            yield _take_text(text)
        row = way.change(document.row)
        writer.writerow(row.get(name, "") for name in COLUMNS)
        if way.is_summed:
            sums = {name: total + Decimal(document.row[name]) for name, total in sums.items()}
    if way.is_summed:
        writer.writerow(["Total", *(str(sums.get(name, "")) for name in COLUMNS[1:])])
    yield _take_text(text)


def _take_text(text: io.StringIO) -> str:
    taken = text.getvalue()
    text.seek(0)
    text.truncate()
    return taken
