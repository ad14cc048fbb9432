"""Dates as people write them: one way of writing for the whole file, the day always before the month."""

import re
from collections.abc import Iterable
from datetime import date, timedelta

# Excel counts from a day that makes its false leap day of 1900 come out right.
_SERIAL_ZERO = date(1899, 12, 30)
_TIME = r"(?:[ T]\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?"
FORMATS: dict[str, re.Pattern[str]] = {
    "yyyy-mm-dd": re.compile(r"(?P<y>\d{4})-(?P<m>\d{1,2})-(?P<d>\d{1,2})" + _TIME),
    "dd-mm-yyyy": re.compile(r"(?P<d>\d{1,2})-(?P<m>\d{1,2})-(?P<y>\d{4})" + _TIME),
    "dd/mm/yyyy": re.compile(r"(?P<d>\d{1,2})/(?P<m>\d{1,2})/(?P<y>\d{4})" + _TIME),
    "dd.mm.yyyy": re.compile(r"(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?P<y>\d{4})" + _TIME),
    "yyyy/mm/dd": re.compile(r"(?P<y>\d{4})/(?P<m>\d{1,2})/(?P<d>\d{1,2})" + _TIME),
    "yyyymmdd": re.compile(r"(?P<y>(?:19|20)\d{2})(?P<m>\d{2})(?P<d>\d{2})"),
    "Excel serial": re.compile(r"(?P<serial>[2-7]\d{4})(?:\.\d+)?"),
}
_TWO_DIGIT_YEAR = re.compile(r"\d{1,2}[-/.]\d{1,2}[-/.]\d{2}")
_TERMS = re.compile(r"(?:credito\s+)?(?:a\s+)?(\d{1,3})\s*d[ií]as?(?:\s+credito)?", re.IGNORECASE)
_AT_ONCE = {"contado", "al contado", "pue"}


class DateError(ValueError):
    """Text that is not a date under the file's convention."""


def to_date(text: str, style: str) -> date:
    """Read one date written in the file's style."""
    match = FORMATS[style].fullmatch(text)
    if match is None:
        if _TWO_DIGIT_YEAR.fullmatch(text):
            raise DateError("has a year of two digits: write four")
        raise DateError(f"is not a date written {style} as the rest of the file")
    if style == "Excel serial":
        return _SERIAL_ZERO + timedelta(days=int(match["serial"]))
    try:
        return date(int(match["y"]), int(match["m"]), int(match["d"]))
    except ValueError:
        raise DateError(f"is no day of the calendar (written {style})") from None


def decide_style(texts: Iterable[str]) -> str:
    """Choose the style that reads most of the file's dates; the rest are then refused by name."""
    written = list(texts)
    return max(FORMATS, key=lambda style: sum(_fits(text, style) for text in written))


def to_term(text: str, issued_on: date) -> date | None:
    """Read a due date written as terms: `30 días` after issue, or at once."""
    plain = text.strip().lower().replace("é", "e")
    if plain in _AT_ONCE:
        return issued_on
    match = _TERMS.fullmatch(plain)
    return issued_on + timedelta(days=int(match[1])) if match else None


def _fits(text: str, style: str) -> bool:
    try:
        to_date(text, style)
    except DateError:
        return False
    return True
