"""Files as rows of cells: text under any encoding and separator, workbooks, tables of web pages."""

import codecs
import csv
import io
from collections.abc import Iterator

from consumer.facts.messages import Message
from reconcile.books.cells import Row, Sheet, SheetError
from reconcile.books.page_tables import is_spreadsheet_xml, is_web_page, page_sheets, spreadsheet_xml_sheets

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_ZIP, _OLD_WORKBOOK = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
# The Mexican tax authority's own lists, in which a quotation mark is a letter like any other.
TILDE = "~"
SEPARATORS = (";", ",", "\t", "|", TILDE)
_MOST_LINES = 5_000_000
_ENDLESS = "books.endless_cell"
_END_OF_FILE = "\x1a"
# How a web page without a table begins, unlike other XML.
_OF_PAGES = ("!doctype html", "html", "head", "body", "div", "p>", "meta", "script", "style", "title")
# Files that go by the name of a sheet and are none, by how they begin.
_OTHERS = (
    (b"%pdf", Message("books.is_pdf")),
    (b"<?xml", Message("books.is_xml")),
    *((f"<{tag}".encode(), Message("books.is_web_page")) for tag in _OF_PAGES),
    (b"<", Message("books.is_xml")),
)
_START = 64
_BEGINNING = 4096


def read_sheets(content: bytes) -> Iterator[Sheet]:
    """Yield every way this file can be cut into rows; who knows the headers picks the right one.

    Where quotation marks keep the likely separator from cutting it, that is said after the ways that worked.
    """
    if content.startswith((_ZIP, _OLD_WORKBOOK)):
        from reconcile.books.workbooks import old_workbook_sheets, workbook_sheets  # noqa: PLC0415 - slow to load

        yield from workbook_sheets(content) if content.startswith(_ZIP) else old_workbook_sheets(content)
        return
    beginning = beginning_of(content)
    if is_spreadsheet_xml(beginning):
        yield from spreadsheet_xml_sheets(content)
        return
    if not is_web_page(beginning) and (other := why_no_sheet(content)) is not None:
        raise SheetError(other)
    text, encoding, notes = _decode(content)
    if is_web_page(beginning):
        yield from page_sheets(text)
        return
    if not text.strip():
        raise SheetError("books.file_empty")
    if max(text.count("\n"), text.count("\r")) > _MOST_LINES:
        raise SheetError("books.too_many_lines", most=_MOST_LINES)
    failures: dict[str, SheetError] = {}
    for separator in SEPARATORS:
        try:
            rows = tuple(_text_rows(text, separator))
        except SheetError as error:
            failures[separator] = error
            continue
        yield Sheet(rows, encoding, separator, notes)
    endless = next((failure for failure in failures.values() if failure.message.code == _ENDLESS), None)
    # A file that quotes its cells fails under each separator that is not its own.
    likely = failures.get(max(SEPARATORS, key=text[:_BEGINNING].count))
    if failure := endless or likely:
        raise failure


def beginning_of(content: bytes) -> str:
    """Return how a file begins, in lower case: its name may not say what it is."""
    encoding = next((name for bom, name in _BOMS if content.startswith(bom)), "utf-8")
    return content[:_BEGINNING].decode(encoding, errors="ignore").lower()


def why_no_sheet(content: bytes) -> Message | None:
    """Return what a file is that is neither text nor a workbook; None for what may be either."""
    start = content.lstrip(codecs.BOM_UTF8 + b" \t\r\n")[:_START].lower()
    return next((said for mark, said in _OTHERS if start.startswith(mark)), None)


def _decode(content: bytes) -> tuple[str, str, tuple[Message, ...]]:
    encoding = next((name for bom, name in _BOMS if content.startswith(bom)), None)
    for candidate in [encoding] if encoding else ["utf-8", "cp1252"]:
        try:
            text = content.decode(candidate)
        except UnicodeDecodeError:
            continue
        if "\x00" in text:
            raise SheetError("books.not_text")
        notes = (Message("books.encoded_twice"),) if _is_twice_encoded(text) else ()
        return text.removesuffix(_END_OF_FILE), candidate, notes
    raise SheetError("books.unknown_encoding")


def _is_twice_encoded(text: str) -> bool:
    return any(pair in text for pair in ("Ã¡", "Ã©", "Ã­", "Ã³", "Ãº", "Ã±", "Ã\x8d", "Ã“", "Ã‘"))


def _text_rows(text: str, separator: str) -> Iterator[Row]:
    lines = io.StringIO(text, newline="")
    if separator == TILDE:
        reader = csv.reader(lines, delimiter=separator, quoting=csv.QUOTE_NONE)
    else:
        reader = csv.reader(lines, delimiter=separator, strict=True)
    line = 1
    try:
        for cells in reader:
            if cells:  # millions of empty lines would only fill the memory
                yield Row(line, _cut_quoted_line(cells, separator))
            line = reader.line_num + 1
    except csv.Error as error:
        if "field limit" in str(error):
            raise SheetError("books.endless_cell", line=line, most=csv.field_size_limit()) from None
        raise SheetError("books.open_quotation", line=line) from None


def _cut_quoted_line(cells: list[str], separator: str) -> tuple[str, ...]:
    """Cut a line that was quoted as a whole, as one bank writes each movement."""
    if len(cells) > 1 or separator not in cells[0] or "\n" in cells[0] or "\r" in cells[0]:
        return tuple(cells)
    return tuple(next(csv.reader(cells, delimiter=separator, strict=True)))
