"""A file of the merchant's books as rows of cells: encodings, separators and workbooks, nothing understood yet."""

import codecs
import csv
import io
from collections.abc import Iterator

from reconcile.books.cells import Row, Sheet, SheetError
from reconcile.books.workbooks import workbook_sheets

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_ZIP = b"PK\x03\x04"
# The Mexican tax authority's own lists, in which a quotation mark is a letter like any other.
TILDE = "~"
SEPARATORS = (";", ",", "\t", "|", TILDE)
_MOST_LINES = 5_000_000
_ENDLESS = "a cell of the row that begins on line"
_END_OF_FILE = "\x1a"
# Files that go by the name of a sheet and are none, by how they begin.
_OTHERS = (
    (
        b"\xd0\xcf\x11\xe0",
        "is an old workbook (XLS) or one with a password: save it as XLSX without a password, or as CSV",
    ),
    (b"%pdf", "is a PDF: export it as XLSX or CSV"),
    (b"<?xml", "is XML, not a table: export it as XLSX or CSV"),
    (b"<", "is a web page under another name: open it in a spreadsheet and save it as XLSX or CSV"),
)
_START = 64
_BEGINNING = 4096


def read_sheets(content: bytes) -> Iterator[Sheet]:
    """Yield every way this file can be cut into rows; who knows the headers picks the right one.

    Where quotation marks keep the likely separator from cutting it, that is said after the ways that worked.
    """
    if content.startswith(_ZIP):
        yield from workbook_sheets(content)
        return
    other = why_no_sheet(content)
    if other:
        raise SheetError(f"the file {other}")
    text, encoding, notes = _decode(content)
    if not text.strip():
        raise SheetError("the file is empty")
    if max(text.count("\n"), text.count("\r")) > _MOST_LINES:
        raise SheetError(f"the file has more than {_MOST_LINES:,} lines: remove the empty ones or split it")
    failures: dict[str, str] = {}
    for separator in SEPARATORS:
        try:
            rows = tuple(_text_rows(text, separator))
        except csv.Error as error:
            failures[separator] = str(error)
            continue
        yield Sheet(rows, encoding, separator, notes)
    endless = next((failure for failure in failures.values() if failure.startswith(_ENDLESS)), None)
    # A file that quotes its cells fails under each separator that is not its own.
    likely = failures.get(max(SEPARATORS, key=text[:_BEGINNING].count))
    if endless or likely:
        raise SheetError(endless or likely)


def is_web_page(content: bytes) -> bool:
    """Banks and tax authorities give out web pages that bear the name of a workbook."""
    start = content[:_BEGINNING].lower()
    return start.lstrip().startswith(b"<") and (b"<html" in start or b"<table" in start)


def why_no_sheet(content: bytes) -> str:
    """Say what a file is that is neither text nor a workbook; empty where nothing speaks against it."""
    start = content.lstrip(codecs.BOM_UTF8 + b" \t\r\n")[:_START].lower()
    return next((said for mark, said in _OTHERS if start.startswith(mark)), "")


def _decode(content: bytes) -> tuple[str, str, tuple[str, ...]]:
    encoding = next((name for bom, name in _BOMS if content.startswith(bom)), None)
    for candidate in [encoding] if encoding else ["utf-8", "cp1252"]:
        try:
            text = content.decode(candidate)
        except UnicodeDecodeError:
            continue
        if "\x00" in text:
            raise SheetError("the file is not text: save it as CSV or XLSX")
        notes = ("the text looks encoded twice (Ã where accents should be)",) if _is_twice_encoded(text) else ()
        return text.removesuffix(_END_OF_FILE), candidate, notes
    raise SheetError("the file is neither UTF-8, UTF-16 nor Windows text: save it as CSV UTF-8 or XLSX")


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
            if cells:  # millions of empty lines would fill the memory for nothing
                yield Row(line, tuple(cells))
            line = reader.line_num + 1
    except csv.Error as error:
        if "field limit" in str(error):
            limit = f"{csv.field_size_limit():,} characters"
            raise csv.Error(f"{_ENDLESS} {line} has more than {limit}: is a quotation mark left open?") from None
        advice = "double those in cells or take them out"
        raise csv.Error(f"the quotation marks of the row that begins on line {line} do not close: {advice}") from None
