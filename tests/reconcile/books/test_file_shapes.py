"""Encodings, separators, title and total rows, columns and workbooks: the shapes invoice files come in."""

import codecs
import io
from datetime import date, datetime

import openpyxl
import pytest

from reconcile.books.documents import Document
from reconcile.books.reading import read_invoices
from tests.reconcile.books.invoice_texts import (
    CANONICAL,
    GOOD,
    documents_of,
    only_document,
    read_text,
    reasons_of,
    register_of,
)


def test_the_canonical_form_needs_no_mapping() -> None:
    """All nineteen columns under their own names are read as they stand."""
    row = "33,,7,,2026-09-01,2026-10-01,76192083-9,Uno SpA,1000,,190,1190,CLP,valid,PED-1,,,credit,03"
    assert only_document(f"{CANONICAL}\n{row}\n") == Document(
        doc_key="cl:33::7", doc_type="33", series="", folio="7", uuid="", issue_date=date(2026, 9, 1),
        due_date=date(2026, 10, 1), customer_tax_id="76192083-9", customer_name="Uno SpA", net=1000, exempt=None,
        vat=190, total=1190, currency="CLP", is_void=False, order_ref="PED-1", ref_type="", ref_number="",
        payment_method="credit", payment_form="03",
    )  # fmt: skip


def test_usual_names_are_found_by_synonym() -> None:
    """A Mexican ERP's headers with accents and capitals are understood without a mapping."""
    text = (
        "Folio fiscal,Serie,Folio,Fecha de emisión,RFC receptor,Razón social receptor,Subtotal,IVA,Total,Moneda,"
        "Estado SAT,Efecto,Método de pago,Forma de pago,UUID relacionado\n"
        "6f0c6a5e-0b1d-4c1e-9d52-0a6b8a8c9d10,A,1,01/09/2026,AAA010101AAA,Uno SA,100.00,16.00,116.00,MXN,Cancelado,"
        "Ingreso,PUE,03,\n"
    )
    document = only_document(text, country="mx")
    assert (document.doc_type, document.net, document.vat, document.total) == ("I", 10000, 1600, 11600)
    assert (document.is_void, document.payment_form, document.customer_name) == (True, "03", "Uno SA")


@pytest.mark.parametrize(
    ("content", "used"),
    [
        (register_of(GOOD).encode(), "utf-8"),
        (register_of(GOOD).encode("utf-8-sig"), "utf-8-sig"),
        (codecs.BOM_UTF16_LE + register_of(GOOD).encode("utf-16-le"), "utf-16"),
        (codecs.BOM_UTF16_BE + register_of(GOOD).encode("utf-16-be"), "utf-16"),
        (register_of(GOOD).encode("cp1252"), "cp1252"),
    ],
)
def test_encodings_are_found_and_shown(content: bytes, used: str) -> None:
    """Marks first, then strict UTF-8, then Windows text; the accents are right in each."""
    reading = read_invoices(content, country="cl", mapping={})
    assert (reading.encoding, documents_of(reading)[0].customer_name) == (used, "Peñón Ltda")


def test_text_encoded_twice_is_remarked() -> None:
    """The pairs that double encoding leaves are a note, since names do not identify anybody."""
    reading = read_text(register_of(GOOD.replace("Peñón", "PeÃ±Ã³n")))
    assert reading.rejects == ()
    assert [*map(str, reading.notes)] == ["the text looks encoded twice (Ã where accents should be)"]


@pytest.mark.parametrize("separator", [";", ",", "\t", "|"])
def test_the_separator_is_read_off_the_header(separator: str) -> None:
    """Any usual separator works."""
    reading = read_text(register_of(GOOD).replace(";", separator))
    assert (reading.separator, documents_of(reading)[0].total) == (separator, 1190)


def test_a_row_with_another_number_of_columns_is_refused() -> None:
    """A separator inside a name shifts every amount after it, so the row is named."""
    reading = read_text(register_of(GOOD, "33;76192083-9;Uno; Dos;8;13-09-2026;0;1000;190;1190"))
    assert reasons_of(reading) == [
        (3, "", "", "the row has 10 columns, the header 9: a separator is missing or too many")
    ]


@pytest.mark.parametrize(
    "row",
    ["33,,7,,2026-09-01,,76192083-9,Uno SpA,,1000,,190,1190,CLP,valid,PED-1,,,,", "33,,7,,2026-09-01,,,,,,,1190,,,,,,"],
)
def test_a_separator_too_many_is_refused_where_the_last_cells_are_empty(row: str) -> None:
    """One more or less moves amounts into other columns, and empty cells at the end do not make it good."""
    reading = read_text(f"{CANONICAL}\n{row}\n")
    assert [str(reject.reason) for reject in reading.rejects] == [
        f"the row has {row.count(',') + 1} columns, the header 19: a separator is missing or too many"
    ]


SECOND = "33;76192083-9;Otra Ltda;8;14-09-2026;0;2000;380;2380"


def test_a_separator_at_the_end_of_every_row_is_read() -> None:
    """The tax office's registers end their rows with one that their header lacks; no cell is moved by it."""
    reading = read_text(register_of(f"{GOOD};", f"{SECOND};", "Total;;;;;0;3000;570;3570"))
    assert [(document.folio, document.total) for document in documents_of(reading)] == [("7", 1190), ("8", 2380)]


def test_a_cell_beyond_the_header_is_refused_by_line() -> None:
    """Every row has one cell more, and on one of them something stands in it: that row is named."""
    reading = read_text(register_of(f"{GOOD};", f"{SECOND};9"))
    assert reasons_of(reading) == [
        (3, "", "", "the row has 10 columns, the header 9: a separator is missing or too many")
    ]


@pytest.mark.parametrize("end", [";;", ""])
def test_rows_that_end_unlike_each_other_are_refused(end: str) -> None:
    """Where only some rows have a cell more, it may stand anywhere in them."""
    reading = read_text(register_of(f"{GOOD};", f"{SECOND}{end}"))
    assert [line for line, *_ in reasons_of(reading)] == ([2] if not end else [2, 3])


def test_empty_lines_by_the_million_are_passed_over_or_refused() -> None:
    """Between rows they mean nothing; a file of nothing else is refused before it fills the memory."""
    reading = read_text(register_of(GOOD).replace("\n", "\n" * 50_000, 1))
    assert (reading.rejects, documents_of(reading)[0].total) == ((), 1190)
    assert str(read_text("a\n" + "\n" * 5_000_001).rejects[0].reason) == (
        "the file has more than 5,000,000 lines: remove the empty ones or split it"
    )


@pytest.mark.parametrize("twin", ["Total", "TOTAL", "total "])
def test_two_columns_of_one_name_are_refused(twin: str) -> None:
    """It is not said which of the two is meant, so neither is taken silently."""
    reading = read_text(f"Tipo DTE;Folio;Fecha;Total;{twin}\n33;1;01-09-2026;10;20\n")
    reason = "columns 4, 5 bear this name, and which one is meant is not said: rename or delete the other"
    assert [reject[3] for reject in reasons_of(reading)] == [reason]


def test_two_columns_nobody_reads_may_share_a_name() -> None:
    """Only columns that mean something must be distinguished."""
    assert only_document("Tipo DTE;Folio;Fecha;Total;Obs;Obs\n33;1;01-09-2026;10;a;b\n").total == 10


def test_a_cell_without_end_names_its_line() -> None:
    """A quotation mark left open swallows the rest of the file: the message says where it began."""
    reading = read_text(register_of(GOOD, '33;76192083-9;"Uno;8;' + "x" * 140_000))
    assert [reject[3] for reject in reasons_of(reading)] == [
        "a cell of the row that begins on line 3 has more than 131,072 characters: is a quotation mark left open?"
    ]


def test_a_workbook_with_two_lists_is_refused() -> None:
    """Taking one sheet of two would leave half the books out without a word."""
    book = openpyxl.Workbook()
    for title in ("Septiembre", "Octubre"):
        sheet = book.create_sheet(title)
        sheet.append(["Tipo Doc", "Folio", "Fecha Docto", "Monto total"])
        sheet.append([33, 7, "2026-09-13", 1190])
    kept = io.BytesIO()
    book.save(kept)
    reading = read_invoices(kept.getvalue(), country="cl", mapping={})
    assert [reject[3] for reject in reasons_of(reading)] == [
        "the workbook lists documents on 2 sheets (XLSX, sheet Septiembre; XLSX, sheet Octubre): save each alone"
    ]


def test_title_rows_above_and_total_rows_below_are_set_aside() -> None:
    """The header is the first row with four known names; the total row agrees and is dropped."""
    text = register_of(GOOD, GOOD.replace(";7;", ";8;"), "Total;;;;;0;2000;380;2.380")
    reading = read_text("Libro de ventas\nSeptiembre 2026;;\n\n" + text)
    assert [document.folio for document in documents_of(reading)] == ["7", "8"]


def test_a_total_row_that_disagrees_refuses_the_file() -> None:
    """A file that was cut off or edited is not taken."""
    reading = read_text(register_of(GOOD, "Total general;;;;;;1000;190;1191"))
    assert reasons_of(reading) == [
        (3, "Monto total", "1191", "the total row does not agree: the rows above add up to 1190")
    ]


def test_quoted_cells_may_hold_separators_and_lines() -> None:
    """Quotation marks protect, and line numbers stay those of the file."""
    reading = read_text(register_of(GOOD.replace("Peñón Ltda", '"Uno; y\nDos"'), GOOD.replace("1190", "x")))
    assert [reject.line for reject in reading.rejects] == [4]


def test_a_saved_mapping_wins_over_synonyms() -> None:
    """The merchant's own names of columns are used where a mapping says so."""
    text = "Tipo DTE;Folio;Fecha;Total;A cobrar\n33;1;01-09-2026;10;20\n"
    assert only_document(text, total="A cobrar").total == 20


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "the file is empty"),
        (b"   \n", "the file is empty"),
        (b"a;b;c\n1;2;3\n", "no row holds four known column names; a header names at least the kind of document"),
        (b"Folio;Fecha;Neto;IVA\n1;01-09-2026;1;1\n", "the file has no such column"),
        (b"Tipo DTE;Fecha;Total;IVA\n33;01-09-2026;1;1\n", "the file has neither a folio nor a UUID column"),
        (b"PK\x03\x04 not a workbook", "the file is not a workbook"),
        (b"\x00\x01\x02\x03" * 9, "the file is not text"),
        (b"\x81\x8d\x8f\x90", "the file is neither UTF-8, UTF-16 nor Windows text"),
    ],
)
def test_what_is_no_table_of_invoices_is_refused(content: bytes, words: str) -> None:
    """A wrong file is named as such, in one sentence."""
    reading = read_invoices(content, country="cl", mapping={})
    assert reading.documents == ()
    assert str(reading.rejects[0].reason).startswith(words)


def test_names_that_could_run_as_formulas_stay_text() -> None:
    """What begins like a formula is kept as it stands; exports defuse it."""
    assert only_document(register_of(GOOD.replace("Peñón Ltda", "=1+1"))).customer_name == "=1+1"


def test_a_workbook_is_read_by_its_cells() -> None:
    """Numbers, dates and text of XLSX need no convention, and blanks stay blank."""
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["Libro de ventas"])
    sheet.append(["Tipo Doc", "Rut cliente", "Folio", "Fecha Docto", "Monto Neto", "Monto IVA", "Monto total"])
    sheet.append([33, "76.192.083-9", 7, datetime(2026, 9, 13), 1000.0, 190, 1190])  # noqa: DTZ001 - as Excel keeps it
    sheet.append([61, None, "F-8", datetime(2026, 9, 14), None, None, -50])  # noqa: DTZ001 - as Excel keeps it
    sheet.append(["Total", None, None, None, 1000, 190, 1140])
    kept = io.BytesIO()
    book.save(kept)
    reading = read_invoices(kept.getvalue(), country="cl", mapping={})
    documents = documents_of(reading)
    assert [document.doc_key for document in documents] == ["cl:33::7", "cl:61:F:8"]
    assert [(document.net, document.total) for document in documents] == [(1000, 1190), (None, 50)]
    assert documents[0].issue_date == date(2026, 9, 13)
    assert reading.encoding == "XLSX, sheet Sheet"


def test_a_workbooks_rows_may_end_early() -> None:
    """Spreadsheets do not store the empty cells at a row's end; the canonical form goes in without them."""
    canonical = [
        "doc_type",
        "series",
        "folio",
        "uuid",
        "issue_date",
        "due_date",
        "customer_tax_id",
        "customer_name",
        "net",
        "exempt",
        "vat",
        "total",
        "currency",
        "status",
        "order_ref",
        "ref_type",
        "ref_number",
        "payment_method",
        "payment_form",
    ]
    row = ["33", "", "7", "", "2026-09-13", "", "76192083-9", "Ana SpA", "1000", "", "190", "1190", "CLP", "valid"]
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(canonical)
    sheet.append([cell or None for cell in row])
    kept = io.BytesIO()
    book.save(kept)

    reading = read_invoices(kept.getvalue(), country="cl", mapping={})

    assert reading.rejects == ()
    assert [(document.doc_key, document.total) for document in documents_of(reading)] == [("cl:33::7", 1190)]


@pytest.mark.parametrize(("kind", "number"), [("0", "0"), ("", "0"), ("", ""), ("000", "")])
def test_a_reference_of_zeros_is_none(kind: str, number: str) -> None:
    """As the tax office's register writes it, so that a register read as a list changes no reference."""
    head = "Tipo Doc;Folio;Fecha Docto;Monto total;Tipo Docto. Referencia;Folio Docto. Referencia"
    document = only_document(f"{head}\n33;7;13-09-2026;1190;{kind};{number}\n")
    assert (document.ref_type, document.ref_number) == ("", "")
