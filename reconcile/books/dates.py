"""Dates as people write them: one way of writing for the whole file, the day always before the month."""

import re
from collections import Counter
from collections.abc import Iterable
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from consumer.facts.clock import YEARS
from consumer.facts.messages import Message, RefusalError
from reconcile.books.cells import Cell, to_text

# Excel counts from a day that makes its false leap day of 1900 come out right.
_SERIAL_ZERO = date(1899, 12, 30)
_SERIAL_ZERO_1904 = date(1904, 1, 1)
_HOUR, _SECOND = r"(?:[01]?\d|2[0-3])", r"(?::[0-5]\d(?:[.,]\d+)?)?"
_TIME = rf"(?:[ T]{_HOUR}:[0-5]\d{_SECOND})?"
# Many programs write a plain day as midnight in UTC; an hour with a zone is an instant.
_MIDNIGHT = r"(?:[ T]00:00(?::00(?:[.,]0+)?)? ?(?:Z|[+-]00:?00))"
_INSTANT = rf"(?:[ T](?P<hour>{_HOUR}):(?P<minute>[0-5]\d){_SECOND} ?(?P<offset>Z|[+-]\d{{2}}:?\d{{2}})?)?"
_ISO = r"(?P<y>\d{4})-(?P<m>\d{1,2})-(?P<d>\d{1,2})"
_MONTHS = ("ene|jan", "feb", "mar", "abr|apr", "may", "jun", "jul", "ago|aug", "sep|set", "oct", "nov", "dic|dec")
_MONTH = re.compile("|".join(f"(?P<m{number}>{names})" for number, names in enumerate(_MONTHS, start=1)))
_WITH_ZONE = "yyyy-mm-dd hh:mm with its zone"
_SERIAL, _SERIAL_1904 = "Excel serial", "Excel serial from 1904"
# A column of which a spreadsheet understood some dates: it may have read those with day and month swapped.
_CELLS = "Excel date"
_WRITTEN = {
    "yyyy-mm-dd": f"{_ISO}(?:{_MIDNIGHT}|{_TIME})",
    "dd-mm-yyyy": r"(?P<d>\d{1,2})-(?P<m>\d{1,2})-(?P<y>\d{4})" + _TIME,
    "dd/mm/yyyy": r"(?P<d>\d{1,2})/(?P<m>\d{1,2})/(?P<y>\d{4})" + _TIME,
    "dd.mm.yyyy": r"(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?P<y>\d{4})" + _TIME,
    "yyyy/mm/dd": r"(?P<y>\d{4})/(?P<m>\d{1,2})/(?P<d>\d{1,2})" + _TIME,
    "yyyymmdd": r"(?P<y>(?:19|20)\d{2})(?P<m>\d{2})(?P<d>\d{2})",
    "dd-mmm-yyyy": rf"(?P<d>\d{{1,2}})[-/ ](?P<name>{'|'.join(_MONTHS)})[a-z]*\.?[-/ ](?P<y>\d{{4}})" + _TIME,
    "dd-mmm-yy": rf"(?P<d>\d{{1,2}})[-/ ](?P<name>{'|'.join(_MONTHS)})[a-z]*\.?[-/ ](?P<y>\d{{2}})" + _TIME,
    "dd/mm/yy": r"(?P<d>\d{1,2})(?P<mark>[-/.])(?P<m>\d{1,2})(?P=mark)(?P<y>\d{2})" + _TIME,
    _WITH_ZONE: _ISO + _INSTANT,
    _SERIAL: r"(?P<serial>[2-7]\d{4})(?:\.\d+)?",
    _SERIAL_1904: r"(?P<serial>[2-7]\d{4})(?:\.\d+)?",
    _CELLS: _ISO + _TIME,
}
# Digits of other scripts are no date.
FORMATS = {style: re.compile(text, re.IGNORECASE | re.ASCII) for style, text in _WRITTEN.items()}
_UNKNOWN = "unknown"
_SHORT_STYLES = frozenset({"dd-mmm-yy", "dd/mm/yy"})
_TWO_DIGIT_YEAR = re.compile(r"\d{1,2}[-/. ](?:\d{1,2}|[a-z]{3,})\.?[-/. ]\d{2}", re.IGNORECASE)
# Where two digits may be a year: statements of these years, no file of more than one.
_SHORT_YEARS = range(2015, 2050)
_CENTURY = 2000
_LONGEST_FILE = timedelta(days=366)
_TERMS = re.compile(r"(?:credito\s+)?(?:a\s+)?(\d{1,3})\s*d[ií]as?(?:\s+credito)?", re.IGNORECASE)
_AT_ONCE = {"contado", "al contado", "pue"}
NO_DAY = Message("books.no_day_of_trade")
_ANY_ZONE = ZoneInfo("UTC")


class DateError(RefusalError):
    """Text that is not a date under the file's convention."""


def to_date(text: str, style: str, zone: ZoneInfo) -> date:
    """Read one date written in the file's style; an instant is the day it was in the zone."""
    match = FORMATS[style].fullmatch(text) if style != _UNKNOWN else None
    if match is None:
        raise DateError(_why_not(text, style))
    if style in (_SERIAL, _SERIAL_1904):
        return (_SERIAL_ZERO if style == _SERIAL else _SERIAL_ZERO_1904) + timedelta(days=int(match["serial"]))
    year = int(match["y"]) + (_CENTURY if style in _SHORT_STYLES else 0)
    if year not in YEARS:
        raise DateError(NO_DAY)
    try:
        on = date(year, _month(match), int(match["d"]))
        on = _local(on, match, zone) if style == _WITH_ZONE and match["offset"] else on
    except (ValueError, OverflowError):
        raise DateError("books.not_in_calendar", style=Message(style)) from None
    if on.year not in YEARS:
        raise DateError(NO_DAY)
    return on


def _why_not(text: str, style: str) -> Message:
    if _TWO_DIGIT_YEAR.fullmatch(text):
        return Message("books.two_digit_year")
    if style == _CELLS:
        return Message("books.no_date_cell")
    if style == _UNKNOWN:
        return Message("books.unknown_date_form")
    return Message("books.other_date_style", {"style": Message(style)})


def _month(match: re.Match[str]) -> int:
    name = match.groupdict().get("name")
    if name is None:
        return int(match["m"])
    found = _MONTH.match(name.lower())
    assert found is not None
    return int(str(found.lastgroup)[1:])


def _local(on: date, match: re.Match[str], zone: ZoneInfo) -> date:
    offset = match["offset"].replace("Z", "+00:00")
    written = f"{on.isoformat()}T{int(match['hour']):02d}:{match['minute']}{offset}"
    return datetime.fromisoformat(written).astimezone(zone).date()


def decide_style(cells: Iterable[Cell], *, from_1904: bool = False, may_be_short: bool = False) -> str:
    """Choose the style that reads most of the file's dates; the rest are then refused by name.

    Years of two digits are read if `may_be_short` is set and the file's dates cannot mean other days.
    """
    written = list(cells)
    if any(isinstance(cell, date) for cell in written):
        return _CELLS
    counts = Counter(text for cell in written if (text := to_text(cell)))
    fits = {style: sum(count for text, count in counts.items() if _fits(text, style)) for style in FORMATS}
    best = max(FORMATS, key=lambda style: fits[style])
    if counts and not fits[best]:
        # A day of a year that is out of range shows the style all the same, so that the year is what is refused.
        return next((style for style in FORMATS if any(_is_of_no_trade(text, style) for text in counts)), _UNKNOWN)
    if best in _SHORT_STYLES and not (may_be_short and _is_one_reading(counts, best)):
        return _UNKNOWN
    return _SERIAL_1904 if best == _SERIAL and from_1904 else best


def _is_one_reading(texts: Iterable[str], style: str) -> bool:
    """Return True if two digits at the end are plausible years, and those at the beginning are not."""
    matches = [match for text in texts if (match := FORMATS[style].fullmatch(text))]
    day_first = [(match["y"], _month(match), match["d"]) for match in matches]
    if not _are_plausible(day_first):
        return False
    return style == "dd-mmm-yy" or not _are_plausible([(day, month, year) for year, month, day in day_first])


def _are_plausible(written: Iterable[tuple[str, int, str]]) -> bool:
    try:
        days = [date(_CENTURY + int(year), month, int(day)) for year, month, day in written]
    except ValueError:
        return False
    return max(days) - min(days) <= _LONGEST_FILE and all(day.year in _SHORT_YEARS for day in days)


def to_term(text: str, issued_on: date) -> date | None:
    """Read a due date written as terms: `30 días` after issue, or at once."""
    plain = text.strip().lower().replace("é", "e")
    if plain in _AT_ONCE:
        return issued_on
    match = _TERMS.fullmatch(plain)
    return issued_on + timedelta(days=int(match[1])) if match else None


def _is_of_no_trade(text: str, style: str) -> bool:
    try:
        to_date(text, style, _ANY_ZONE)
    except DateError as error:
        return error.message == NO_DAY
    return False


def _fits(text: str, style: str) -> bool:
    try:
        to_date(text, style, _ANY_ZONE)
    except DateError:
        return False
    return True
