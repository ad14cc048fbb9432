"""The bank calendar a connection uses: the library's days with what the merchant knows better, in a file.

`calendars/cl.toml` (or `mx.toml`) in the data folder, since laws move days within weeks:

    until = 2030            # the last year the days below and the library's are trusted for; may be left out
    [[add]]                 # closed though the library calls it open
    on = 2026-11-20
    reason = "Law 21.999"
    [[remove]]              # open though the library calls it closed
    on = 2026-12-31
    reason = "..."
"""

import tomllib
from collections.abc import Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any

from consumer.facts.bankdays import BankCalendar, calendar_of
from consumer.facts.countries import COUNTRIES

_KEYS = {"until", "add", "remove"}


class CalendarError(ValueError):
    """A calendar file that cannot be used; one line that names it."""


def read_calendar(data_dir: Path, country: str) -> BankCalendar:
    """Read the merchant's own days, where there are any."""
    path = data_dir / "calendars" / f"{country}.toml"
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return calendar_of(country)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CalendarError(f"{path.name} in calendars cannot be read: {error}") from None
    unknown = sorted(set(values) - _KEYS)
    if unknown:
        raise CalendarError(f"{path.name} in calendars: {unknown[0]} is not known; known are add, remove, until")
    known = calendar_of(country)
    until = values.get("until", known.last_year)
    if isinstance(until, bool) or not isinstance(until, int):
        raise CalendarError(f"{path.name} in calendars: until must be a year, not {until!r}")
    return BankCalendar(
        COUNTRIES[country],
        add=_days(path.name, "add", values.get("add", [])),
        remove=_days(path.name, "remove", values.get("remove", [])),
        last_year=min(until, known.last_year),
    )


def _days(name: str, kind: str, entries: Any) -> frozenset[date]:
    if not isinstance(entries, list):
        raise CalendarError(f"{name} in calendars: {kind} must be written [[{kind}]] with on and reason")
    return frozenset(_day(name, kind, entry) for entry in entries)


def _day(name: str, kind: str, entry: Any) -> date:
    on = entry.get("on") if isinstance(entry, Mapping) else None
    if not isinstance(on, date) or isinstance(on, datetime):
        raise CalendarError(f"{name} in calendars: each [[{kind}]] needs on = YYYY-MM-DD")
    if not str(entry.get("reason", "")).strip():
        raise CalendarError(f"{name} in calendars: {on} needs its reason")
    return on


def to_calendar(country: str, edition: str) -> BankCalendar:
    """Bring a calendar back as a kept run named it: the merchant's days and limit stand in its edition."""
    changes = {sign: frozenset(date.fromisoformat(word[1:]) for word in edition.split() if word[0] == sign)
               for sign in "+-"}  # fmt: skip
    limits = [int(word.removeprefix("until:")) for word in edition.split() if word.startswith("until:")]
    known = calendar_of(country)
    return BankCalendar(
        COUNTRIES[country], add=changes["+"], remove=changes["-"], last_year=min([*limits, known.last_year])
    )
