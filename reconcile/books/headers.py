"""Columns by their usual names in Chile and Mexico: find the header row and say which column is what."""

import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeAlias

from consumer.facts import shared_files
from consumer.facts.installation import Installation
from consumer.facts.messages import RefusalError
from reconcile.books.cells import Cell, Row, to_text

REQUIRED = ("doc_type", "issue_date", "total")
KNOWN_NAMES_OF_A_HEADER = 4
_FEWEST_COUNTED = 2
# Where words are written as one: FechaEmision, RFCReceptor.
_JOINT = re.compile(r"(?<=[a-zà-ÿ])(?=[A-ZÀ-Þ])|(?<=[A-ZÀ-Þ])(?=[A-ZÀ-Þ][a-zà-ÿ])")

# What some programs write around a name: the rate of a tax, digits in parentheses, and the dots of I.V.A.
_RATE = re.compile(
    r"\(\s*\d+(?:[.,]\d+)?\s*%?\s*\)|\d+(?:[.,]\d+)?\s*%|(?<=iva)(?:\s+al)?[ _]*\d{1,2}\b", re.IGNORECASE
)
_DOTTED = re.compile(r"\b(?:[^\W\d_]\.){2,}(?:[^\W\d_]\b)?")

# All taxes of a document together, which is its VAT where it bears no other.
ALL_TAXES = (
    "impuestos",
    "impuesto",
    "total impuestos",
    "total de impuestos",
    "monto impuestos",
    "importe impuestos",
    "total impuestos trasladados",
    "total de impuestos trasladados",
    "impuestos trasladados",
)
# Names of a folio that other lists give to the count of their rows.
COUNTERS = ("n", "no", "nro", "num", "nr")
# Begins the fields of further columns of VAT, before their place.
_MORE_VAT = "vat "
# Fields in the order in which they choose their columns; within a field the first name that the file has wins.
Vocabulary: TypeAlias = Mapping[str, tuple[str, ...]]
# Besides the canonical ones: a check digit on its own, a yes/no column of voided documents, further parts of totals,
# of which a list may have several columns, so that these are found by their words where no mapping names one.
SYNONYMS: Vocabulary = {
    "doc_type": (
        "tipo doc", "tipo dte", "tipo documento", "tipo de documento", "cod tipo de documento",
        "codigo tipo de documento", "tipo docto", "tipo de comprobante", "tipo comprobante", "efecto",
        "efecto del comprobante", "efecto comprobante", "tipo", "tipo de dte", "codigo dte", "tipo cfdi",
        "tipo de cfdi", "clase de documento", "clase documento", "tipo factura", "tipo de factura",
    ),
    "series": ("serie",),
    "folio": (
        "folio tributario", "folio", "numero documento", "numero de documento", "n documento", "no documento",
        "nro documento", "n doc", "no doc", "nro doc", "numero doc", "num doc", "numero", "folio interno",
        "n folio", "no folio", "nro folio", "num folio", "numero folio", "numero de folio", "folio dte", "folio sii",
        "folio documento", "folio del documento", "folio factura", "n dte", "nro dte", "numero dte", "n factura",
        "no factura", "nro factura", "num factura", "numero factura", "numero de factura", "numero del documento",
        "numero de comprobante", "numero comprobante", *COUNTERS,
    ),
    "uuid": ("folio fiscal", "folio fiscal uuid", "uuid cfdi"),
    "issue_date": (
        "fecha docto", "fecha emision", "fecha de emision", "fecha documento", "fecha de documento",
        "fecha factura", "fecha doc", "fecha", "fecha timbrado", "fecha de timbrado", "fecha de factura",
        "fecha de la factura", "fecha expedicion", "fecha de expedicion", "fecha elaboracion", "fecha de elaboracion",
        "fecha creacion", "fecha de creacion", "emision", "creacion",
    ),
    "due_date": (
        "fecha vencimiento", "fecha de vencimiento", "fecha venc", "fecha vcto", "vencimiento", "fecha vence", "vence",
        "condiciones de pago", "condiciones",
    ),
    "customer_tax_id": (
        "rut cliente", "rut receptor", "rut del cliente", "rut del receptor", "rfc receptor", "rfc del receptor",
        "rfc cliente", "rut", "rfc", "rfc del cliente", "rut de cliente", "rfc de cliente", "id fiscal",
        "identificacion cliente", "identificacion del cliente", "nif",
    ),
    "customer_name": (
        "razon social receptor", "razon social cliente", "nombre razon social receptor", "nombre receptor",
        "nombre o razon social del receptor", "nombre del receptor", "nombre cliente",
        "nombre del cliente", "razon social del cliente", "razon social del receptor", "razon social", "cliente",
        "nombre", "nombre de cliente", "razon social de cliente", "cliente razon social", "razon social o nombre",
        "nombre o razon social", "nombre razon social", "nombre o razon social receptor", "nombre fiscal",
        "nombre o razon social del cliente", "denominacion social", "receptor", "nombre del contacto",
        "nombre del contacto a mostrar en la factura",
    ),
    "net": (
        "monto neto", "neto", "valor neto", "afecto", "monto afecto", "subtotal", "sub total", "total neto",
        "importe neto", "venta neta", "base imponible", "base gravable", "importe sin impuestos", "monto sin iva",
    ),
    "exempt": ("monto exento", "exento", "valor exento", "total exento"),
    "vat": (
        "monto iva", "iva", "valor iva", "iva trasladado", "total iva trasladado", "importe iva", "total iva",
        "monto de iva", "importe de iva", "iva debito", "iva debito fiscal", *ALL_TAXES,
    ),
    "total": (
        "monto total", "total", "valor total", "bruto", "monto bruto", "importe total", "monto", "total factura",
        "total documento",
        "venta total", "total venta", "total del documento", "total facturado", "total con iva", "total con impuestos",
    ),
    "currency": ("moneda", "codigo moneda", "tipo moneda"),
    "status": ("estado", "estado documento", "estado sat", "estatus", "estado del comprobante"),
    "order_ref": (
        "orden", "orden de compra", "n pedido", "no pedido", "nro pedido", "numero pedido", "numero de pedido",
        "numero interno", "pedido", "referencia",
    ),
    "ref_type": ("tipo docto referencia", "tipo doc referencia", "tipo relacion", "tipo de relacion"),
    "ref_number": (
        "folio docto referencia", "folio doc referencia", "folio referencia", "uuid relacionado", "cfdi relacionado",
    ),
    "payment_method": ("metodo de pago", "metodo pago", "condicion de pago", "condicion pago"),
    "payment_form": ("forma de pago", "forma pago", "medio de pago", "medio pago"),
    "check_digit": ("dv", "digito verificador", "dv cliente", "dv receptor"),
    "voided": ("anulada", "anulado"),
    "other_tax": (), "withheld": (), "discount": (),
}  # fmt: skip
# Begins what a mapping says of a field that has no column: its text in every row.
FIXED = "="
# What a column is that only the sum of a total's parts is checked with.
PART = "part"
# What each does to a total.
FURTHER_PARTS = {"other_tax": 1, "withheld": -1, "discount": -1}


@dataclass(frozen=True, slots=True)
class ReadColumn:
    """One column by its name in the file, and the field it was read as; empty where it was left out."""

    name: str
    field: str


class MappingError(RefusalError):
    """A saved mapping that is missing or names columns that do not exist."""


@dataclass(frozen=True, slots=True)
class Header:
    """Where each known column stands, and under which name the file has it."""

    line: int
    columns: tuple[str, ...]
    at: dict[str, int]
    names: dict[str, str]
    cells: int
    # Fields that a mapping gives the same text in every row.
    fixed: Mapping[str, str]

    def cell(self, row: Row, field: str) -> str:
        """Text of one field in one row, empty where the file has no such column."""
        return to_text(self.raw(row, field))

    def raw(self, row: Row, field: str) -> Cell:
        """One cell as the file has it: a spreadsheet's dates and numbers are no text."""
        if field in self.fixed:
            return self.fixed[field]
        index = self.at.get(field)
        return row.cells[index] if index is not None and index < len(row.cells) else ""

    def name(self, field: str) -> str:
        """The file's own name of a column, for messages people read."""
        return self.names.get(field, field)

    @property
    def more_vat(self) -> list[str]:
        """Fields of further columns of VAT, where a list has one for each rate."""
        return [field for field in self.at if field.startswith(_MORE_VAT)]

    @property
    def width(self) -> int:
        return len(self.columns)

    def twins(self, field: str) -> list[int]:
        """Number the columns, from one, that bear the name under which a field was found."""
        wanted = normalise(self.names[field])
        return [index for index, name in enumerate(self.columns, start=1) if normalise(name) == wanted]

    def list_columns(self, further: Iterable[int] = ()) -> tuple[ReadColumn, ...]:
        """List every named column; those in places of `further` count as parts of a total."""
        fields = dict.fromkeys(further, PART) | {place: field.partition(" ")[0] for field, place in self.at.items()}
        return tuple(ReadColumn(name, fields.get(place, "")) for place, name in enumerate(self.columns) if name)

    @property
    def is_canonical(self) -> bool:
        return all(field == name for field, name in self.names.items())


@lru_cache(maxsize=4096)
def normalise(name: str) -> str:
    """Lower case, without accents and punctuation, words separated by one space."""
    # NFKD would read the ordinal sign of "Nº" as the letter o.
    plain = unicodedata.normalize("NFKD", name.replace("º", "").replace("°", "").replace("ª", ""))
    letters = "".join(char for char in plain if not unicodedata.combining(char)).lower()
    return re.sub(r"[^a-z0-9]+", " ", letters).strip()


def readings_of(name: str) -> tuple[str, str]:
    """Read a column's name as it stands, and without rate and dots, words that were written as one put apart."""
    bare = _RATE.sub(" ", _without_dots(name))
    return normalise(name), normalise(_JOINT.sub(" ", bare))


def states_rate(name: str) -> bool:
    """Return True if a column's name states the rate of its tax."""
    return bool(_RATE.search(_without_dots(name)))


def _without_dots(name: str) -> str:
    return _DOTTED.sub(lambda match: match[0].replace(".", ""), name)


def find_header(
    rows: tuple[Row, ...],
    mapping: Mapping[str, str],
    *,
    words: Vocabulary = SYNONYMS,
    least: int = KNOWN_NAMES_OF_A_HEADER,
    holds: Callable[[Header], bool] | None = None,
) -> Header | None:
    """The first row that holds at least so many known names, and what its reader cannot do without."""
    least -= sum(text.startswith(FIXED) for text in mapping.values())
    for row in rows:
        if len(row.cells) < least or row.is_blank:
            continue
        header = _to_header(row, mapping, words)
        if len(header.at) >= least and (holds is None or holds(header)):
            return header
    return None


def _to_header(row: Row, mapping: Mapping[str, str], words: Vocabulary) -> Header:
    names = [to_text(cell) for cell in row.cells]
    plain = [readings_of(name)[0] for name in names]
    apart = [readings_of(name)[1] for name in names]
    found: dict[str, int] = {}
    fixed = {field: text[1:].strip() for field, text in mapping.items() if text.startswith(FIXED)}
    for field in words:
        if field in fixed:
            continue
        if field in mapping:
            wanted = normalise(mapping[field])
            # A field that a mapping leaves empty has no column, even if one bears its usual name.
            index = plain.index(wanted) if wanted and wanted in plain else None
        else:
            index = names.index(field) if field in names else _find_column((field, *words[field]), plain, apart)
        if index is not None and index not in found.values():
            found[field] = index
    if "vat" in found and "vat" not in mapping:
        found |= _find_more_vat(names, apart, found)
    filled = [index for index, name in enumerate(names) if name]
    columns = tuple(names[: filled[-1] + 1])
    own = {field: names[index] for field, index in found.items()}
    return Header(row.line, columns, found, own, len(names), fixed)


def _find_more_vat(names: Sequence[str], apart: Sequence[str], found: Mapping[str, int]) -> dict[str, int]:
    """Return the columns that bear the name of the VAT's with a rate of their own."""
    own = apart[found["vat"]]
    places = [place for place, name in enumerate(names) if apart[place] == own and states_rate(name)]
    return {f"{_MORE_VAT}{place}": place for place in places if place not in found.values()}


def _find_column(synonyms: Iterable[str], plain: list[str], apart: list[str]) -> int | None:
    for synonym in map(normalise, synonyms):
        if synonym in plain:
            return plain.index(synonym)
        if synonym in apart:
            return apart.index(synonym)
    return None


def leave_row_count_out(rows: Sequence[Row], header: Header) -> Header:
    """Return the header without a folio that only a short name such as N° speaks of, where it counts the rows."""
    if normalise(header.names.get("folio", "")) not in COUNTERS:
        return header
    cells = [header.cell(row, "folio") for row in rows if row.line > header.line]
    numbers = [text for text in cells if text.isdecimal()]
    if len(numbers) < _FEWEST_COUNTED or numbers != [*map(str, range(1, len(numbers) + 1))]:
        return header
    at = {field: place for field, place in header.at.items() if field != "folio"}
    return replace(header, at=at, names={field: header.names[field] for field in at})


def read_mapping(installation: Installation, name: str, *, words: Vocabulary = SYNONYMS) -> dict[str, str]:
    """Read a saved mapping: a TOML file whose lines say `field = "name of the column"`, or `"=text"` for every row."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", name):
        raise MappingError("books.bad_mapping_name", name=name)
    shared_files.agree(installation)
    path = installation.settings.files_dir / "mappings" / f"{name}.toml"
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise MappingError("books.no_mapping", name=name, file=path.name) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise MappingError("books.mapping_unreadable", file=path.name, reason=str(error)) from None
    for field, column in values.items():
        if field not in words:
            raise MappingError("books.mapping_unknown_field", file=path.name, field=field, fields=", ".join(words))
        if not isinstance(column, str) or not column.removeprefix(FIXED).strip():
            raise MappingError("books.mapping_names_no_column", file=path.name, field=field)
    return values


def set_headers_aside(rows: Sequence[Row], header: Header) -> list[Row]:
    """Leave out the header where a printed list repeats it on each page."""
    names = tuple(header.columns)
    return [row for row in rows if tuple(to_text(cell) for cell in row.cells[: len(names)]) != names]
