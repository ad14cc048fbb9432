"""Workbooks that are cut, encrypted, or made to fill the memory: refused in one sentence, and never a failure."""

import io
import time
import zipfile
from collections.abc import Callable

import openpyxl
import pytest

from reconcile.books import workbooks
from reconcile.books.reading import read_invoices

HEADER = ["doc_type", "folio", "issue_date", "customer_tax_id", "total"]
ROW = ["33", "7", "2026-09-13", "76.192.083-9", "1190"]
SHEET = "xl/worksheets/sheet1.xml"
NOT_OPENED = "the file is not a workbook that can be opened: save it as XLSX or CSV"


def changed(part: str, change: Callable[[bytes], bytes]) -> bytes:
    """A workbook of one invoice, with one of its parts changed."""
    book = openpyxl.Workbook()
    page = book.active
    assert page is not None
    page.append(HEADER)
    page.append(ROW)
    whole, kept = io.BytesIO(), io.BytesIO()
    book.save(whole)
    with zipfile.ZipFile(whole) as parts, zipfile.ZipFile(kept, "w", zipfile.ZIP_DEFLATED) as other:
        for name in parts.namelist():
            content = parts.read(name)
            other.writestr(name, change(content) if name == part else content)
    return kept.getvalue()


def with_row(row: bytes) -> bytes:
    return changed(SHEET, lambda text: text.replace(b"</sheetData>", row + b"</sheetData>"))


def encrypted() -> bytes:
    """Say in the directory of the archive that every part needs a password."""
    content = bytearray(changed(SHEET, bytes))
    place = -1
    while (place := content.find(b"PK\x01\x02", place + 1)) >= 0:
        content[place + 8] |= 1
    return bytes(content)


@pytest.mark.parametrize(
    "content",
    [
        changed(SHEET, lambda text: text[: len(text) // 2]),
        changed("xl/workbook.xml", lambda text: text[:50]),
        with_row(b'<row r="3"><c r="A3" t="d"><v>2026-99-99</v></c></row>'),
        with_row(b'<row r="3"><c r="A3"><v>12x</v></c></row>'),
        with_row(b'<row r="3"><c r="A3"><v>NaN</v></c></row>'),
        with_row(b'<row r="x"><c r="ZZZZ1"><v>1</v></c></row>'),
        with_row(b'<row r="3"><c r="A3" t="s"><v>99999</v></c></row>'),
        encrypted(),
    ],
    ids=["cut sheet", "cut book", "date", "number", "nan", "row number", "shared text", "encrypted"],
)
def test_a_broken_workbook_is_refused(content: bytes) -> None:
    """Whatever error the part makes in its reader, a person reads one sentence and nothing comes in."""
    reading = read_invoices(content, country="cl", mapping={})
    assert reading.documents == ()
    assert [str(reject.reason) for reject in reading.rejects] == [NOT_OPENED]


def test_a_row_beyond_the_last_is_refused() -> None:
    """A row numbered in the billions would be reached by counting up to it."""
    content = with_row(b'<row r="99999999999"><c r="A99999999999"><v>1</v></c></row>')
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workbooks, "_MOST_ROWS", 100)
        (reject,) = read_invoices(content, country="cl", mapping={}).rejects
    assert str(reject.reason).startswith("the workbook numbers a row beyond the last one")


def test_a_sheet_of_empty_cells_is_refused() -> None:
    """A cell far to the right makes thousands of empty ones before it; rows of these alone would fill the memory."""
    content = with_row(b"".join(b'<row r="%d"><c r="XFD%d"><v>1</v></c></row>' % (line, line) for line in range(3, 9)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workbooks, "_MOST_CELLS", 80_000)
        (reject,) = read_invoices(content, country="cl", mapping={}).rejects
    assert str(reject.reason) == (
        "sheet Sheet has more than 80,000 cells, empty ones too: delete the empty columns on the right, "
        "or save it as CSV"
    )


def test_a_workbook_that_unfolds_too_far_is_refused() -> None:
    """Three hundred megabytes of spaces in a third of a megabyte are not unpacked."""
    content = changed("docProps/app.xml", lambda text: text + b" " * 300 * 1024 * 1024)
    assert len(content) < 1024 * 1024
    (reject,) = read_invoices(content, country="cl", mapping={}).rejects
    assert str(reject.reason) == "the workbook unfolds to 300 MB: save it as CSV or split it"


@pytest.mark.parametrize("total", ["9" * 19, "9" * 60, "-" + "9" * 60])
def test_an_amount_no_database_holds_is_refused(total: str) -> None:
    """More than 63 bits of minor units is a slip of the keyboard, named by its row and column."""
    (reject,) = read_invoices(table(total=total), country="cl", mapping={}).rejects
    assert (reject.line, reject.column) == (2, "total")


@pytest.mark.parametrize("folio", ["9" * 256, "9" * 5000])
def test_a_folio_no_index_holds_is_refused(folio: str) -> None:
    """A number of a document has at most 255 characters."""
    (reject,) = read_invoices(table(folio=folio), country="cl", mapping={}).rejects
    assert (reject.line, reject.column) == (2, "folio")


def table(**cells: str) -> bytes:
    row = dict(zip(HEADER, ROW, strict=True)) | cells
    return "\r\n".join([",".join(HEADER), ",".join(row.values())]).encode()


def test_a_text_that_no_cell_can_hold_is_refused_before_it_is_read() -> None:
    """A few kilobytes unfold to one cell of megabytes, which a reader of workbooks takes many seconds for."""
    cell = b'<row r="3"><c r="A3" t="inlineStr"><is><t>' + b"7" * 100_000_000 + b"</t></is></c></row>"
    content = with_row(cell)
    assert len(content) < 1_000_000
    began = time.process_time()
    (reject,) = read_invoices(content, country="cl", mapping={}).rejects
    assert str(reject.reason) == "the workbook has a cell with more text than a cell can hold: save it again as CSV"
    assert time.process_time() - began < 5


def test_a_long_sheet_of_short_cells_is_read() -> None:
    """Only one text is too long, not many together."""
    rows = b"".join(
        b'<row r="%d"><c r="A%d" t="inlineStr"><is><t>%s</t></is></c></row>' % (n, n, b"x" * 32_767)
        for n in range(3, 103)
    )
    (reject, *_) = read_invoices(with_row(rows), country="cl", mapping={}).rejects
    assert "more text than a cell can hold" not in str(reject.reason)
