"""A file of the merchant's books as rows of cells: encodings, separators and workbooks, nothing understood yet."""

import codecs
import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import TypeAlias
from zipfile import BadZipFile

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


class SheetError(ValueError):
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
    failures = []
    for separator in SEPARATORS:
        try:
            rows = tuple(_text_rows(text, separator))
        except csv.Error as error:
            failures.append(str(error))
            continue
        yield Sheet(rows, encoding, separator, notes)
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
    for cells in reader:
        yield Row(line, tuple(cells))
        line = reader.line_num + 1


def _workbook_sheets(content: bytes) -> Iterator[Sheet]:
    try:
        book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
    except (BadZipFile, InvalidFileException, KeyError, ValueError):
        raise SheetError("the file is not a workbook that can be opened: save it as XLSX or CSV") from None
    try:
        for sheet in book.worksheets:
            # A stale "dimension" element hides rows from read-only mode.
            sheet.reset_dimensions()
            rows = enumerate(sheet.iter_rows(values_only=True), start=1)
            found = tuple(Row(line, tuple(_to_cell(value) for value in values)) for line, values in rows)
            yield Sheet(found, f"XLSX, sheet {sheet.title}", "")
    finally:
        book.close()


def _to_cell(value: object) -> Cell:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, int | float):
        # The shortest decimal that names this binary number is the one that was typed.
        return Decimal(repr(value))
    if isinstance(value, datetime):
        return value.date()
    return value if isinstance(value, date) else str(value)
