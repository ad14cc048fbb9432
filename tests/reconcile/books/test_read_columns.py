"""Which columns of a file were read as what, and which were left out: lists as programs export them."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from consumer.facts.installation import Connection, Installation
from reconcile.books.headers import SYNONYMS
from reconcile.books.invoices import import_invoices
from tests.reconcile.books.invoice_texts import documents_of, only_document, read_text, reasons_of

Call = Callable[..., Any]
ROOT = Path(__file__).resolve().parents[3]

BSALE = """Tipo de Documento;N° Documento;Fecha de Emisión;RUT Cliente;Nombre del cliente;Vendedor;Monto Neto;IVA;Total
FACTURA ELECTRÓNICA;1201;03/10/2026;76.192.083-9;Peñón Ltda;Ana;1.000;190;1.190
"""
NUBOX = """Tipo Documento;N° Folio;Fecha Emisión;RUT Receptor;Razón Social Receptor;Neto;Exento;IVA (19%);Total
Factura Electrónica;1201;03-10-2026;76192083-9;Peñón Ltda;1000;0;190;1190
"""
DEFONTANA = """Tipo Doc.;Nro.;Fecha;Rut;Razón Social;Afecto;Exento;I.V.A. 19%;Total
FACTURA ELECTRONICA;1201;2026-10-03;76192083-9;Peñón Ltda;1000;0;190;1190
"""
ODOO = """Tipo;Número;Nombre del contacto a mostrar en la factura;NIF;Fecha factura;Base imponible;Impuesto;Total
33;FAC 001201;Peñón Ltda;76192083-9;2026-10-03;1000;190;1190
"""
DTE = """Tipo DTE;Folio DTE;Fecha Emisión;Rut;Nombre de Cliente;Monto Neto;Total IVA;Total Documento
33;1201;2026-10-03;76192083-9;Peñón Ltda;1000;190;1190
"""
CONTPAQI = """Fecha,Tipo de comprobante,Serie,Folio,Razón Social,R.F.C.,Neto,IVA 16,Total
03/10/2026,Factura,FAC,1201,Peñón Ltda,XAXX010101000,10.00,1.60,11.60
15/10/2026,Factura,FAC,1202,Peñón Ltda,XAXX010101000,10.00,1.60,11.60
"""
ASPEL = """No.,Tipo documento,Folio Factura,Nombre del cliente,RFC,Fecha de elaboración,Subtotal,Impuestos,Importe total
1,Factura,FAC0001201,Peñón Ltda,XAXX010101000,03/10/2026,10.00,1.60,11.60
2,Factura,FAC0001202,Peñón Ltda,XAXX010101000,15/10/2026,10.00,1.60,11.60
"""
ALEGRA = """Número,Tipo de comprobante,Cliente,Identificación del cliente,Creación,Vencimiento,Subtotal,Impuestos,Total
FAC-1201,Ingreso,Peñón Ltda,XAXX010101000,03/10/2026,31/10/2026,10.00,1.60,11.60
"""


@pytest.mark.parametrize(
    ("text", "country", "left_out"),
    [
        (BSALE, "cl", ["Vendedor"]),
        (NUBOX, "cl", []),
        (DEFONTANA, "cl", []),
        (ODOO, "cl", []),
        (DTE, "cl", []),
        (CONTPAQI, "mx", []),
        (ASPEL, "mx", ["No."]),
        (ALEGRA, "mx", []),
    ],
    ids=["bsale", "nubox", "defontana", "odoo", "dte", "contpaqi", "aspel", "alegra"],
)
def test_usual_headings_are_read(text: str, country: str, left_out: list[str]) -> None:
    """Folio, day, customer and amounts are found under the words of eight programs, and what is not read is named."""
    reading = read_text(text, country=country)
    document = documents_of(reading)[0]
    said = document.folio, document.issue_date.isoformat(), document.customer_name
    assert said == ("1201", "2026-10-03", "Peñón Ltda")
    assert (document.net, document.vat, document.total) == (1000, 190 if country == "cl" else 160, document.total)
    assert document.total == (1190 if country == "cl" else 1160)
    assert [column.name for column in reading.columns if not column.field] == left_out


@pytest.mark.parametrize(
    "name",
    [
        "IVA",
        "IVA 16%",
        "IVA (16%)",
        "IVA (16)",
        "IVA 16",
        "IVA16",
        "I.V.A. 16",
        "IVA al 16%",
        "Impuestos",
        "TotalImpuestosTrasladados",
    ],
)
def test_vat_is_read_with_its_rate_in_any_form(name: str) -> None:
    """The sum of a list is checked under each of them: here one unit more than rounding explains."""
    text = f"Tipo,Folio,Fecha,Subtotal,{name},Total\nIngreso,1,2026-10-03,10.00,1.60,11.62\n"
    ((line, column, _, reason),) = reasons_of(read_text(text, country="mx"))
    assert (line, column) == (2, "Total")
    assert reason == f"the parts add up to 11.60 (Subtotal 10.00, {name} 1.60) and the total is 11.62"


COUNTED = "N°;Tipo;Fecha;Cliente;Neto;IVA;Total\n1;33;2026-10-03;Uno;1000;190;1190\n2;33;2026-10-03;Dos;1000;190;1190\n"


@pytest.mark.parametrize(
    ("written", "series"), [("N/C 000007", "N/C"), ("INV/2026/00007", "INV/2026"), ("F-7", "F"), ("A/7", "A")]
)
def test_a_series_may_hold_strokes(written: str, series: str) -> None:
    """Odoo numbers notes and invoices so."""
    document = only_document(f"Tipo;Número;Fecha;Total\nFactura;{written};2026-10-03;11.60\n", country="mx")
    assert (document.series, document.folio) == (series, "7")


def test_a_column_that_counts_rows_is_no_folio() -> None:
    """N° is read as the folio where its numbers are folios; 1, 2, 3 … is refused unless a mapping says so."""
    ((line, column, _, reason),) = reasons_of(read_text(COUNTED))
    assert (line, column) == (1, "N°")
    assert reason.startswith("seems to number the rows of the list (1, 2, 3 …), so it is no folio")
    assert [document.folio for document in documents_of(read_text(COUNTED, folio="N°"))] == ["1", "2"]
    folios = COUNTED.replace("\n1;", "\n71;").replace("\n2;", "\n72;")
    assert [document.folio for document in documents_of(read_text(folios))] == ["71", "72"]


def test_columns_are_named_for_a_file_that_is_refused_too() -> None:
    """What was left out shows the column whose name is not known."""
    reading = read_text("Tipo;Nombre raro;Fecha;Cliente;Neto;IVA;Total\n33;7;2026-10-03;Uno;1000;190;1190\n")
    assert reading.rejects
    assert [column.name for column in reading.columns if not column.field] == ["Nombre raro"]


def test_a_missing_column_names_the_field_of_a_mapping() -> None:
    """The words say how a mapping names it, and where that is written down."""
    (reject,) = reasons_of(read_text("Tipo;Folio;Cuando;Cliente;Total\n33;7;2026-10-03;Uno;1190\n"))
    assert reject[1] == "issue_date"
    assert reject[3].endswith('rename yours, or name it in a mapping (issue_date = "your name", see docs/files.md)')


def test_the_mapping_of_the_documents_is_read_as_it_stands(installation: Installation, main: Connection) -> None:
    """docs/files.md names every field, and its example reads the list below it."""
    whole = (ROOT / "docs" / "files.md").read_text(encoding="utf-8")
    text = whole.partition("## Lists of invoices")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)) == set(SYNONYMS)
    mapping, rows = re.findall(r"^```(?:toml|csv)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    folder = installation.settings.data_dir
    (folder / "mappings").mkdir()
    (folder / "mappings" / "erp.toml").write_text(mapping, encoding="utf-8")
    (folder / "list.csv").write_text(rows, encoding="utf-8")
    outcome = import_invoices(installation, main, folder / "list.csv", mapping="erp")
    assert (outcome.kept, outcome.added, outcome.rejects) == (True, 2, ())
    assert [column.name for column in outcome.reading.columns if not column.field] == ["Caja"]


@pytest.mark.parametrize("state", ["Pagada", "Timbrada", "Vigente", "Emitida", "Por cobrar", "Publicado"])
def test_common_states_of_an_issued_document_are_read(state: str) -> None:
    """A document that was stamped, posted or paid is valid."""
    text = f"Tipo;Folio;Fecha;Total;Estatus\nIngreso;7;2026-10-03;11.60;{state}\n"
    assert only_document(text, country="mx").is_void is False


def test_a_remission_is_left_out_with_a_note() -> None:
    """It goes with goods, as a Chilean guía: the invoice that follows is the claim."""
    reading = read_text(
        "Tipo;Folio;Fecha;Total\nRemisión;7;2026-10-03;11.60\nFactura;8;2026-10-03;11.60\n", country="mx"
    )
    assert [document.folio for document in documents_of(reading)] == ["8"]
    assert [*map(str, reading.notes)] == ["rows of kind T, which are no receivables and were left out: 1"]


def test_kinds_are_named_with_their_words() -> None:
    """Letters alone say little to who reads a list."""
    (reject,) = reasons_of(read_text("Tipo;Folio;Fecha;Total\nCotización;7;2026-10-03;11.60\n", country="mx"))
    assert reject[3] == (
        "is not a kind of document known in Mexico (I ingreso, E egreso, P pago, T traslado, N nomina)"
    )


def test_the_terminal_says_what_was_read(call: Call, tmp_path: Path) -> None:
    """Sheets of invoices and of the bank, refused ones too; --json names every column with its field."""
    books, bank = tmp_path / "bsale.csv", tmp_path / "banco.csv"
    books.write_text(BSALE, encoding="utf-8")
    bank.write_text("Fecha;Detalle;Sucursal;Monto\n2026-10-03;Uno;Centro;1000\n", encoding="utf-8")
    shown = call("invoices", "import", books, "--dry-run").stderr
    assert "folio from 'N° Documento'" in shown
    assert "bsale.csv: left out 'Vendedor'" in shown
    (row,) = map(json.loads, call("bank", "import", bank, "--account", "000071402296", "--json").stdout.splitlines())
    assert row["columns"] == [
        {"name": "Fecha", "field": "booked_on"},
        {"name": "Detalle", "field": "text"},
        {"name": "Sucursal", "field": ""},
        {"name": "Monto", "field": "amount"},
    ]
    shown = call("bank", "import", bank, "--account", "000071402296", "--dry-run").stderr
    assert "banco.csv: read booked_on from 'Fecha', text from 'Detalle', amount from 'Monto'" in shown
    assert "banco.csv: left out 'Sucursal'" in shown


def test_a_mapping_may_say_one_text_for_all_rows() -> None:
    """What the list has no column for; a word that is none is refused where its rows are."""
    text = "Folio;Fecha;Total\n501;2026-10-02;1190\n"
    document = only_document(text, doc_type="=34", currency="=CLP")
    assert (document.doc_key, document.total) == ("cl:34::501", 1190)
    ((line, column, value, _),) = reasons_of(read_text(text, doc_type="=papel"))
    assert (line, column, value) == (2, "doc_type", "papel")
