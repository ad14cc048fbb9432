"""Which columns of a file were read as what, and which were left out: lists as programs export them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.reconcile.books.invoice_texts import documents_of, read_text, reasons_of

Call = Callable[..., Any]

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
    "name", ["IVA", "IVA 16%", "IVA (16%)", "IVA (16)", "IVA 16", "IVA16", "I.V.A. 16", "IVA al 16%", "Impuestos"]
)
def test_vat_is_read_with_its_rate_in_any_form(name: str) -> None:
    """The sum of a list is checked under each of them: here one unit more than rounding explains."""
    text = f"Tipo,Folio,Fecha,Subtotal,{name},Total\nIngreso,1,2026-10-03,10.00,1.60,11.62\n"
    ((line, column, _, reason),) = reasons_of(read_text(text, country="mx"))
    assert (line, column) == (2, "Total")
    assert reason == f"the parts add up to 11.60 (Subtotal 10.00, {name} 1.60) and the total is 11.62"


COUNTED = "N°;Tipo;Fecha;Cliente;Neto;IVA;Total\n1;33;2026-10-03;Uno;1000;190;1190\n2;33;2026-10-03;Dos;1000;190;1190\n"


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
