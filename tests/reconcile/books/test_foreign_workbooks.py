"""Workbooks as people keep them: other calendars, noise, cells that lost digits, what the screen hides."""

import io
import zipfile
from datetime import date, datetime

import openpyxl
import pytest
from openpyxl.utils.datetime import CALENDAR_MAC_1904

from reconcile.books.documents import Document
from reconcile.books.reading import Reading, read_invoices
from tests.reconcile.books.invoice_texts import documents_of, reasons_of

HEADER = ["Tipo Doc", "Rut cliente", "Folio", "Fecha Docto", "Monto total", "Pedido"]
DAY = datetime(2026, 9, 13)  # noqa: DTZ001 - as Excel keeps it


def _kept(book: openpyxl.Workbook) -> Reading:
    content = io.BytesIO()
    book.save(content)
    return read_invoices(content.getvalue(), country="cl", mapping={})


def _book(*rows: list[object]) -> openpyxl.Workbook:
    book = openpyxl.Workbook()
    page = book.active
    assert page is not None
    page.append(HEADER)
    for row in rows:
        page.append(row)
    return book


def _row(folio: object = 7, on: object = DAY, total: object = 1190, order: object = None) -> list[object]:
    return [33, "76.192.083-9", folio, on, total, order]


def _only(book: openpyxl.Workbook) -> Document:
    return documents_of(_kept(book))[0]


def test_days_counted_from_1904_are_not_four_years_off() -> None:
    """A date column without a date format holds plain numbers, which such a workbook counts otherwise."""
    book = _book(_row(on=44816))
    book.epoch = CALENDAR_MAC_1904
    assert _only(book).issue_date == date(2026, 9, 13)
    assert _only(_book(_row(on=46278))).issue_date == date(2026, 9, 13)


def _written(book: openpyxl.Workbook, before: bytes, after: bytes) -> Reading:
    """Read a workbook in which a number stands as another program wrote it."""
    content, other = io.BytesIO(), io.BytesIO()
    book.save(content)
    with zipfile.ZipFile(content) as parts, zipfile.ZipFile(other, "w") as changed:
        for name in parts.namelist():
            changed.writestr(name, parts.read(name).replace(before, after))
    return read_invoices(other.getvalue(), country="cl", mapping={})


def test_noise_after_fifteen_digits_is_no_decimal() -> None:
    """Sums of a spreadsheet end in it, and no person sees it."""
    reading = _written(_book(_row(total=7777)), b"<v>7777</v>", b"<v>1190.0000000000002</v>")
    assert documents_of(reading)[0].total == 1190


def test_an_identifier_that_lost_its_last_digits_is_refused() -> None:
    """As a number a spreadsheet keeps fifteen of them and makes the rest zeros."""
    reason = "is a number of which a spreadsheet keeps fifteen digits: make the column text and fill it in again"
    found = reasons_of(_kept(_book(_row(order=646180157000000004))))
    assert [(line, column, why) for line, column, _, why in found] == [(2, "Pedido", reason)]
    assert _only(_book(_row(order="646180157000000004"))).order_ref == "646180157000000004"


def test_an_identifier_that_became_a_date_is_refused() -> None:
    """Of the order 10-2026 a spreadsheet makes the first of October."""
    reason = "is a date that the spreadsheet made of what was written: make the column text and fill it in again"
    assert reasons_of(_kept(_book(_row(order=date(2026, 10, 1))))) == [(2, "Pedido", "2026-10-01", reason)]


def test_an_identifier_kept_as_a_broken_number_is_whole() -> None:
    """Programs write whole numbers with a fraction of zero."""
    reading = _written(_book(_row(order=1001)), b"<v>1001</v>", b"<v>1001.0</v>")
    assert documents_of(reading)[0].order_ref == "1001"


def test_hidden_rows_are_read_aloud() -> None:
    """A filter hides documents from the eye, and they are in the file all the same."""
    book = _book(_row(), _row(8))
    assert book.active is not None
    book.active.row_dimensions[3].hidden = True
    reading = _kept(book)
    assert len(reading.documents) == 2
    assert [*map(str, reading.notes)] == [
        "rows of sheet Sheet hidden by hand or by a filter, and read like the others: 1"
    ]


def test_a_hidden_list_is_named_as_hidden() -> None:
    """A second list is not on the screen."""
    book = _book(_row())
    other = book.create_sheet("old")
    other.append(HEADER)
    other.append(_row(8))
    other.sheet_state = "hidden"
    (reject,) = reasons_of(_kept(book))
    assert reject[3].endswith("(XLSX, sheet Sheet; XLSX, sheet old (hidden)): save each alone")


def test_formulas_that_were_never_computed_are_told() -> None:
    """A program wrote them and no spreadsheet has opened the file since: their cells read as empty."""
    reading = _kept(_book(_row(order="=A1")))
    advice = "open the file in a spreadsheet and save it"
    assert [*map(str, reading.notes)] == [f"formulas of sheet Sheet without a value, read as empty cells: 1; {advice}"]


def test_text_among_dates_of_the_spreadsheet_is_refused() -> None:
    """A spreadsheet that understood some days of a column as dates may have swapped day and month of those."""
    found = reasons_of(_kept(_book(_row(on=datetime(2026, 3, 9)), _row(8, on="13-09-2026"))))  # noqa: DTZ001 - as above
    reason = "is no date cell beside others that are, whose day and month may be swapped: make the whole column text"
    assert found == [(3, "Fecha Docto", "13-09-2026", reason)]


def _archive(name: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as parts:
        parts.writestr(name, "x")
    return content.getvalue()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600),
            "the file is a workbook with a password, or one that cannot be opened: ",
        ),
        (_archive("ventas.csv"), "the file is a ZIP archive: unpack it and import the files in it"),
        (_archive("content.xml"), "the file is an OpenDocument sheet: save it as XLSX or CSV"),
    ],
)
def test_what_goes_by_the_name_of_a_workbook_is_called_what_it_is(content: bytes, reason: str) -> None:
    """The name of a file says little: its first bytes and its parts do."""
    (reject,) = reasons_of(read_invoices(content, country="cl", mapping={}))
    assert reject[3].startswith(reason)
