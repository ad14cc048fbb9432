"""Files as rows of cells, nothing understood yet: text under any encoding and separator, and workbooks (XLSX)."""

import codecs
import csv
import io
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import IO, Any, TypeAlias
from xml.etree.ElementTree import ParseError
from zipfile import BadZipFile, ZipFile

import openpyxl
from openpyxl.utils.datetime import CALENDAR_MAC_1904
from openpyxl.utils.exceptions import InvalidFileException

from consumer.facts.messages import Message, RefusalError
from consumer.facts.texts import LONGEST_CELL

Cell: TypeAlias = str | Decimal | date

# A spreadsheet keeps fifteen digits of a number; an identifier with more has lost the rest.
_KEPT = 10**15
_ERROR = re.compile(
    r"#(?:N/[AD]|¡?(?:REF|VALUE|VALOR|DIV/0|NUM|NULL|NULO|SPILL|DESBORDAMIENTO|CALC)!|¿?(?:NAME|NOMBRE)\?|#+)",
    re.IGNORECASE,
)


class SheetError(RefusalError):
    """A file that cannot be read as a table at all."""


@dataclass(frozen=True, slots=True)
class Row:
    line: int
    cells: tuple[Cell, ...]

    @property
    def is_blank(self) -> bool:
        return not any(to_text(cell) for cell in self.cells)


@dataclass(frozen=True, slots=True)
class Sheet:
    """One way to cut a file into rows; `separator` is empty for a workbook's sheet, and some count days from 1904."""

    rows: tuple[Row, ...]
    encoding: str
    separator: str
    notes: tuple[Message, ...] = ()
    from_1904: bool = False


def to_text(cell: Cell) -> str:
    """Show a cell as the person who made the file would read it."""
    if isinstance(cell, str):
        return cell.strip()
    return f"{cell:f}" if isinstance(cell, Decimal) else cell.isoformat()


def why_spoilt(cell: Cell, *, names: bool) -> Message | None:
    """Say why a cell is not taken: an error, a text beyond every cell, a number that names and lost its last digits."""
    if isinstance(cell, str):
        if len(cell) > LONGEST_CELL:
            return Message("books.text_too_long", {"most": LONGEST_CELL})
        wrong = cell.startswith("#") and _ERROR.fullmatch(cell.strip())
        return Message("books.spreadsheet_error") if wrong else None
    if names and isinstance(cell, date):
        return Message("books.made_a_date")
    if names and isinstance(cell, Decimal) and abs(cell) >= _KEPT:
        return Message("books.lost_digits")
    return None


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
_ENDLESS = "books.endless_cell"
_END_OF_FILE = "\x1a"
# Files that go by the name of a sheet and are none, by how they begin.
_OTHERS = (
    (b"\xd0\xcf\x11\xe0", Message("books.old_workbook")),
    (b"%pdf", Message("books.is_pdf")),
    (b"<?xml", Message("books.is_xml")),
    (b"<", Message("books.is_web_page")),
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
    if (other := why_no_sheet(content)) is not None:
        raise SheetError(other)
    text, encoding, notes = _decode(content)
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


def is_web_page(content: bytes) -> bool:
    """Banks and tax authorities give out web pages that bear the name of a workbook."""
    start = content[:_BEGINNING].lower()
    return start.lstrip().startswith(b"<") and (b"<html" in start or b"<table" in start)


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
            if cells:  # millions of empty lines would fill the memory for nothing
                yield Row(line, tuple(cells))
            line = reader.line_num + 1
    except csv.Error as error:
        if "field limit" in str(error):
            raise SheetError("books.endless_cell", line=line, most=csv.field_size_limit()) from None
        raise SheetError("books.open_quotation", line=line) from None


# A sheet of the reader, whose types do not show all that is used of it.
_Page: TypeAlias = Any
_MEGABYTE = 1024 * 1024
_LARGEST_WORKBOOK = 256 * _MEGABYTE
_MOST_ROWS = 1_048_576
# A row is as wide as its last cell stands to the right: a few kilobytes name thousands of millions of empty ones.
_MOST_CELLS = 20_000_000
# A cell holds 32,767 characters, a quarter of this however they are written.
_LONGEST_TEXT = _MEGABYTE
# A spreadsheet keeps and shows fifteen digits; what stands after them is noise of its binary sums.
_DIGITS = ".15g"
_HIDDEN_ROW = re.compile(rb'<row\b[^>]*\bhidden="(?:1|true)"')
_UNCOMPUTED = re.compile(rb"<f\b[^>]*(?:/>|>[^<]*</f>)\s*(?:</c>|<v\s*/>|<v></v>)")

# What a workbook's reader makes of parts that are cut, encrypted, of wrong types or missing.
_BROKEN = (
    BadZipFile, InvalidFileException, ParseError, zlib.error, EOFError, OSError, RuntimeError,
    LookupError, ArithmeticError, TypeError, AttributeError, UnicodeError,
)  # fmt: skip


def workbook_sheets(content: bytes) -> Iterator[Sheet]:
    """Read every sheet whole: a broken part shows only when the reader comes to it, as whatever error it makes."""
    try:
        _check_parts(content)
        book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
        from_1904 = book.epoch == CALENDAR_MAC_1904
        sheets = [_sheet(page, from_1904=from_1904) for page in book.worksheets]
    except SheetError:
        raise
    except (*_BROKEN, ValueError):
        raise SheetError("books.not_a_workbook") from None
    book.close()
    yield from sheets


def _check_parts(content: bytes) -> None:
    """Refuse other archives, and a workbook that a few kilobytes would unfold to more than the memory holds."""
    with ZipFile(io.BytesIO(content)) as parts:
        size = sum(part.file_size for part in parts.infolist())
        names = set(parts.namelist())
        if size > _LARGEST_WORKBOOK:
            raise SheetError("books.workbook_too_large", megabytes=size // _MEGABYTE)
        if "content.xml" in names:
            raise SheetError("books.is_opendocument")
        if not any(name.startswith("xl/") for name in names):
            raise SheetError("books.is_zip")
        for part in parts.infolist():
            if part.filename.endswith(".xml") and part.file_size > _LONGEST_TEXT:
                _check_texts(parts.open(part))


def _check_texts(part: IO[bytes]) -> None:
    """Refuse a text that no cell can hold, at the price of unfolding it: the reader takes seconds for each megabyte."""
    with part:
        while piece := part.read(_LONGEST_TEXT):
            if len(piece) == _LONGEST_TEXT and b"<" not in piece:
                raise SheetError("books.cell_beyond_limit")


def _sheet(page: _Page, *, from_1904: bool) -> Sheet:
    rows = tuple(_rows_of(page))
    hidden = " (hidden)" if page.sheet_state != "visible" else ""
    notes = tuple(_notes(page)) if rows else ()
    return Sheet(rows, f"XLSX, sheet {page.title}{hidden}", "", notes, from_1904)


def _notes(page: _Page) -> Iterator[Message]:
    """Tell what a person does not see on the screen, and what the reader cannot see in the file."""
    with page._get_source() as part:  # noqa: SLF001 - the reader offers no other way to the part it reads
        written = part.read()
    if hidden := len(_HIDDEN_ROW.findall(written)):
        yield Message("books.hidden_rows", {"sheet": page.title, "rows": hidden})
    if uncomputed := len(_UNCOMPUTED.findall(written)):
        yield Message("books.formulas_without_value", {"sheet": page.title, "cells": uncomputed})


def _rows_of(page: _Page) -> Iterator[Row]:
    # A stale "dimension" element hides rows from read-only mode.
    page.reset_dimensions()
    cells = 0
    for line, values in enumerate(page.iter_rows(values_only=True), start=1):
        # The reader fills a gap before a row number of any size with empty rows, and would go on for ever.
        if line > _MOST_ROWS:
            raise SheetError("books.row_beyond_last")
        cells += len(values)
        if cells > _MOST_CELLS:
            raise SheetError("books.too_many_cells", sheet=page.title, most=_MOST_CELLS)
        yield Row(line, tuple(_to_cell(value) for value in values))


def _to_cell(value: object) -> Cell:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, int):
        return Decimal(value)
    if isinstance(value, float):
        if value.is_integer():
            return Decimal(int(value))
        number = Decimal(format(value, _DIGITS))
        return number if number.is_finite() else str(value)
    if isinstance(value, datetime):
        return value.date()
    return value if isinstance(value, date) else str(value)
