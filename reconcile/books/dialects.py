"""Bank files that are known: one table of forms and headings, where each was learned, and if a real file was seen."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from reconcile.books.headers import Vocabulary


class Holds(StrEnum):
    """What a file proves: a statement's days are whole, advice only says what has arrived."""

    STATEMENT = "statement"
    ADVICE = "advice"


@dataclass(frozen=True, slots=True)
class Dialect:
    """One bank's way of writing a file, or a standard's; `columns` are its headings by field, in a sheet."""

    name: str
    bank: str
    country: str
    forms: tuple[str, ...]
    learned: str
    columns: Mapping[str, str] = field(default_factory=dict)
    holds: Holds = Holds.STATEMENT
    is_real_seen: bool = False


_SHEETS = ("CSV", "XLSX", "XLS", "SpreadsheetML", "HTML")
_IMPORTERS = "importers of personal-finance programs that others published"
_SWIFT = "the published format of SWIFT and the documentation of the reader mt-940"
_ISO = "the published messages of ISO 20022, versions 01 to 13"
_OFX = "the published specification of OFX"

DIALECTS: tuple[Dialect, ...] = (
    Dialect("cuadre", "", "", _SHEETS, "our own form, which always reads", {
        "booked_on": "date", "text": "description", "reference": "reference", "amount": "amount",
        "currency": "currency",
    }),
    Dialect("banco-de-chile", "Banco de Chile", "cl", _SHEETS,
            "descriptions by users: each movement of the CSV is quoted as a whole line", {
        "booked_on": "Fecha", "text": "Descripción", "debit": "Cargos (CLP)", "credit": "Abonos (CLP)",
        "balance": "Saldo (CLP)",
    }),
    Dialect("banco-de-chile-cartola", "Banco de Chile", "cl", _SHEETS, _IMPORTERS, {
        "booked_on": "Fecha", "text": "Detalle de Transacción", "reference": "N° Docto",
        "debit": "Cheques y Otros Cargos", "credit": "Depósitos y Otros Abonos", "balance": "Saldo",
    }),
    Dialect("chile-cheques", "", "cl", _SHEETS, _IMPORTERS, {
        "booked_on": "Fecha", "text": "Descripción", "reference": "N° operación", "debit": "Cheques/Cargos($)",
        "credit": "Depósitos/Abonos($)", "balance": "Saldo$",
    }),
    Dialect("chile-deposito", "", "cl", _SHEETS, _IMPORTERS, {
        "booked_on": "Fecha", "text": "Detalle Movimiento", "reference": "Docto. Nro.", "debit": "Cheque o Cargo",
        "credit": "Depósito o Abono", "balance": "Saldo",
    }),
    Dialect("chile-giros", "", "cl", _SHEETS, _IMPORTERS, {
        "booked_on": "Fecha", "text": "Descripción", "reference": "N° Documento", "debit": "Giros o cargos",
        "credit": "Depósitos o abonos", "balance": "Saldo",
    }),
    Dialect("bbva-mexico", "BBVA México", "mx", _SHEETS,
            "descriptions by users: SpreadsheetML under the name .xls; also text parted by tabs", {
        "booked_on": "Día", "text": "Concepto / Referencia", "debit": "cargo", "credit": "Abono", "balance": "Saldo",
    }),
    Dialect("banorte", "Banorte", "mx", _SHEETS, _IMPORTERS, {
        "account": "Cuenta", "booked_on": "Fecha de operación", "reference": "Referencia", "text": "Descripción",
        "credit": "Depósitos", "debit": "Retiros", "balance": "Saldo", "detail": "Descripción detallada",
        "tracking": "Clave de rastreo",
    }),
    Dialect("mexico-cargo-abono", "", "mx", _SHEETS, _IMPORTERS, {
        "booked_on": "Fecha", "text": "Concepto", "amount": "Importe", "direction": "Cargo/Abono",
        "tracking": "Clave de rastreo",
    }),
    Dialect("mt940", "", "", ("MT940",), _SWIFT),
    Dialect("mt942", "", "", ("MT942",), _SWIFT, holds=Holds.ADVICE),
    Dialect("camt.053", "", "", ("camt.053",), _ISO),
    Dialect("camt.052", "", "", ("camt.052",), _ISO, holds=Holds.ADVICE),
    Dialect("camt.054", "", "", ("camt.054",), _ISO, holds=Holds.ADVICE),
    Dialect("ofx-1", "", "", ("OFX",), f"{_OFX}, 1.6 (SGML)"),
    Dialect("ofx-2", "", "", ("OFX",), f"{_OFX}, 2.2 (XML)"),
)  # fmt: skip

SHEET_FORMS = frozenset(_SHEETS)
# Forms of files that show arrivals within a day and prove no day whole.
ADVICE_FORMS = frozenset(form for one in DIALECTS if one.holds is Holds.ADVICE for form in one.forms)

# Names that any bank or program may write, by field, in the order in which they are looked for.
_USUAL: Vocabulary = {
    "booked_on": (
        "date", "fecha movimiento", "fecha contable", "fecha operacion", "fecha de operacion", "fecha transaccion",
        "fecha", "dia",
    ),
    "amount": ("monto", "importe", "valor", "monto movimiento"),
    "credit": (
        "abono", "abonos", "monto abono", "deposito", "depositos", "depositos y abonos", "haber", "ingreso",
        "depositos y abono",
    ),
    "debit": (
        "cargo", "cargos", "monto cargo", "retiro", "retiros", "giros y cargos", "debe", "egreso",
    ),
    "direction": ("cargo abono", "abono cargo", "c a", "tipo movimiento", "tipo de movimiento", "naturaleza", "signo"),
    "text": ("description", "descripcion", "detalle", "glosa", "concepto", "descripcion movimiento"),
    "detail": ("descripcion detallada", "detalle adicional", "informacion adicional", "leyenda", "concepto"),
    "reference": (
        "referencia", "n documento", "no documento", "nro documento", "numero documento", "numero de documento",
        "documento", "n operacion", "numero de operacion", "n dcto",
    ),
    "tracking": ("clave de rastreo", "clave rastreo", "cve rastreo"),
    "balance": ("saldo", "saldo contable", "saldo disponible"),
    "currency": ("moneda",),
    "account": ("cuenta", "n cuenta", "numero de cuenta", "nro cuenta", "clabe"),
}  # fmt: skip
# Headings of the dialects come after these, so that a new row of the table changes no reading of a known file.
COLUMNS: Vocabulary = {
    name: (*usual, *(one.columns[name] for one in DIALECTS if name in one.columns)) for name, usual in _USUAL.items()
}
