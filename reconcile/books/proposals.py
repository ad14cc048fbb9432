"""Columns of an unknown bank sheet, guessed from their cells, for a person to confirm; pure."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from itertools import pairwise, permutations
from typing import TypeAlias

from consumer.facts.countries import COUNTRIES
from reconcile.books.cells import Cell, Row, Sheet, SheetError, to_text
from reconcile.books.dates import FORMATS
from reconcile.books.dialects import COLUMNS
from reconcile.books.figures import DecimalMark, FigureError, Written, decide_mark, to_amount
from reconcile.books.headers import Header, find_header
from reconcile.books.sheets import read_sheets

# Where a file has no row of headings, its columns are named by their place.
_PLACE = "#"
_NAME_BY_PLACE = re.compile(_PLACE + r"[1-9]\d{0,3}", re.ASCII)
_SAMPLES, _MOST_ROWS, _MOST_NUMBERS = 3, 500, 8
_LEAST_CELLS, _LEAST_SHARE = 2, 0.8
_SERIALS = ("Excel serial", "Excel serial from 1904")
_DAYS = tuple(pattern for style, pattern in FORMATS.items() if style not in _SERIALS)
_SIGNS = frozenset("0123456789.,-+()$ '\u00a0")

# Amounts of a column by row; None where a cell is empty.
_Figures: TypeAlias = Sequence[int | None]


@dataclass(frozen=True, slots=True)
class Proposal:
    """The columns of a file with some of its rows, and which field each guessed column may be."""

    columns: tuple[str, ...]
    guesses: Mapping[str, str]
    samples: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class _Table:
    """The rows of a sheet that look like movements, and the row of headings above them."""

    sheet: Sheet
    header: Row | None
    rows: tuple[Row, ...]

    @property
    def width(self) -> int:
        return max(len(row.cells) for row in self.rows)

    def column(self, place: int) -> list[Cell]:
        return [row.cells[place] if place < len(row.cells) else "" for row in self.rows]


def propose_columns(content: bytes, *, country: str) -> Proposal | None:
    """Return a guess for a file in which movements can be seen; None where none can."""
    try:
        tables = [table for sheet in read_sheets(content) if (table := _find_table(sheet)) is not None]
    except SheetError:
        return None
    if not tables:
        return None
    table = max(tables, key=lambda one: (one.width, len(one.rows)))
    names = _names_of(table)
    guesses = _guess(table, COUNTRIES[country].currency).items()
    # A row of headings may be wider than the rows below it.
    found = {field: names[place] for field, place in guesses if place < len(names)}
    samples = tuple(tuple(map(to_text, row.cells)) for row in table.rows[:_SAMPLES])
    return Proposal(
        tuple(name for name in names if name), {field: name for field, name in found.items() if name}, samples
    )


def place_header(rows: Sequence[Row], mapping: Mapping[str, str]) -> Header | None:
    """Return the header of a file without one, if a mapping names columns by their place; else None."""
    at = {field: int(name[1:]) - 1 for field, name in mapping.items() if _NAME_BY_PLACE.fullmatch(name)}
    if "booked_on" not in at or len(at) < sum(map(bool, mapping.values())):
        return None
    first = next(
        (row for row in rows if at["booked_on"] < len(row.cells) and _is_day(row.cells[at["booked_on"]])), None
    )
    if first is None or max(at.values()) >= len(first.cells):
        return None
    columns = tuple(f"{_PLACE}{number}" for number in range(1, len(first.cells) + 1))
    return Header(first.line - 1, columns, at, {field: columns[place] for field, place in at.items()}, len(columns), {})


def _find_table(sheet: Sheet) -> _Table | None:
    """Take the first row with a day and an amount and those like it; headings are the row before, if it has neither."""
    start = next((place for place, row in enumerate(sheet.rows) if _is_movement(row)), None)
    if start is None:
        return None
    width = len(sheet.rows[start].cells)
    rows = [row for row in sheet.rows[start : start + _MOST_ROWS] if _is_movement(row) and len(row.cells) <= width]
    above = next((row for row in sheet.rows[start - 1 :: -1] if not row.is_blank), None) if start else None
    texts = [to_text(cell) for cell in above.cells] if above is not None else []
    has_names = sum(map(bool, texts)) >= _LEAST_CELLS and not any(map(_is_amount, texts))
    return _Table(sheet, above if has_names else None, tuple(rows))


def _is_movement(row: Row) -> bool:
    is_long = sum(bool(to_text(cell)) for cell in row.cells) > _LEAST_CELLS - 1
    return is_long and any(map(_is_day, row.cells)) and any(_is_amount(cell) for cell in row.cells)


def _is_day(cell: Cell) -> bool:
    return isinstance(cell, date) or (isinstance(cell, str) and any(day.fullmatch(cell.strip()) for day in _DAYS))


def _is_amount(cell: Cell) -> bool:
    if isinstance(cell, Decimal):
        return True
    is_figure = isinstance(cell, str) and any(map(str.isdigit, cell)) and set(cell) <= _SIGNS
    return is_figure and not _is_day(cell)


def _names_of(table: _Table) -> list[str]:
    """Name the columns as the header does; one without a name, or a second one of it, cannot be chosen."""
    if table.header is None:
        return [f"{_PLACE}{number}" for number in range(1, table.width + 1)]
    names = [to_text(cell) for cell in table.header.cells][: table.width]
    names += [""] * (table.width - len(names))
    return [name if names.index(name) == place else "" for place, name in enumerate(names)]


def _guess(table: _Table, currency: str) -> dict[str, int]:
    """Choose a column for each field that shows itself: by its usual name, else by what stands in it."""
    columns = [table.column(place) for place in range(table.width)]
    known = find_header((table.header,), {}, words=COLUMNS, least=1) if table.header is not None else None
    found = dict(known.at) if known is not None else {}
    days = [place for place, cells in enumerate(columns) if _share(cells, _is_day) >= _LEAST_SHARE]
    if days:
        found.setdefault("booked_on", days[0])
    figures = _read_figures(columns, {*days, *found.values()}, currency)
    if not found.keys() & {"amount", "credit", "debit"}:
        found |= _guess_money(figures)
    left = [place for place in range(table.width) if place not in {*days, *found.values()}]
    words = {place: sum(len(to_text(cell)) for cell in columns[place]) for place in left if place not in figures}
    if words and "text" not in found and max(words.values()):
        found["text"] = max(words, key=lambda place: words[place])
    return found


def _share(cells: Sequence[Cell], is_such: Callable[[Cell], bool]) -> float:
    filled = [cell for cell in cells if to_text(cell)]
    return sum(map(is_such, filled)) / len(filled) if filled else 0.0


def _read_figures(columns: Sequence[Sequence[Cell]], taken: Iterable[int], currency: str) -> dict[int, _Figures]:
    """Read the columns that hold amounts alone, under the mark that all of them share."""
    free = [place for place in range(len(columns)) if place not in taken and _share(columns[place], _is_amount) == 1]
    written = {
        place: [
            Written(text, currency, plain=not isinstance(cell, str)) if (text := to_text(cell)) else None
            for cell in columns[place]
        ]
        for place in free[:_MOST_NUMBERS]
    }
    try:
        mark = decide_mark((one for cells in written.values() for one in cells if one), preferred=DecimalMark.POINT)
        return {
            place: [None if one is None else to_amount(one, mark) for one in cells] for place, cells in written.items()
        }
    except FigureError:
        return {}


def _guess_money(figures: Mapping[int, _Figures]) -> dict[str, int]:
    """Find the columns of amounts by the balance that they make, or by standing in for each other."""
    for balance, credit, debit in permutations(figures, 3):
        moves = [(into or 0) - abs(out or 0) for into, out in zip(figures[credit], figures[debit], strict=True)]
        if _excludes(figures[credit], figures[debit]) and _makes(figures[balance], moves):
            return {"credit": credit, "debit": debit, "balance": balance}
    for balance, amount in permutations(figures, 2):
        if _makes(figures[balance], [one or 0 for one in figures[amount]]):
            return {"amount": amount, "balance": balance}
    pairs = [pair for pair in permutations(figures, 2) if pair[0] < pair[1] and _excludes(*map(figures.get, pair))]
    if len(pairs) == 1:
        return {"debit": pairs[0][0], "credit": pairs[0][1]}
    signed = [place for place, amounts in figures.items() if any((one or 0) < 0 for one in amounts)]
    if len(signed) == 1 or len(figures) == 1:
        return {"amount": (signed or [*figures])[0]}
    return {}


def _excludes(one: _Figures | None, other: _Figures | None) -> bool:
    """Return True if each row has an amount in one of two columns and none in the other."""
    return all(bool(first) != bool(second) for first, second in zip(one or (), other or (), strict=True))


def _makes(balances: _Figures, moves: Sequence[int]) -> bool:
    """Return True if each balance is the one before with what moved, down the file or up it."""
    if len(moves) <= 1 or None in balances:
        return False
    steps = list(zip(balances, moves, strict=True))
    return any(
        all((before[0] or 0) + after[1] == after[0] for before, after in pairwise(ordered))
        for ordered in (steps, steps[::-1])
    )
