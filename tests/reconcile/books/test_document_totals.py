"""The total of a document: what a cancelled one keeps, what an empty cell means, and the largest that can be held."""

import pytest

from tests.reconcile.books.invoice_texts import documents_of, read_text, reasons_of

HEADER = "doc_type,folio,issue_date,total,status"


def _file(total: str, status: str) -> str:
    return f"{HEADER}\n33,7,2026-09-13,{total},{status}\n"


@pytest.mark.parametrize(
    ("total", "status", "read"),
    [
        ("1190", "valid", (1190, False)),
        ("1190", "void", (1190, True)),
        ("", "void", (0, True)),
        ("0", "void", (0, True)),
    ],
)
def test_a_cancelled_document_keeps_its_total(total: str, status: str, read: tuple[int, bool]) -> None:
    """What replaces it must equal it; only where the file says nothing is it zero."""
    (document,) = documents_of(read_text(_file(total, status)))
    assert (document.total, document.is_void) == read


@pytest.mark.parametrize("status", ["valid", ""])
def test_a_document_that_stands_needs_its_total(status: str) -> None:
    """An empty cell is not zero."""
    assert reasons_of(read_text(_file("", status))) == [(2, "total", "", "is empty")]


def test_the_largest_amount_is_what_a_database_holds() -> None:
    """One more is refused with its line, and not cut or turned around."""
    (document,) = documents_of(read_text(_file("9223372036854775807", "valid")))
    assert document.total == 9_223_372_036_854_775_807
    ((line, column, value, _),) = reasons_of(read_text(_file("9223372036854775808", "valid")))
    assert (line, column, value) == (2, "total", "9223372036854775808")
