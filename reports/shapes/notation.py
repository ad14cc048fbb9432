"""Pure: amounts, dates and times as people of each country write them; integers in, text out."""

import re
from datetime import date, datetime
from zoneinfo import ZoneInfo

from consumer.facts.messages import word, write_day, write_month
from consumer.facts.money import format_decimal, group_digits

_SYMBOLS = {"CLP": "$", "MXN": "$", "CLF": "UF ", "USD": "US$", "EUR": "€"}


def format_amount(amount: int, currency: str, language: str, *, symbol: bool = False) -> str:
    """Write `-$1.234` for Chile and `-$1,234.50` elsewhere; without the symbol only digits, for columns of figures."""
    sign, digits = ("-" if amount < 0 else ""), group_digits(format_decimal(abs(amount), currency), language)
    if not symbol:
        return sign + digits
    return f"{sign}{_SYMBOLS.get(currency, f'{currency} ')}{digits}"


def format_figure(text: str, language: str) -> str:
    """Write decimal text as an amount of a list is stored, grouped for people."""
    sign = "-" if text.startswith("-") else ""
    return sign + group_digits(text.removeprefix("-"), language)


def to_plain(text: str, language: str) -> str:
    """Read an amount as the reader's country writes it into plain decimal text; anything else is refused."""
    bare = text.replace("$", "").replace(" ", "")
    group, point = (".", ",") if language == "es-CL" else (",", ".")
    shape = rf"-?(\d+|\d{{1,3}}({re.escape(group)}\d{{3}})+)({re.escape(point)}\d+)?"
    if not re.fullmatch(shape, bare, re.ASCII):
        raise ValueError(f"{text!r} is not an amount")
    return bare.replace(group, "").replace(point, ".")


def format_count(count: int, language: str) -> str:
    return group_digits(str(count), language)


def format_date(on: date, language: str) -> str:
    return write_day(on, language)


def format_month(month: str, language: str) -> str:
    return write_month(month, language)


def format_moment(at: datetime, language: str, zone: str) -> str:
    """Write an instant in the reader's zone, to the minute."""
    local = at.astimezone(ZoneInfo(zone))
    return f"{format_date(local.date(), language)} {local:%H:%M}"


def format_duration(seconds: int, language: str) -> str:
    """Write a length of time in its largest whole unit: what is late by hours needs no seconds."""
    days = word("unit", "days", language)
    for size, unit in ((86_400, days), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{format_count(seconds // size, language)} {unit}"
    return f"{format_count(seconds, language)} s"
