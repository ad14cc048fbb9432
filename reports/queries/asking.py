"""The language in which lists are asked: `customer=Panadería balance=>100000 due=2026-10`, in an address or a text box.

Pure. A value of text is found inside cells, after `=` it is the whole cell; numbers and days take `>`, `>=`, `<`, `<=`
and `low..high`. `|` stands between alternatives, `-` is an empty cell, `!` before a value takes its rows out.
"""

import re
import unicodedata
from calendar import monthrange
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TypeAlias
from zoneinfo import ZoneInfo

from consumer.facts.columns import Column, Kind
from consumer.facts.messages import LANGUAGES, RefusalError
from reports.shapes.definitions import label_of

Bound: TypeAlias = Decimal | date
Say: TypeAlias = Callable[[str], str]
# How the cells of a column are said; None where they stand as they are.
Speak: TypeAlias = Callable[[str], Say | None]
TEXTS = (Kind.TEXT, Kind.ID)
DAYS = (Kind.DATE, Kind.INSTANT)
EMPTY = "-"
SIZES = (25, 50, 100, 200, 500)
_TODAY = ("today", "hoy")
# What a short name such as `customer` or `due` stands for, the likeliest ending first.
_ENDINGS = ("_name", "_id", "_on", "_date", "_at")
_TERM = re.compile(r"""(?<!\S)([\w-]+)(?:=(?=\S)|(?=[<>]))([!=<>]*"[^"]*"|\S+)|"([^"]*)"|(\S+)""")
_SIGN = re.compile(r"(>=|<=|>|<|=|)(.*)", re.DOTALL)
# Fifteen digits fit every database's integers in minor units too.
_GROUPED = re.compile(r"-?\d{1,3}([.,])\d{3}(?:\1\d{3}){0,3}(?:(?!\1)[.,]\d{1,9})?", re.ASCII)
_PLAIN = re.compile(r"-?\d{1,15}(?:[.,]\d{1,9})?", re.ASCII)
_YEAR_FIRST = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?", re.ASCII)
_YEAR_LAST = re.compile(r"(?:(?:(\d{1,2})[-/])?(\d{1,2})[-/])(\d{4})", re.ASCII)


class AskedError(RefusalError):
    """A filter, a sort or a choice of columns that a list does not have."""


@dataclass(frozen=True, slots=True)
class Range:
    """From `low` to `high`, either of them open; a strict one leaves its ends out."""

    low: Bound | None = None
    high: Bound | None = None
    is_strict: bool = False


@dataclass(frozen=True, slots=True)
class Condition:
    """What the cells of one column must be: one of the texts or ranges, or empty."""

    column: Column
    texts: tuple[str, ...] = ()
    ranges: tuple[Range, ...] = ()
    is_whole: bool = False
    is_empty: bool = False
    is_negated: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """What a reader asks of a list: its filters, free words, order, columns and the rows of a page."""

    conditions: tuple[Condition, ...] = ()
    words: str = ""
    sort: Column | None = None
    is_descending: bool = False
    columns: tuple[Column, ...] = ()
    size: int = 0

    def where(self, condition: Condition) -> "Asked":
        """Return the same with one more filter."""
        return replace(self, conditions=(*self.conditions, condition))


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The columns that may be asked for, and every name that each goes by."""

    table: str
    columns: Sequence[Column]
    today: date
    names: Mapping[str, Column] = field(default_factory=dict)

    def find(self, name: str) -> Column:
        """Return the column of a name, a heading in any language or a beginning; raise AskedError if there is none."""
        word = fold(name).replace("_", " ").replace("-", " ")
        found = self.names.get(word)
        if found is None:
            known = ", ".join(column.name for column in self.columns)
            raise AskedError("list.no_column", name=name[:60], known=known)
        return found


def learn(table: str, columns: Sequence[Column], today: date) -> Vocabulary:
    """Name the columns of a list: by name, then by heading, then by a short form."""
    names: dict[str, Column] = {column.name.replace("_", " "): column for column in columns}
    for language in LANGUAGES:
        for column in columns:
            names.setdefault(fold(label_of(table, column.name, language)).removesuffix(" (utc)"), column)
    for ending in _ENDINGS:
        for column in columns:
            if column.name.endswith(ending):
                names.setdefault(column.name.removesuffix(ending).replace("_", " "), column)
    for column in columns:
        names.setdefault(column.name.partition("_")[0], column)
    return Vocabulary(table, columns, today, names)


def read_asked(known: Vocabulary, filters: Iterable[tuple[str, str]], box: str, *, sort: str, columns: str) -> Asked:
    """Read what an address asks: filters by column, a text box of the same language, order and columns."""
    terms, words = _split(box)
    read = [_read(known, name, value) for name, value in (*filters, *terms) if value]
    # A blank, a bare ! or | asks nothing.
    conditions = tuple(one for one in read if one.texts or one.ranges or one.is_empty)
    name = sort.removeprefix("-")
    chosen = tuple(dict.fromkeys(known.find(one) for one in columns.split(",") if one))
    order = known.find(name) if name else None
    return Asked(conditions, words, order, sort.startswith("-"), chosen)


def _split(box: str) -> tuple[list[tuple[str, str]], str]:
    """Split the text of a box into its terms and its free words."""
    found = _TERM.findall(box)
    terms = [(name, value.replace('"', "")) for name, value, _, _ in found if name]
    return terms, " ".join(quoted or bare for name, _, quoted, bare in found if not name)


def _read(known: Vocabulary, name: str, value: str) -> Condition:
    column, rest = known.find(name), value.strip().removeprefix("!")
    parts = [part.strip() for part in rest.split("|")]
    asked = Condition(column, is_empty=EMPTY in parts, is_negated=value.strip().startswith("!"))
    parts = [part for part in parts if part not in {EMPTY, ""}]
    if column.kind in TEXTS:
        return replace(asked, texts=tuple(part.removeprefix("=") for part in parts), is_whole=rest.startswith("="))
    return replace(asked, ranges=tuple(_to_range(column, part, known.today) for part in parts))


def _to_range(column: Column, text: str, today: date) -> Range:
    low, dots, high = text.partition("..")
    if dots:
        return Range(_ends(column, low, today)[0] if low else None, _ends(column, high, today)[1] if high else None)
    match = _SIGN.fullmatch(text)
    sign, rest = match.groups() if match else ("", text)
    first, last = _ends(column, rest.strip(), today)
    ranges = {">": Range(last, None, True), ">=": Range(first), "<": Range(None, first, True), "<=": Range(None, last)}
    return ranges.get(sign, Range(first, last))


def _ends(column: Column, text: str, today: date) -> tuple[Bound, Bound]:
    """Return the first and the last of what a text means: a year and a month have many days."""
    if column.kind in DAYS:
        days = (today, today) if fold(text) in _TODAY else _to_days(text)
        if days is None:
            raise AskedError("list.bad_day", name=column.name, value=text[:60])
        return days
    number = to_number(text)
    if number is None:
        raise AskedError("list.bad_number", name=column.name, value=text[:60])
    return number, number


def _to_days(text: str) -> tuple[date, date] | None:
    if match := _YEAR_FIRST.fullmatch(text):
        year, month, day = match.groups()
    elif match := _YEAR_LAST.fullmatch(text):
        day, month, year = match.groups()
    else:
        return None
    try:
        first = date(int(year), int(month or 1), int(day or 1))
    except ValueError:
        return None
    last_month = int(month or 12)
    last = int(day) if day else monthrange(first.year, last_month)[1]
    return first, date(first.year, last_month, last)


def read_day(text: str) -> date | None:
    """Read one day, the year first or last."""
    first, last = _to_days(text.strip()) or (None, None)
    return first if first == last else None


def to_number(text: str) -> Decimal | None:
    """Read a number in any local writing: three digits after a mark are thousands, other numbers of digits decimals."""
    bare = text.replace("$", "").replace(" ", "")
    if match := _GROUPED.fullmatch(bare):
        bare = bare.replace(match.group(1), "")
    elif not _PLAIN.fullmatch(bare):
        return None
    return Decimal(bare.replace(",", "."))


def fold(text: str) -> str:
    """Return a text without accents and in small letters, as people search."""
    parts = unicodedata.normalize("NFKD", text.casefold())
    return "".join(part for part in parts if not unicodedata.combining(part))


def is_meant(value: str, say: Say, text: str, condition: Condition) -> bool:
    """Return True if a text means a value that readers see in words: the words, or the value itself."""
    names, asked = (fold(value), fold(say(value))), fold(text)
    return asked in names if condition.is_whole else any(asked in name for name in names)


def scale(asked: Range, digits: int) -> Range:
    """Return a range of amounts in minor units."""
    low, high = (None if one is None else Decimal(str(one)).scaleb(digits) for one in (asked.low, asked.high))
    return replace(asked, low=low, high=high)


def to_moments(asked: Range, zone: str) -> Range:
    """Return a range of days as moments: from the first midnight of a zone to the last instant of the last day."""
    own, day = ZoneInfo(zone), timedelta(days=1)
    # The last days there are have no midnight after them in every zone.
    low, high = (
        datetime.combine(min(one, date.max - 2 * day), time(), own) if isinstance(one, date) else None
        for one in (asked.low, asked.high)
    )
    if asked.is_strict:
        return Range(low and low + day, high and high - timedelta(microseconds=1))
    return Range(low, high and high + day - timedelta(microseconds=1))
