"""The dirt of real invoice files: every row of the table has its value or its reject."""

import codecs
import io
from datetime import date, datetime

import openpyxl
import pytest

from reconcile.books.documents import Document
from reconcile.books.reading import Reading, read_invoices

CANONICAL = (
    "doc_type,series,folio,uuid,issue_date,due_date,customer_tax_id,customer_name,net,exempt,vat,total,currency,"
    "status,order_ref,ref_type,ref_number,payment_method,payment_form"
)
REGISTER = "Tipo Doc;Rut cliente;Razon Social;Folio;Fecha Docto;Monto Exento;Monto Neto;Monto IVA;Monto total"
GOOD = "33;76192083-9;Peñón Ltda;7;13-09-2026;0;1000;190;1190"


def _read(text: str, *, country: str = "cl", encoding: str = "utf-8", **mapping: str) -> Reading:
    return read_invoices(text.encode(encoding), country=country, mapping=mapping)


def _documents(reading: Reading) -> list[Document]:
    assert reading.rejects == ()
    return [document for document, _ in reading.documents]


def _one(text: str, **settings: str) -> Document:
    return _documents(_read(text, **settings))[0]


def _reasons(reading: Reading) -> list[tuple[int, str, str, str]]:
    assert reading.rejects
    return [(reject.line, reject.column, reject.value, reject.reason) for reject in reading.rejects]


def _register(*rows: str) -> str:
    return "\n".join([REGISTER, *rows, ""])


def _amounts(*totals: str, header: str = "Tipo DTE;Folio;Fecha;Total") -> str:
    return "\n".join([header, *(f"33;{n};01-09-2026;{total}" for n, total in enumerate(totals, start=1))])


def test_the_canonical_form_needs_no_mapping() -> None:
    """All nineteen columns under their own names are read as they stand."""
    row = "33,,7,,2026-09-01,2026-10-01,76192083-9,Uno SpA,1000,,190,1190,CLP,valid,PED-1,,,credit,03"
    assert _one(f"{CANONICAL}\n{row}\n") == Document(
        doc_key="cl:33::7", doc_type="33", series="", folio="7", uuid="", issue_date=date(2026, 9, 1),
        due_date=date(2026, 10, 1), customer_tax_id="76192083-9", customer_name="Uno SpA", net=1000, exempt=None,
        vat=190, total=1190, currency="CLP", is_void=False, order_ref="PED-1", ref_type="", ref_number="",
        payment_method="credit", payment_form="03",
    )  # fmt: skip


def test_a_mexican_document_is_known_by_its_uuid() -> None:
    """UUID in any case is the identity; amounts are centavos."""
    row = (
        "I,A,00012,6F0C6A5E-0B1D-4C1E-9D52-0A6B8A8C9D10,2026-09-01,,xaxx010101000,Público,,,,1190.50,,Vigente,,,,PPD,99"
    )
    document = _one(f"{CANONICAL}\n{row}\n", country="mx")
    assert document.doc_key == "mx:uuid:6f0c6a5e-0b1d-4c1e-9d52-0a6b8a8c9d10"
    assert (document.folio, document.total, document.currency) == ("12", 119050, "MXN")
    assert (document.customer_tax_id, document.is_void, document.payment_method) == ("XAXX010101000", False, "PPD")


def test_usual_names_are_found_by_synonym() -> None:
    """A Mexican ERP's headers with accents and capitals are understood without a mapping."""
    text = (
        "Folio fiscal,Serie,Folio,Fecha de emisión,RFC receptor,Razón social receptor,Subtotal,IVA,Total,Moneda,"
        "Estado SAT,Efecto,Método de pago,Forma de pago,UUID relacionado\n"
        "6f0c6a5e-0b1d-4c1e-9d52-0a6b8a8c9d10,A,1,01/09/2026,AAA010101AAA,Uno SA,100.00,16.00,116.00,MXN,Cancelado,"
        "Ingreso,PUE,03,\n"
    )
    document = _one(text, country="mx")
    assert (document.doc_type, document.net, document.vat, document.total) == ("I", 10000, 1600, 11600)
    assert (document.is_void, document.payment_form, document.customer_name) == (True, "03", "Uno SA")


@pytest.mark.parametrize(
    ("content", "used"),
    [
        (_register(GOOD).encode(), "utf-8"),
        (_register(GOOD).encode("utf-8-sig"), "utf-8-sig"),
        (codecs.BOM_UTF16_LE + _register(GOOD).encode("utf-16-le"), "utf-16"),
        (codecs.BOM_UTF16_BE + _register(GOOD).encode("utf-16-be"), "utf-16"),
        (_register(GOOD).encode("cp1252"), "cp1252"),
    ],
)
def test_encodings_are_found_and_shown(content: bytes, used: str) -> None:
    """Marks first, then strict UTF-8, then Windows text; the accents are right in each."""
    reading = read_invoices(content, country="cl", mapping={})
    assert (reading.encoding, _documents(reading)[0].customer_name) == (used, "Peñón Ltda")


def test_text_encoded_twice_is_remarked() -> None:
    """The pairs that double encoding leaves are a note, since names do not identify anybody."""
    reading = _read(_register(GOOD.replace("Peñón", "PeÃ±Ã³n")))
    assert reading.rejects == ()
    assert reading.notes == ("the text looks encoded twice (Ã where accents should be)",)


@pytest.mark.parametrize("separator", [";", ",", "\t", "|"])
def test_the_separator_is_read_off_the_header(separator: str) -> None:
    """Any usual separator works."""
    reading = _read(_register(GOOD).replace(";", separator))
    assert (reading.separator, _documents(reading)[0].total) == (separator, 1190)


def test_a_row_with_another_number_of_columns_is_refused() -> None:
    """A separator inside a name shifts every amount after it, so the row is named."""
    reading = _read(_register(GOOD, "33;76192083-9;Uno; Dos;8;13-09-2026;0;1000;190;1190"))
    assert _reasons(reading) == [
        (3, "", "", "the row has 10 columns, the header 9: a separator is missing or too many")
    ]


def test_title_rows_above_and_total_rows_below_are_set_aside() -> None:
    """The header is the first row with four known names; the total row agrees and is dropped."""
    text = _register(GOOD, GOOD.replace(";7;", ";8;"), "Total;;;;;0;2000;380;2.380")
    reading = _read("Libro de ventas\nSeptiembre 2026;;\n\n" + text)
    assert [document.folio for document in _documents(reading)] == ["7", "8"]


def test_a_total_row_that_disagrees_refuses_the_file() -> None:
    """A file that was cut off or edited is not taken."""
    reading = _read(_register(GOOD, "Total general;;;;;;1000;190;1191"))
    assert _reasons(reading) == [
        (3, "Monto total", "1191", "the total row does not agree: the rows above add up to 1190")
    ]


@pytest.mark.parametrize(
    ("written", "amounts"),
    [
        (("1.234",), [1234]),
        (("1.234.567", "$ 5.000", "CLP 12"), [1234567, 5000, 12]),
        (("1,234", "5,000"), [1234, 5000]),
        (("1 234", "1\u00a0234\u00a0567", "1\u202f234"), [1234, 1234567, 1234]),
        (("1234,0", "1234,00"), [1234, 1234]),
        (("1234.00",), [1234]),
        (("1.234,00",), [1234]),
        (("1234.000",), [1234]),
    ],
)
def test_chilean_amounts_read_under_one_convention(written: tuple[str, ...], amounts: list[int]) -> None:
    """Thousands, spaces, signs of money and zero fractions; what `1.234` means is decided by the file."""
    assert [document.total for document in _documents(_read(_amounts(*written)))] == amounts


@pytest.mark.parametrize(
    ("written", "amounts"),
    [
        (("1,234.50", "10"), [123450, 1000]),
        (("1.234,50", "10"), [123450, 1000]),
        (("1.000", "2.50"), [100, 250]),
        (("1,000", "2,000"), [100000, 200000]),
    ],
)
def test_mexican_amounts_read_under_one_convention(written: tuple[str, ...], amounts: list[int]) -> None:
    """Decimals of one cell say what the mark of every other cell means."""
    text = _amounts(*written, header="Efecto;Folio;Fecha;Total").replace("\n33;", "\nI;")
    assert [document.total for document in _documents(_read(text, country="mx"))] == amounts


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("1234,5", "has more decimals than CLP has"),
        ("12.34.56", "is not an amount written with a decimal comma"),
        ("1190 pesos", "is not an amount written with a decimal comma"),
        ("uno", "is not an amount written with a decimal comma"),
        ("", "is empty"),
    ],
)
def test_what_is_no_amount_is_refused(written: str, reason: str) -> None:
    """Nothing unreadable becomes zero."""
    lines = _reasons(_read(_amounts(written, "1.234.567")))
    assert lines[0][0:2] == (2, "Total")
    assert lines[0][3] in {reason, reason.replace("comma", "point")}


def test_marks_that_contradict_each_other_refuse_the_file() -> None:
    """Two cells that read both ways, each its own way, cannot both be thousands."""
    assert _reasons(_read(_amounts("1.000", "1,000"))) == [
        (1, "", "", "an amount uses . and , before three digits: write the file with one of them")
    ]


def test_units_of_account_with_three_digits_are_ambiguous() -> None:
    """A UF has four decimals, so 1.234 may be either, and the file is refused."""
    text = "Tipo DTE;Folio;Fecha;Total;Moneda\n33;1;01-09-2026;1.234;UF\n"
    assert _reasons(_read(text))[0][3].startswith("an amount could be thousands or decimals of CLF")


@pytest.mark.parametrize(
    "written", ["2026-09-13", "13-09-2026", "13/09/2026", "13.09.2026", "2026/09/13", "20260913", "46278",
                "13/09/2026 10:05:00", "2026-09-13T10:05:00", "13-9-2026"],
)  # fmt: skip
def test_dates_are_read_day_first(written: str) -> None:
    """ISO, the usual local forms, stamps and Excel's serial numbers."""
    assert _one(f"Tipo DTE;Folio;Fecha;Total\n33;1;{written};10").issue_date == date(2026, 9, 13)


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("09/13/2026", "is no day of the calendar (written dd/mm/yyyy)"),
        ("13/09/26", "has a year of two digits: write four"),
        ("2026-09-13", "is not a date written dd/mm/yyyy as the rest of the file"),
        ("30/02/2026", "is no day of the calendar (written dd/mm/yyyy)"),
        ("", "is empty"),
    ],
)
def test_a_date_unlike_the_rest_of_its_file_is_refused(written: str, reason: str) -> None:
    """One way of writing dates holds for the whole file."""
    rows = "\n".join(f"33;{folio};0{folio}/09/2026;10" for folio in (2, 3, 4))
    reading = _read(f"Tipo DTE;Folio;Fecha;Total\n33;1;{written};10\n{rows}\n")
    assert _reasons(reading) == [(2, "Fecha", written, reason)]


@pytest.mark.parametrize(
    ("terms", "due"),
    [
        ("30 días", date(2026, 10, 1)),
        ("Contado", date(2026, 9, 1)),
        ("Crédito 45 dias", date(2026, 10, 16)),
        ("", None),
    ],
)
def test_due_dates_may_be_written_as_terms(terms: str, due: date | None) -> None:
    """Days after issue, or at once."""
    text = f"Efecto;Folio;Fecha;Total;Condiciones\nI;1;2026-09-01;10.00;{terms}\n"
    assert _one(text, country="mx").due_date == due


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("76.192.083-9", "76192083-9"),
        ("761920839", "76192083-9"),
        ("0076192083-9", "76192083-9"),
        ("76 192 083–9", "76192083-9"),
        ("12.345.670-k", "12345670-K"),
        ("1-9", "1-9"),
        ("", ""),
    ],
)
def test_tax_ids_are_made_one(written: str, canonical: str) -> None:
    """Dots, zeros, lower k and missing hyphens fall away; the row as it stood is kept."""
    reading = _read(_register(GOOD.replace("76192083-9", written)))
    assert _documents(reading)[0].customer_tax_id == canonical
    assert reading.documents[0][1].get("Rut cliente", "") == written


def test_a_wrong_tax_id_is_refused() -> None:
    """A check digit that does not fit is a typing error that would bind money to somebody else."""
    assert _reasons(_read(_register(GOOD.replace("76192083-9", "76.192.083-8")))) == [
        (2, "Rut cliente", "76.192.083-8", "has a wrong RUT check digit")
    ]


def test_a_check_digit_may_stand_in_its_own_column() -> None:
    """Body and DV in two columns are one RUT."""
    assert _one("Tipo DTE;Folio;Fecha;Total;RUT;DV\n33;1;01-09-2026;10;76.192.083;9\n").customer_tax_id == "76192083-9"


@pytest.mark.parametrize(
    ("folio", "series", "read"),
    [
        ("000123", "", ("", "123")),
        ("F-123", "", ("F", "123")),
        ("F123", "", ("F", "123")),
        ("f001-00123", "", ("F001", "123")),
        ("123.0", "", ("", "123")),
        ("A-7", "A", ("A", "7")),
        ("7", "b", ("B", "7")),
    ],
)
def test_folios_are_digits_and_their_prefix_a_series(folio: str, series: str, read: tuple[str, str]) -> None:
    """Zeros in front fall away, letters in front are the series."""
    document = _one(f"Tipo DTE;Folio;Serie;Fecha;Total\n33;{folio};{series};01-09-2026;10\n")
    assert (document.series, document.folio) == read
    assert document.doc_key == f"cl:33:{read[0]}:{read[1]}"


@pytest.mark.parametrize(
    ("folio", "series", "reason"),
    [
        ("", "", "the row has no folio and no UUID"),
        ("abc", "", "holds no folio number"),
        ("A-7", "B", "begins with A, but its series is B"),
    ],
)
def test_a_row_without_identity_is_refused(folio: str, series: str, reason: str) -> None:
    """A document nobody can name cannot be matched or paid."""
    reading = _read(f"Tipo DTE;Folio;Serie;Fecha;Total\n33;{folio};{series};01-09-2026;10\n")
    assert _reasons(reading) == [(2, "Folio", folio, reason)]


def test_identical_rows_count_once() -> None:
    """The same document on two pages is one document, with a note; normalised cells decide."""
    reading = _read(_register(GOOD, GOOD.replace(";7;", ";007;")))
    assert len(_documents(reading)) == 1
    assert reading.repeated == 1
    assert reading.notes == ("1 rows repeat another row exactly and were counted once",)


def test_one_document_with_two_amounts_is_used_not_at_all() -> None:
    """Neither row is believed; both lines are named."""
    reading = _read(_register(GOOD, GOOD.replace("1190", "1191")))
    reason = "lines 2, 3 state this document differently (total): neither is used"
    assert _reasons(reading) == [(2, "", "cl:33::7", reason), (3, "", "cl:33::7", reason)]


@pytest.mark.parametrize("totals", [("-1.190", "-50"), ("1.190", "50"), ("(1.190)", "50-"), ("−1.190", "-50")])
def test_credit_notes_have_the_sign_of_their_kind(totals: tuple[str, str]) -> None:
    """A file may write all notes negative or all positive; the amount kept is positive."""
    rows = [f"61;{folio};01-09-2026;{total}" for folio, total in enumerate(totals, start=1)]
    reading = _read("\n".join(["Tipo DTE;Folio;Fecha;Total", "33;9;01-09-2026;2000", *rows]))
    assert [document.total for document in _documents(reading)] == [2000, 1190, 50]


def test_notes_of_both_signs_in_one_file_stop_the_import() -> None:
    """Somebody must say which sign is meant."""
    reading = _read("Tipo DTE;Folio;Fecha;Total\n61;1;01-09-2026;-10\n61;2;01-09-2026;10\n")
    assert [reason[:3] for reason in _reasons(reading)] == [(2, "Total", "-10")]


def test_an_invoice_below_zero_is_refused() -> None:
    """Only notes lower what is owed."""
    reading = _read("Tipo DTE;Folio;Fecha;Total\n33;1;01-09-2026;-10\n")
    assert _reasons(reading)[0][:3] == (2, "Total", "-10")


@pytest.mark.parametrize(
    ("status", "total", "is_void"),
    [("Anulada", "0", True), ("CANCELADO", "1190", True), ("anulado", "", True), ("Vigente", "1190", False),
     ("aceptada", "1190", False), ("", "1190", None), ("", "0", True), ("Emitida", "0", False)],
)  # fmt: skip
def test_void_documents_are_kept_as_void(status: str, total: str, is_void: bool | None) -> None:  # noqa: FBT001 - an expected value
    """A state word decides; without one an amount of zero does."""
    assert _one(f"Tipo DTE;Folio;Fecha;Total;Estado\n33;1;01-09-2026;{total};{status}\n").is_void is is_void


def test_a_yes_no_column_of_void_documents_is_understood() -> None:
    """Some exports say only whether a document was voided."""
    reading = _read("Tipo DTE;Folio;Fecha;Total;Anulada\n33;1;01-09-2026;10;Sí\n33;2;01-09-2026;10;No\n")
    assert [document.is_void for document in _documents(reading)] == [True, False]


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("Estado", "pagada", "is not a known state"),
        ("Moneda", "XYZ", "is not a known currency"),
        ("Tipo DTE", "99", "is not a kind of document known in Chile"),
    ],
)
def test_words_nobody_knows_are_refused(column: str, value: str, words: str) -> None:
    """No state, currency or kind is guessed."""
    cells = {"Tipo DTE": "33", "Folio": "1", "Fecha": "01-09-2026", "Total": "10", "Estado": "", "Moneda": ""}
    cells[column] = value
    reading = _read(";".join(cells) + "\n" + ";".join(cells.values()))
    assert _reasons(reading)[0][:3] == (2, column, value)
    assert _reasons(reading)[0][3].startswith(words)


@pytest.mark.parametrize(
    "written", ["33", "033", "Factura Electrónica", "FACTURA ELECTRONICA", "33 - Factura electrónica",
                "Factura Electrónica (33)"],
)  # fmt: skip
def test_kinds_are_codes_or_names(written: str) -> None:
    """The register's codes, the usual names, or both in one cell."""
    assert _one(f"Tipo DTE;Folio;Fecha;Total\n{written};1;01-09-2026;10\n").doc_type == "33"


def test_receipts_name_nobody() -> None:
    """A row without a customer is normal and has no customer."""
    assert _one(_register("39;;;9;13-09-2026;0;1000;190;1190")).customer_tax_id == ""


def test_currencies_are_never_added_up() -> None:
    """Control totals stand per kind and currency, and a total row over two currencies proves nothing."""
    text = "Tipo DTE;Folio;Fecha;Total;Moneda\n33;1;01-09-2026;10;CLP\n33;2;01-09-2026;10,5;USD\nTotal;;;999;\n"
    reading = _read(text)
    assert [(total.currency, total.count, total.total) for total in reading.totals] == [
        ("CLP", 1, 10),
        ("USD", 1, 1050),
    ]


def test_kinds_nobody_pays_are_left_out_aloud() -> None:
    """Delivery notes and payment receipts are no receivables; the file still goes in."""
    reading = _read(_register(GOOD, "52;76192083-9;Uno;9;13-09-2026;0;0;0;0"))
    assert len(_documents(reading)) == 1
    assert reading.notes == ("1 rows of kind 52 are not receivables and were left out",)
    mexican = "Efecto;Folio;Fecha;Total;Moneda\nP;1;2026-09-01;0;XXX\nI;2;2026-09-01;10.00;MXN\n"
    assert [document.doc_key for document in _documents(_read(mexican, country="mx"))] == ["mx:I::2"]


def test_names_that_could_run_as_formulas_stay_text() -> None:
    """What begins like a formula is kept as it stands; exports defuse it."""
    assert _one(_register(GOOD.replace("Peñón Ltda", "=1+1"))).customer_name == "=1+1"


def test_quoted_cells_may_hold_separators_and_lines() -> None:
    """Quotation marks protect, and line numbers stay those of the file."""
    reading = _read(_register(GOOD.replace("Peñón Ltda", '"Uno; y\nDos"'), GOOD.replace("1190", "x")))
    assert [reject.line for reject in reading.rejects] == [4]


def test_a_note_refers_to_its_invoice_by_kind_and_folio() -> None:
    """The reference is made one with the document it names."""
    header = "Tipo DTE;Folio;Fecha;Total;Tipo Docto. Referencia;Folio Docto. Referencia"
    document = _one(f"{header}\n61;1;01-09-2026;10;Factura Electrónica;00123\n")
    assert (document.ref_type, document.ref_number) == ("33", "123")


def test_a_saved_mapping_wins_over_synonyms() -> None:
    """The merchant's own names of columns are used where a mapping says so."""
    text = "Tipo DTE;Folio;Fecha;Total;A cobrar\n33;1;01-09-2026;10;20\n"
    assert _one(text, total="A cobrar").total == 20


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "the file is empty"),
        (b"   \n", "the file is empty"),
        (b"a;b;c\n1;2;3\n", "no row holds four known column names"),
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
    assert reading.rejects[0].reason.startswith(words)


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
    documents = _documents(reading)
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
    assert [(document.doc_key, document.total) for document in _documents(reading)] == [("cl:33::7", 1190)]
