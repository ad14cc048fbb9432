"""Tables of web pages, and workbooks that Excel wrote as XML (SpreadsheetML): both go by the name of an XLS; pure."""

import html
import re
from collections.abc import Iterator
from datetime import datetime
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from reconcile.books.cells import Cell, Row, Sheet, SheetError, to_cell

_MOST_CELLS = 5_000_000
_MOST_COLUMNS = 16_384
_NAMESPACE = "urn:schemas-microsoft-com:office:spreadsheet"
_ATTRIBUTE = f"{{{_NAMESPACE}}}"
# What a web page holds: comments and tags, of which quoted attributes may hold any sign; no part is tried twice.
_TAG = re.compile(r"""<!--|<(/?+)([a-zA-Z][a-zA-Z0-9]*+)((?:[^<>"']|"[^"<]*+"|'[^'<]*+')*+)>""")
_SPAN = re.compile(r"""colspan\s*+=\s*+["']?(\d{1,5})""", re.IGNORECASE)
_UNSEEN = frozenset({"script", "style"})
_END_OF_UNSEEN = re.compile("</(?:script|style)", re.IGNORECASE)


def is_web_page(start: str) -> bool:
    """Return True if a file that begins so is a web page; `start` is in lower case."""
    return start.lstrip().startswith("<") and ("<html" in start or "<table" in start)


def is_spreadsheet_xml(start: str) -> bool:
    return start.lstrip().startswith("<") and _NAMESPACE in start


def page_sheets(text: str) -> Iterator[Sheet]:
    """Yield every table of a web page; rows are numbered through the page, as a spreadsheet shows them."""
    page = _Page()
    place = 0
    while (tag := _TAG.search(text, place)) is not None:
        page.add_text(text[place : tag.start()])
        place = tag.end()
        if tag[0] == "<!--":
            end = text.find("-->", place)
            place = len(text) if end < 0 else end + len("-->")
        elif (name := tag[2].lower()) in _UNSEEN and not tag[1]:
            over = _END_OF_UNSEEN.search(text, place)
            place = len(text) if over is None else over.start()
        else:
            page.add_tag(name, tag[3], is_end=bool(tag[1]))
    for number, rows in enumerate(page.tables, start=1):
        if rows:
            yield Sheet(tuple(rows), f"HTML, table {number}", "")


class _Page:
    """The tables of a page while it is read; a table within a cell of another one is a table of its own."""

    def __init__(self) -> None:
        self.tables: list[list[Row]] = []
        self._open: list[list[Row]] = []
        self._cells: list[list[str] | None] = []
        self._text: list[list[str] | None] = []
        self._rows = self._count = 0

    def add_text(self, text: str) -> None:
        if self._text and self._text[-1] is not None:
            self._text[-1].append(text)

    def add_tag(self, name: str, attributes: str, *, is_end: bool) -> None:
        if name == "table":
            self._end_table() if is_end else self._begin_table()
        elif not self._open:
            return
        elif name == "tr":
            self._end_row()
            if not is_end:
                self._cells[-1] = []
        elif name in {"td", "th"}:
            self._end_cell()
            if not is_end:
                self._begin_cell(attributes)
        elif name in {"br", "p", "div"}:
            self.add_text(" ")

    def _begin_table(self) -> None:
        rows: list[Row] = []
        self.tables.append(rows)
        self._open.append(rows)
        self._cells.append(None)
        self._text.append(None)

    def _end_table(self) -> None:
        if self._open:
            self._end_row()
            self._open.pop()
            self._cells.pop()
            self._text.pop()

    def _begin_cell(self, attributes: str) -> None:
        cells = self._cells[-1]
        if cells is None:
            cells = self._cells[-1] = []
        found = _SPAN.search(attributes)
        more = min(int(found[1]), _MOST_COLUMNS) - 1 if found else 0
        cells.extend([""] * more)
        self._count += 1 + max(more, 0)
        if self._count > _MOST_CELLS:
            raise SheetError("books.page_too_large", most=_MOST_CELLS)
        self._text[-1] = []

    def _end_cell(self) -> None:
        cells, parts = self._cells[-1], self._text[-1]
        if cells is not None and parts is not None:
            cells.append(" ".join(html.unescape("".join(parts)).split()))
        self._text[-1] = None

    def _end_row(self) -> None:
        self._end_cell()
        cells = self._cells[-1]
        if cells:
            self._rows += 1
            self._open[-1].append(Row(self._rows, tuple(cells)))
        self._cells[-1] = None


def spreadsheet_xml_sheets(content: bytes) -> Iterator[Sheet]:
    """Yield every sheet of a workbook that was written as XML."""
    try:
        root = fromstring(content, forbid_dtd=True)
    except DefusedXmlException:
        raise SheetError("books.xml_entities") from None
    except (ParseError, ValueError, LookupError) as error:
        raise SheetError("books.xml_unreadable", reason=str(error)) from None
    for sheet in root.iter(f"{_ATTRIBUTE}Worksheet"):
        rows = tuple(row for table in sheet.iter(f"{_ATTRIBUTE}Table") for row in _rows_of(table))
        if rows:
            yield Sheet(rows, f"SpreadsheetML, sheet {sheet.get(f'{_ATTRIBUTE}Name', '')}", "")


def _rows_of(table: Element) -> Iterator[Row]:
    line = count = 0
    for element in table.iter(f"{_ATTRIBUTE}Row"):
        line = _index_of(element, line + 1)
        cells: list[Cell] = []
        for cell in element.iter(f"{_ATTRIBUTE}Cell"):
            place = _index_of(cell, len(cells) + 1)
            cells.extend([""] * (place - 1 - len(cells)))
            cells.append(_read_data(cell.find(f"{_ATTRIBUTE}Data")))
            cells.extend([""] * _number(cell, "MergeAcross", 0))
        count += len(cells)
        if count > _MOST_CELLS:
            raise SheetError("books.page_too_large", most=_MOST_CELLS)
        yield Row(line, tuple(cells))


def _index_of(element: Element, following: int) -> int:
    """Return where a row or cell stands: cells that are empty are left out, and the next one says its place."""
    return max(_number(element, "Index", following), following)


def _number(element: Element, name: str, usual: int) -> int:
    text = element.get(_ATTRIBUTE + name, "")
    if not text:
        return usual
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= len("1048576") else -1
    if number < 0 or (element.tag == f"{_ATTRIBUTE}Cell" and number > _MOST_COLUMNS):
        raise SheetError("books.xml_unreadable", reason=f"{name} {text[:20]}")
    return number


def _read_data(data: Element | None) -> Cell:
    if data is None:
        return ""
    text, kind = "".join(data.itertext()).strip(), data.get(f"{_ATTRIBUTE}Type", "String")
    try:
        if kind == "Number":
            return to_cell(float(text))
        return datetime.fromisoformat(text).date() if kind == "DateTime" and text else text
    except ValueError:
        raise SheetError("books.xml_unreadable", reason=f"{kind} {text[:20]}") from None
