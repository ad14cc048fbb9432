"""What holds for every cell of one invoice file: decimal mark, form of dates, sign of notes."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date
from zoneinfo import ZoneInfo

from consumer.facts.countries import COUNTRIES
from consumer.facts.money import MoneyError
from reconcile.books import words
from reconcile.books.cells import Row, Sheet
from reconcile.books.dates import decide_style, to_term
from reconcile.books.documents import AMOUNTS, Convention, to_written
from reconcile.books.figures import DecimalMark, FigureError, Written, decide_mark, to_amount
from reconcile.books.headers import Header
from reconcile.books.sheet import TILDE

_ANY_DAY = date(2000, 1, 1)


def kind_of(row: Row, header: Header, country: str) -> str:
    """Read the kind of document of a row; empty where no rule knows it."""
    try:
        return words.to_kind(header.cell(row, "doc_type"), country)
    except words.WordError:
        return ""


def decide_convention(sheet: Sheet, rows: Sequence[Row], header: Header, *, country: str) -> Convention:
    """Decide by all cells together; raise FigureError where they could be read in two ways."""
    currency = COUNTRIES[country].currency
    home = DecimalMark.COMMA if country == "cl" and not header.is_canonical else DecimalMark.POINT
    rows = [row for row in rows if kind_of(row, header, country) not in words.NOT_RECEIVABLE]
    amounts = [amount for row in rows for amount in _amounts(row, header, country)]
    mark = decide_mark(amounts, preferred=home)
    style = _date_style(rows, header, from_1904=sheet.from_1904)
    zone, coded = ZoneInfo(COUNTRIES[country].zone), sheet.separator == TILDE
    convention = Convention(country, currency, mark, style, note_sign=1, zone=zone, states_as_numbers=coded)
    return replace(convention, note_sign=_note_sign(rows, header, convention))


def _amounts(row: Row, header: Header, country: str) -> Iterator[Written]:
    try:
        currency = words.to_currency(header.cell(row, "currency"), country, COUNTRIES[country].currency)
    except words.WordError:
        return
    for field in AMOUNTS:
        written = to_written(row, header, field, currency)
        if written is not None:
            yield written


def _date_style(rows: Sequence[Row], header: Header, *, from_1904: bool) -> str:
    cells = [header.raw(row, field) for row in rows for field in ("issue_date", "due_date")]
    dates = (cell for cell in cells if not isinstance(cell, str) or to_term(cell, _ANY_DAY) is None)
    return decide_style(dates, from_1904=from_1904)


def _note_sign(rows: Sequence[Row], header: Header, convention: Convention) -> int:
    """Credit notes are negative in some exports: the sign of the kind counts, if the file keeps to one of them."""
    signs = set()
    for row in rows:
        written = to_written(row, header, "total", convention.currency)
        if kind_of(row, header, convention.country) not in words.CREDIT_NOTES or written is None:
            continue
        try:
            amount = to_amount(written, convention.mark)
        except (FigureError, MoneyError):
            continue
        signs.add((amount > 0) - (amount < 0))
    return -1 if signs - {0} == {-1} else 1
