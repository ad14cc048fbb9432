"""A file of the merchant's books as rows of cells: encodings, separators and workbooks, nothing understood yet."""

import codecs
import csv
import io
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any, TypeAlias
from xml.etree.ElementTree import ParseError
from zipfile import BadZipFile, ZipFile

import openpyxl
from openpyxl.utils.exceptions import InvalidFileException

Cell: TypeAlias = str | Decimal | date

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_ZIP = b"PK\x03\x04"
SEPARATORS = (";", ",", "\t", "|")
_MEGABYTE = 1024 * 1024
_LARGEST_WORKBOOK = 256 * _MEGABYTE
_MOST_ROWS = 1_048_576
_MOST_LINES = 5_000_000
_ENDLESS = "a cell of the row that begins on line"


class SheetError(ValueError):
    """A file that cannot be read as a table at all."""


# What a workbook's reader makes of parts that are cut, encrypted, of wrong types or missing.
_BROKEN = (
    BadZipFile, InvalidFileException, ParseError, zlib.error, EOFError, OSError, RuntimeError,
    LookupError, ArithmeticError, TypeError, AttributeError, UnicodeError,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    line: int
    cells: tuple[Cell, ...]

    @property
    def is_blank(self) -> bool:
        return not any(to_text(cell) for cell in self.cells)


@dataclass(frozen=True, slots=True)
class Sheet:
    """One way to cut a file into rows; `separator` is empty for a workbook's sheet."""

    rows: tuple[Row, ...]
    encoding: str
    separator: str
    notes: tuple[str, ...] = ()


def to_text(cell: Cell) -> str:
    """Show a cell as the person who made the file would read it."""
    if isinstance(cell, str):
        return cell.strip()
    return f"{cell:f}" if isinstance(cell, Decimal) else cell.isoformat()


def read_sheets(content: bytes) -> Iterator[Sheet]:
    """Yield every way this file can be cut into rows; who knows the headers picks the right one."""
    if not content.strip():
        raise SheetError("the file is empty")
    if content.startswith(_ZIP):
        yield from _workbook_sheets(content)
        return
    text, encoding, notes = _decode(content)
    if max(text.count("\n"), text.count("\r")) > _MOST_LINES:
        raise SheetError(f"the file has more than {_MOST_LINES:,} lines: remove the empty ones or split it")
    failures = []
    for separator in SEPARATORS:
        try:
            rows = tuple(_text_rows(text, separator))
        except csv.Error as error:
            failures.append(str(error))
            continue
        yield Sheet(rows, encoding, separator, notes)
    endless = next((failure for failure in failures if failure.startswith(_ENDLESS)), None)
    if endless is not None:
        raise SheetError(endless)
    if len(failures) == len(SEPARATORS):
        raise SheetError(f"the quotation marks of the file do not close: {failures[0]}")


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
        return text, candidate, notes
    raise SheetError("the file is neither UTF-8, UTF-16 nor Windows text: save it as CSV UTF-8 or XLSX")


def _is_twice_encoded(text: str) -> bool:
    return any(pair in text for pair in ("Ã¡", "Ã©", "Ã­", "Ã³", "Ãº", "Ã±", "Ã\x8d", "Ã“", "Ã‘"))


def _text_rows(text: str, separator: str) -> Iterator[Row]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
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
        raise


def _workbook_sheets(content: bytes) -> Iterator[Sheet]:
    """Read every sheet whole: a broken part shows only when the reader comes to it, as whatever error it makes."""
    try:
        _check_size(content)
        book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
        sheets = [Sheet(tuple(_rows_of(sheet)), f"XLSX, sheet {sheet.title}", "") for sheet in book.worksheets]
    except SheetError:
        raise
    except (*_BROKEN, ValueError):
        raise SheetError("the file is not a workbook that can be opened: save it as XLSX or CSV") from None
    book.close()
    yield from sheets


def _check_size(content: bytes) -> None:
    """Refuse a workbook that a few kilobytes would unfold to more than the memory holds."""
    with ZipFile(io.BytesIO(content)) as parts:
        size = sum(part.file_size for part in parts.infolist())
    if size > _LARGEST_WORKBOOK:
        raise SheetError(f"the workbook unfolds to {size // _MEGABYTE} MB: save it as CSV or split it")


def _rows_of(sheet: Any) -> Iterator[Row]:
    # A stale "dimension" element hides rows from read-only mode.
    sheet.reset_dimensions()
    for line, values in enumerate(sheet.iter_rows(values_only=True), start=1):
        # The reader fills a gap before a row number of any size with empty rows, and would go on for ever.
        if line > _MOST_ROWS:
            raise SheetError("the workbook numbers a row beyond the last one a sheet has: save it again as XLSX or CSV")
        yield Row(line, tuple(_to_cell(value) for value in values))


def _to_cell(value: object) -> Cell:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, int | float):
        # The shortest decimal that names this binary number is the one that was typed.
        number = Decimal(repr(value))
        return number if number.is_finite() else str(value)
    if isinstance(value, datetime):
        return value.date()
    return value if isinstance(value, date) else str(value)
