"""Workbooks as rows of cells: XLSX, and XLS of Excel 97 to 2003."""

import io
import re
import struct
import zlib
from collections.abc import Iterator
from typing import IO, Any, TypeAlias
from xml.etree.ElementTree import ParseError
from zipfile import BadZipFile, ZipFile

import openpyxl
import xlrd
from openpyxl.utils.datetime import CALENDAR_MAC_1904
from openpyxl.utils.exceptions import InvalidFileException
from xlrd.compdoc import CompDocError

from consumer.facts.messages import Message
from reconcile.books.cells import Cell, Row, Sheet, SheetError, to_cell

# A sheet of the reader, whose types do not show all that is used of it.
_Page: TypeAlias = Any
_MEGABYTE = 1024 * 1024
_LARGEST_WORKBOOK = 256 * _MEGABYTE
_MOST_ROWS = 1_048_576
# A row is as wide as its last cell stands to the right: a few kilobytes name thousands of millions of empty ones.
_MOST_CELLS = 20_000_000
# A cell holds 32,767 characters, a quarter of this however they are written.
_LONGEST_TEXT = _MEGABYTE
_HIDDEN_ROW = re.compile(rb'<row\b[^>]*\bhidden="(?:1|true)"')
_UNCOMPUTED = re.compile(rb"<f\b[^>]*(?:/>|>[^<]*</f>)\s*(?:</c>|<v\s*/>|<v></v>)")

# What a workbook's reader makes of parts that are cut, encrypted, of wrong types or missing.
_BROKEN = (
    BadZipFile, InvalidFileException, ParseError, zlib.error, EOFError, OSError, RuntimeError,
    LookupError, ArithmeticError, TypeError, AttributeError, UnicodeError,
)  # fmt: skip


def workbook_sheets(content: bytes) -> Iterator[Sheet]:
    """Read every sheet whole: a broken part raises only when the reader comes to it, errors of many classes."""
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
    """Remark on what a screen hides from a person, and on what this reader cannot see in the file."""
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
        yield Row(line, tuple(to_cell(value) for value in values))


_BROKEN_OLD = (*_BROKEN, xlrd.XLRDError, CompDocError, struct.error, AssertionError, ValueError)
# A cell of the reader of old workbooks, which ships no types.
_OldCell: TypeAlias = Any
_EMPTY = frozenset({xlrd.XL_CELL_EMPTY, xlrd.XL_CELL_BLANK})


def old_workbook_sheets(content: bytes) -> Iterator[Sheet]:
    """Read every sheet of an XLS; one with a password, of any version, has the same beginning and is refused."""
    try:
        # With rows of their own length a cell far to the right makes no empty ones in all the others.
        book = xlrd.open_workbook(file_contents=content, logfile=io.StringIO(), ragged_rows=True)
        sheets = [_old_sheet(page) for page in book.sheets()]
    except _BROKEN_OLD:
        raise SheetError("books.old_workbook") from None
    yield from sheets


def _old_sheet(page: _Page) -> Sheet:
    from_1904 = bool(page.book.datemode)
    rows = [
        Row(line, tuple(_to_old_cell(cell, from_1904=from_1904) for cell in page.row(line - 1)))
        for line in range(1, page.nrows + 1)
    ]
    hidden = " (hidden)" if page.visibility else ""
    return Sheet(tuple(rows), f"XLS, sheet {page.name}{hidden}", "", (), from_1904)


def _to_old_cell(cell: _OldCell, *, from_1904: bool) -> Cell:
    if cell.ctype in _EMPTY:
        return ""
    if cell.ctype == xlrd.XL_CELL_ERROR:
        return str(xlrd.error_text_from_code.get(cell.value, "#N/A"))
    if cell.ctype == xlrd.XL_CELL_DATE:
        return to_cell(xlrd.xldate_as_datetime(cell.value, int(from_1904)))
    return to_cell(bool(cell.value) if cell.ctype == xlrd.XL_CELL_BOOLEAN else cell.value)
