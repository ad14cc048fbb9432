"""Lists as tax authorities and programs give them out: other people's documents, totals, further taxes, repeats."""

import pytest

from tests.reconcile.books.invoice_texts import (
    GOOD,
    REGISTER,
    documents_of,
    only_document,
    read_text,
    reasons_of,
    register_of,
)

UUID = "6f0c6a5e-0b1d-4c1e-9d52-0a6b8a8c9d1"
METADATA = (
    "Uuid~RfcEmisor~NombreEmisor~RfcReceptor~NombreReceptor~RfcPac~FechaEmision~FechaCertificacionSat~Monto"
    "~EfectoComprobante~Estatus~FechaCancelacion"
)


def _metadata(
    number: int, *, amount: str = "1160.00", kind: str = "I", state: str = "1", issuer: str = "AAA010101AAA"
) -> str:
    stamped = "2026-10-05 10:00:00~2026-10-05 10:00:05"
    return f'{UUID}{number}~{issuer}~UNO SA~BBB020202BB1~EL "9" SA~PPP030303PP3~{stamped}~{amount}~{kind}~{state}~'


def test_a_register_of_purchases_is_refused() -> None:
    """Its rows look like sales and are debts of the merchant."""
    text = (
        "Nro;Tipo Doc;Tipo Compra;RUT Proveedor;Razon Social;Folio;Fecha Docto;Monto Neto;Monto Total\n"
        "1;33;Del Giro;76192083-9;Uno SpA;100;04/10/2026;1000;1190\n"
    )
    reason = "the column says that these are purchases: import the register of sales"
    assert reasons_of(read_text(text)) == [(1, "Tipo Compra", "", reason)]


def test_documents_of_several_issuers_are_refused() -> None:
    """Own sales have one issuer; a list of documents received has many."""
    text = "\n".join([METADATA, _metadata(1), _metadata(2, issuer="CCC030303CC3"), ""])
    reason = "the column names 2 issuers: own sales have one, so import those issued alone"
    assert reasons_of(read_text(text, country="mx")) == [(1, "RfcEmisor", "", reason)]


def test_the_mexican_authoritys_list_is_read_as_it_comes() -> None:
    """Tildes part its cells, quotation marks are letters, 1 is in force and 0 canceled, and no currency is named."""
    rows = [
        _metadata(1),
        _metadata(2, amount="58", state="0"),
        _metadata(3, amount="116.5", kind="E"),
        _metadata(4, kind="P"),
    ]
    reading = read_text("\r\n".join([METADATA, *rows, ""]), country="mx")
    found = [(one.doc_type, one.total, one.is_void, one.customer_tax_id) for one in documents_of(reading)]
    assert found == [
        ("I", 116_000, False, "BBB020202BB1"),
        ("I", 5_800, True, "BBB020202BB1"),
        ("E", 11_650, False, "BBB020202BB1"),
    ]
    assert documents_of(reading)[0].customer_name == 'EL "9" SA'
    assert "every amount is taken as pesos" in str(reading.notes[0])


def test_a_state_as_a_number_is_refused_elsewhere() -> None:
    """Only the authority says what 1 means in its own list."""
    text = "Folio fiscal,Efecto,Fecha,Total,Estatus\n" + f"{UUID}1,I,2026-10-05,10.00,1\n"
    assert reasons_of(read_text(text, country="mx"))[0][:3] == (2, "Estatus", "1")


def test_the_columns_of_the_authoritys_page_are_known() -> None:
    """The state of the document decides, not that of its cancelation."""
    text = (
        "Folio Fiscal,RFC Emisor,RFC Receptor,Nombre o Razón Social del Receptor,Fecha de Emisión,Total,"
        "Efecto del Comprobante,Estatus de cancelación,Estado del Comprobante,Estatus de Proceso de Cancelación\n"
        f'{UUID}1,AAA010101AAA,BBB020202BB1,Dos SA,2026-10-05,"$1,160.00",Ingreso,Cancelable,Vigente,En proceso\n'
    )
    document = only_document(text, country="mx")
    assert (document.total, document.is_void, document.customer_name) == (116_000, False, "Dos SA")


def test_a_bare_amount_beside_its_parts_is_asked_about() -> None:
    """`Monto` beside a VAT column may be the net or the total."""
    text = "Tipo Doc;Folio;Fecha;Monto;IVA\n33;1;01-09-2026;1000;190\n"
    reason = "the column may be the net or the total: name it Monto total, or save a mapping that says total"
    assert reasons_of(read_text(text)) == [(1, "Monto", "", reason)]


def test_a_further_tax_in_a_row_of_its_own_belongs_to_the_document_above() -> None:
    """The Chilean register repeats kind, customer and folio for each further tax and leaves the rest empty."""
    rows = [
        "33;76192083-9;7;04/10/2026;1000;190;1395;27;100",
        "33;76192083-9;7;;;;;24;105",
        "33;76192083-9;8;05/10/2026;10;2;12;;",
    ]
    header = "Tipo Doc;Rut cliente;Folio;Fecha Docto;Monto Neto;Monto IVA;Monto total;Codigo Otro Imp.;Valor Otro Imp."
    reading = read_text("\n".join([header, *rows, ""]))
    assert [(one.folio, one.total) for one in documents_of(reading)] == [("7", 1395), ("8", 12)]
    assert [*map(str, reading.notes)] == ["rows of a further tax, which the total of the document above them holds: 1"]


def test_a_row_without_total_that_is_no_further_tax_is_refused() -> None:
    """A document whose amount was lost is not passed over."""
    header = "Tipo Doc;Rut cliente;Folio;Fecha Docto;Monto total;Codigo Otro Imp."
    rows = ["33;76192083-9;7;04/10/2026;1395;27", "33;76192083-9;8;05/10/2026;;24"]
    assert reasons_of(read_text("\n".join([header, *rows, ""]))) == [(3, "Monto total", "", "is empty")]


def test_receipts_summed_up_under_folio_0_are_left_out_aloud() -> None:
    """The month's total is no debt; an invoice of folio 0 is a mistake."""
    reading = read_text(register_of(GOOD, "39;;;0;30-09-2026;0;100000;19000;119000"))
    assert [one.folio for one in documents_of(reading)] == ["7"]
    assert [*map(str, reading.notes)] == ["rows of kind 39 with folio 0, which sum receipts up and were left out: 1"]
    refused = read_text(register_of(GOOD.replace(";7;", ";0;")))
    assert reasons_of(refused) == [(2, "Folio", "0", "is 0, which no document has")]


def test_a_header_on_every_page_is_left_out() -> None:
    """Printed lists repeat it."""
    reading = read_text(register_of(GOOD, REGISTER, GOOD.replace(";7;", ";8;")))
    assert [one.folio for one in documents_of(reading)] == ["7", "8"]


def test_a_list_without_documents_says_so() -> None:
    """A month without sales goes in, and a file that was cut off below its header is seen."""
    assert [*map(str, read_text(register_of()).notes)] == ["the file has a header and no documents under it"]


@pytest.mark.parametrize("name", ["FechaEmision", "Fecha_Emision", "fechaEmision"])
def test_names_written_as_one_word_are_known(name: str) -> None:
    """Programs join the words of their columns."""
    document = only_document(f"TipoDTE;Folio;{name};MontoTotal\n33;1;01-09-2026;10\n")
    assert (document.issue_date.isoformat(), document.total) == ("2026-09-01", 10)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("<p>Folio</p>", "the file is a web page under another name: "),
        ("<html><table><tr><td>Folio</td></tr></table></html>", "no row holds"),
        ("<?xml version='1.0'?><LibroCompraVenta/>", "the file is XML, not a table: "),
        ("<a><a><a/></a></a>", "the file is XML, not a table: "),
        ("%PDF-1.7\n", "the file is a PDF: "),
        ("\ufeff", "the file is empty"),
        (
            register_of(GOOD.replace("Peñón", '"Peñón" del')),
            "the quotation marks of the row that begins on line 2 do not",
        ),
    ],
)
def test_a_file_that_is_no_table_is_called_what_it_is(content: str, reason: str) -> None:
    """One sentence says what it is and what to do."""
    (reject,) = reasons_of(read_text(content))
    assert reject[3].startswith(reason)


@pytest.mark.parametrize("value", ["#N/A", "#N/D", "#¡REF!", "#DIV/0!", "########"])
def test_an_error_of_a_spreadsheet_is_no_value(value: str) -> None:
    """As an order reference it would be the same for every document whose lookup failed."""
    text = f"Tipo DTE;Folio;Fecha;Total;Pedido\n33;1;01-09-2026;10;{value}\n"
    reason = "is an error of the spreadsheet: mend the formula or empty the cell"
    assert reasons_of(read_text(text)) == [(2, "Pedido", value, reason)]


@pytest.mark.parametrize("folio", ["1.000", "12.000"])
def test_a_folio_with_a_thousand_is_not_cut(folio: str) -> None:
    """1.000 is the folio 1000 to one program and 1 to another."""
    assert reasons_of(read_text(register_of(GOOD.replace(";7;", f";{folio};")))) == [
        (2, "Folio", folio, "holds no folio number")
    ]


@pytest.mark.parametrize("value", ["nan", "None", "NULL", "N/A"])
def test_what_a_program_writes_for_nothing_is_no_key(value: str) -> None:
    """As an order reference it would name every document that has none."""
    text = f"Tipo DTE;Folio;Fecha;Total;Pedido\n33;1;01-09-2026;10;{value}\n"
    assert reasons_of(read_text(text)) == [(2, "Pedido", value, "is how a program writes nothing: empty the cell")]


def test_a_dash_of_an_accounting_format_is_nothing() -> None:
    """`$ -` is how it writes no amount."""
    assert only_document(register_of(GOOD.replace(";0;", ";$ -;"))).exempt is None


def test_the_mark_of_the_end_of_an_old_file_is_passed_over() -> None:
    """Programs of another age end their text with it."""
    assert only_document(register_of(GOOD) + "\x1a").total == 1190


def test_a_text_no_cell_can_hold_is_refused() -> None:
    """The longest that a spreadsheet's cell holds goes in; one more character keeps the file out."""
    text = "Tipo DTE;Folio;Fecha;Total;Cliente\n33;1;01-09-2026;10;{}\n"
    assert only_document(text.format("x" * 32_767)).customer_name == "x" * 32_767
    ((line, column, _, reason),) = reasons_of(read_text(text.format("x" * 32_768)))
    assert (line, column) == (2, "Cliente")
    assert reason == "has more than 32,767 characters, which no cell of a spreadsheet holds: shorten it"
