"""The sales register of Chile as the tax authority gives it out: rows of several widths, further taxes, sums."""

import pytest

from reconcile.books.reading import Reading
from tests.reconcile.books.invoice_texts import documents_of, read_text, reasons_of

HEADER = (
    "Nro;Tipo Doc;Tipo Venta;Rut cliente;Razon Social;Folio;Fecha Docto;Fecha Recepcion;Fecha Acuse Recibo;"
    "Fecha Reclamo;Monto Exento;Monto Neto;Monto IVA;Monto total;IVA Retenido Total;IVA Retenido Parcial;"
    "IVA no retenido;IVA propio;IVA Terceros;RUT Emisor Liquid. Factura;Neto Comision Liquid. Factura;"
    "Exento Comision Liquid. Factura;IVA Comision Liquid. Factura;IVA fuera de plazo;Tipo Docto. Referencia;"
    "Folio Docto. Referencia;Num. Ident. Receptor Extranjero;Nacionalidad Receptor Extranjero;"
    "Credito empresa constructora;Impto. Zona Franca (Ley 18211);Garantia Dep. Envases;Indicador Venta sin Costo;"
    "Indicador Servicio Periodico;Monto No facturable;Total Monto Periodo;Venta Pasajes Transporte Nacional;"
    "Venta Pasajes Transporte Internacional;Numero Interno;Codigo Sucursal;NCE o NDE sobre Fact. de Compra;"
    "Codigo Otro Imp.;Valor Otro Imp.;Tasa Otro Imp."
)
BETWEEN = "0;0;0;0;0;-;0;0;0;0;{ref};;;0;;0;2;0;0;0;;;;12354;"


def _row(
    number: int, folio: int, *, net: int, vat: int, total: int, tax: str = ";;", kind: int = 33, ref: str = ";",
    more: str = "",
) -> str:  # fmt: skip
    dates = "01/10/2026;01/10/2026 10:09:00;08/10/2026 14:15:23;"
    head = f"{number};{kind};Del Giro;76192083-9;DOS SPA;{folio};{dates};0;{net};{vat};{total}"
    return f"{head};{BETWEEN.format(ref=ref)};{tax}{more}"


def _continuation(folio: int, tax: str, *, more: str = "") -> str:
    return f";33;Del Giro;76192083-9;DOS SPA;{folio};01/10/2026{';' * 34}{tax}{more}"


def _read(*rows: str) -> Reading:
    return read_text("\n".join([HEADER, *rows, ""]))


def test_rows_of_43_44_and_49_cells_stand_in_one_file() -> None:
    """A separator at the end, empty cells of further taxes, and none of both: the totals are those written here."""
    rows = [
        _row(1, 101, net=1000, vat=190, total=1190),
        _row(2, 102, net=2000, vat=380, total=2380, more=";"),
        _row(3, 103, net=3000, vat=570, total=3870, tax="27;300;10", more=";;;;;;"),
    ]
    assert [row.count(";") + 1 for row in rows] == [43, 44, 49]
    reading = _read(*rows)
    assert [(one.folio, one.total) for one in documents_of(reading)] == [("101", 1190), ("102", 2380), ("103", 3870)]
    (total,) = reading.totals
    assert (total.doc_type, total.count, total.net, total.vat, total.total) == ("33", 3, 6000, 1140, 7440)


def test_further_taxes_behind_the_last_column_are_part_of_the_total() -> None:
    """Each adds a code, a value and a rate; the total holds all of them."""
    row = _row(1, 101, net=1000, vat=190, total=1470, tax="27;100;10", more=";271;180;18;;;")
    assert row.count(";") + 1 == 49
    reading = _read(row)
    assert [one.total for one in documents_of(reading)] == [1470]
    assert reading.unequal == ()
    assert reasons_of(_read(row.replace(";271;180;", ";271;181000;")))[0][:3] == (2, "Monto total", "1470")


@pytest.mark.parametrize("more", ["", ";", ";;;;;;"])
def test_a_row_without_number_continues_the_document_above(more: str) -> None:
    """It repeats kind, customer and folio, bears one more tax, and is no document of its own."""
    rows = [
        _row(1, 101, net=1000, vat=190, total=1470, tax="27;100;10", more=more),
        _continuation(101, "271;180;18", more=more),
        _row(2, 102, net=10, vat=2, total=12),
    ]
    reading = _read(*rows)
    assert [(one.folio, one.total) for one in documents_of(reading)] == [("101", 1470), ("102", 12)]
    assert [*map(str, reading.notes)] == ["rows of a further tax, which the total of the document above them holds: 1"]


def test_a_continuation_of_another_document_is_refused() -> None:
    """Its tax would be lost, and the document it belongs to may be missing."""
    reading = _read(_row(1, 101, net=1000, vat=190, total=1190), _continuation(999, "271;180;18"))
    assert (3, "Monto total", "", "is empty") in reasons_of(reading)


@pytest.mark.parametrize("more", [";X", ";271;180", ";X;180;18", ";271;;18", ";;;;7"])
def test_other_cells_behind_the_last_column_are_refused(more: str) -> None:
    """A separator within a name moves every amount after it."""
    reading = _read(_row(1, 101, net=1000, vat=190, total=1190, more=more))
    assert [(line, column) for line, column, _, _ in reasons_of(reading)] == [(2, "")]


def test_a_row_that_is_too_short_is_refused() -> None:
    """A cut file lacks cells."""
    reading = _read(_row(1, 101, net=1000, vat=190, total=1190).removesuffix(";;"))
    assert reasons_of(reading)[0][0] == 2


def test_a_credit_note_is_positive_in_the_register_and_lowers_what_is_owed() -> None:
    """Its kind gives the direction, and the sums of a kind stay those of the authority's page."""
    reading = _read(
        _row(1, 101, net=1000, vat=190, total=1190),
        _row(2, 7, kind=61, net=100, vat=19, total=119, ref="33;101"),
    )
    invoice, note = documents_of(reading)
    assert [(one.doc_type, one.count, one.total) for one in reading.totals] == [("33", 1, 1190), ("61", 1, 119)]
    assert (invoice.is_note, note.is_note, note.ref_type, note.ref_number) == (False, True, "33", "101")


def test_receipts_with_their_own_folio_are_documents() -> None:
    """The separate file of receipts lists each with its folio and without a customer."""
    text = "Tipo Doc;Folio;Fecha Docto;Monto Neto;Monto IVA;Monto total\n39;501;01/10/2026;1000;190;1190\n"
    (receipt,) = documents_of(read_text(text))
    assert (receipt.doc_key, receipt.total, receipt.customer_tax_id) == ("cl:39::501", 1190, "")


MONTH = "Tipo Documento;Total Documentos;Monto Exento;Monto Neto;Monto IVA;Monto Total\nBoleta (39);8;0;100;19;119\n"
DAY = "Tipo Doc;Fecha;Folio Inicial;Folio Final;Monto Neto;Monto IVA;Monto Total\n39;01/10/2026;1;8;100;19;119\n"


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        (MONTH, "Total Documentos", "sums documents up by kind"),
        (DAY, "Folio Inicial", "sums documents up by day"),
    ],
)
def test_a_file_of_sums_is_told_from_a_list_of_documents(text: str, column: str, words: str) -> None:
    """A day's or a month's sum is no debt, and the sentence says what to bring instead."""
    ((line, name, _, reason),) = reasons_of(read_text(text))
    assert (line, name) == (1, column)
    assert words in reason
