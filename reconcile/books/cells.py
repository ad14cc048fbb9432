"""Cells and rows of a file of any form read as a table; their meaning is found elsewhere."""

import re
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import TypeAlias

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

    @property
    def form(self) -> str:
        """Name the form of the file: CSV, or that of the workbook or page."""
        return "CSV" if self.separator else self.encoding.partition(",")[0]


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


# A spreadsheet keeps and shows fifteen digits; what stands after them is noise of its binary sums.
_DIGITS = ".15g"


def to_cell(value: object) -> Cell:
    """Return the value of a workbook's cell as a cell of ours."""
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
