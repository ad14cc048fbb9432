"""A workbook of one sheet, written row by row into a stream; made again it has the same bytes."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from tempfile import TemporaryDirectory
from typing import BinaryIO

import xlsxwriter

from reconcile.journal.profiles import AMOUNTS, DATES, Column

MOST_ROWS = 1_048_576
_CREATED = datetime(2000, 1, 1)  # noqa: DTZ001 - a workbook has no time zone
# Dates that a sheet holds as dates; in any other form they are texts.
_DAYS = {"%d/%m/%Y": "dd/mm/yyyy", "%Y-%m-%d": "yyyy-mm-dd"}
_WIDTH = 20


class Sheet:
    """Takes rows one after another; `rows` counts them."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        # Rows wait in a file of their own, so that a year of them needs no memory; an export that fails leaves none.
        self._folder = TemporaryDirectory(prefix="cuadre-sheet-")
        options = {"constant_memory": True, "strings_to_formulas": False, "tmpdir": self._folder.name}
        self._book = xlsxwriter.Workbook(stream, options)
        self._book.set_properties({"created": _CREATED})
        self._head = self._book.add_format({"bold": True})
        self._days = {form: self._book.add_format({"num_format": shape}) for form, shape in _DAYS.items()}
        self._sheet = self._book.add_worksheet(name)
        self.rows = 0

    def write_titles(self, titles: Sequence[str]) -> None:
        self._sheet.set_column(0, len(titles) - 1, _WIDTH)
        for place, title in enumerate(titles):
            self._sheet.write_string(self.rows, place, title, self._head)
        self.rows += 1

    def write(self, columns: Sequence[Column], texts: Sequence[str]) -> None:
        """Write a row: amounts as numbers, full dates as dates, all else as text; what is empty is left out."""
        for place, (column, text) in enumerate(zip(columns, texts, strict=True)):
            if not text:
                continue
            if column.number or column.source in AMOUNTS:
                self._sheet.write_number(self.rows, place, Decimal(text))
            elif column.source in DATES and column.date in _DAYS:
                day = datetime.strptime(text, column.date)  # noqa: DTZ007 - a date alone
                self._sheet.write_datetime(self.rows, place, day, self._days[column.date])
            else:
                self._sheet.write_string(self.rows, place, text)
        self.rows += 1

    def close(self) -> None:
        self._book.close()
        self._folder.cleanup()
