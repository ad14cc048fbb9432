"""What names a document and its customer: kinds, folios, UUIDs, tax ids, states, and one document twice."""

import pytest

from tests.reconcile.books.invoice_texts import (
    CANONICAL,
    GOOD,
    documents_of,
    only_document,
    read_text,
    reasons_of,
    register_of,
)


def test_a_mexican_document_is_known_by_its_uuid() -> None:
    """UUID in any case is the identity; amounts are centavos."""
    row = (
        "I,A,00012,6F0C6A5E-0B1D-4C1E-9D52-0A6B8A8C9D10,2026-09-01,,xaxx010101000,Público,,,,1190.50,,Vigente,,,,PPD,99"
    )
    document = only_document(f"{CANONICAL}\n{row}\n", country="mx")
    assert document.doc_key == "mx:uuid:6f0c6a5e-0b1d-4c1e-9d52-0a6b8a8c9d10"
    assert (document.folio, document.total, document.currency) == ("12", 119050, "MXN")
    assert (document.customer_tax_id, document.is_void, document.payment_method) == ("XAXX010101000", False, "PPD")


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
    reading = read_text(register_of(GOOD.replace("76192083-9", written)))
    assert documents_of(reading)[0].customer_tax_id == canonical
    assert reading.documents[0][1].get("Rut cliente", "") == written


def test_a_wrong_tax_id_is_refused() -> None:
    """A check digit that does not fit is a typing error that would bind money to another."""
    assert reasons_of(read_text(register_of(GOOD.replace("76192083-9", "76.192.083-8")))) == [
        (2, "Rut cliente", "76.192.083-8", "has a wrong RUT check digit")
    ]


def test_a_check_digit_may_stand_in_its_own_column() -> None:
    """Body and DV in two columns are one RUT."""
    assert (
        only_document("Tipo DTE;Folio;Fecha;Total;RUT;DV\n33;1;01-09-2026;10;76.192.083;9\n").customer_tax_id
        == "76192083-9"
    )


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
    document = only_document(f"Tipo DTE;Folio;Serie;Fecha;Total\n33;{folio};{series};01-09-2026;10\n")
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
    """A document without a name cannot be matched or paid."""
    reading = read_text(f"Tipo DTE;Folio;Serie;Fecha;Total\n33;{folio};{series};01-09-2026;10\n")
    assert reasons_of(reading) == [(2, "Folio", folio, reason)]


def test_identical_rows_count_once() -> None:
    """The same document on two pages is one document, with a note; normalised cells decide."""
    reading = read_text(register_of(GOOD, GOOD.replace(";7;", ";007;")))
    assert len(documents_of(reading)) == 1
    assert reading.repeated == 1
    assert [*map(str, reading.notes)] == ["rows that repeat another one exactly and were counted once: 1"]


def test_one_document_with_two_amounts_is_used_not_at_all() -> None:
    """Neither row is believed; both lines are named."""
    reading = read_text(register_of(GOOD, GOOD.replace("1190", "1191")))
    reason = "lines 2, 3 state this document differently (total): neither is used"
    assert reasons_of(reading) == [(2, "", "cl:33::7", reason), (3, "", "cl:33::7", reason)]


@pytest.mark.parametrize(
    ("status", "total", "is_void"),
    [("Anulada", "0", True), ("CANCELADO", "1190", True), ("anulado", "", True), ("Vigente", "1190", False),
     ("aceptada", "1190", False), ("", "1190", None), ("", "0", True), ("Emitida", "0", False)],
)  # fmt: skip
def test_void_documents_are_kept_as_void(status: str, total: str, is_void: bool | None) -> None:  # noqa: FBT001 - an expected value
    """A state word decides; without one an amount of zero does."""
    assert only_document(f"Tipo DTE;Folio;Fecha;Total;Estado\n33;1;01-09-2026;{total};{status}\n").is_void is is_void


def test_a_yes_no_column_of_void_documents_is_understood() -> None:
    """Some exports say only whether a document was voided."""
    reading = read_text("Tipo DTE;Folio;Fecha;Total;Anulada\n33;1;01-09-2026;10;Sí\n33;2;01-09-2026;10;No\n")
    assert [document.is_void for document in documents_of(reading)] == [True, False]


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("Estado", "borrador", "is not a known state"),
        ("Moneda", "XYZ", "is not a known currency"),
        ("Tipo DTE", "99", "is not a kind of document known in Chile"),
    ],
)
def test_words_nobody_knows_are_refused(column: str, value: str, words: str) -> None:
    """No state, currency or kind is guessed."""
    cells = {"Tipo DTE": "33", "Folio": "1", "Fecha": "01-09-2026", "Total": "10", "Estado": "", "Moneda": ""}
    cells[column] = value
    reading = read_text(";".join(cells) + "\n" + ";".join(cells.values()))
    assert reasons_of(reading)[0][:3] == (2, column, value)
    assert reasons_of(reading)[0][3].startswith(words)


@pytest.mark.parametrize(
    "written", ["33", "033", "Factura Electrónica", "FACTURA ELECTRONICA", "33 - Factura electrónica",
                "Factura Electrónica (33)"],
)  # fmt: skip
def test_kinds_are_codes_or_names(written: str) -> None:
    """The register's codes, the usual names, or both in one cell."""
    assert only_document(f"Tipo DTE;Folio;Fecha;Total\n{written};1;01-09-2026;10\n").doc_type == "33"


def test_receipts_name_nobody() -> None:
    """A row without a customer is normal and has no customer."""
    assert only_document(register_of("39;;;9;13-09-2026;0;1000;190;1190")).customer_tax_id == ""


def test_kinds_nobody_pays_are_left_out_aloud() -> None:
    """Delivery notes and payment receipts are no receivables; the file still goes in."""
    reading = read_text(register_of(GOOD, "52;76192083-9;Uno;9;13-09-2026;0;0;0;0"))
    assert len(documents_of(reading)) == 1
    assert [*map(str, reading.notes)] == ["rows of kind 52, which are no receivables and were left out: 1"]
    mexican = "Efecto;Folio;Fecha;Total;Moneda\nP;1;2026-09-01;0;XXX\nI;2;2026-09-01;10.00;MXN\n"
    assert [document.doc_key for document in documents_of(read_text(mexican, country="mx"))] == ["mx:I::2"]


def test_a_note_refers_to_its_invoice_by_kind_and_folio() -> None:
    """The reference is made one with the document it names."""
    header = "Tipo DTE;Folio;Fecha;Total;Tipo Docto. Referencia;Folio Docto. Referencia"
    document = only_document(f"{header}\n61;1;01-09-2026;10;Factura Electrónica;00123\n")
    assert (document.ref_type, document.ref_number) == ("33", "123")
