"""Bank days of Chile and Mexico: which day a moment belongs to, when money is due, and the merchant's own days.

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
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

from consumer.facts.clock import local_instant
from consumer.facts.countries import COUNTRIES, Country

_FIRST_YEAR, _LAST_YEAR = 2015, 2050
_MONDAY_TO_FRIDAY = range(5)


@lru_cache(maxsize=4)
def _closed_days(country: str) -> frozenset[date]:
    import holidays  # noqa: PLC0415 - slow to load, and few commands reckon with days

    years = range(_FIRST_YEAR, _LAST_YEAR + 1)
    if country == "mx":
        # The country's own calendar lacks the CNBV days; the exchange's has all that fall on weekdays.
        return frozenset(holidays.financial_holidays("XMEX", years=years))
    # Without the bank category 31 December is missing.
    return frozenset(holidays.country_holidays("CL", categories=("public", "bank"), years=years))


@dataclass(frozen=True, slots=True)
class BankCalendar:
    country: Country
    add: AbstractSet[date] = field(default_factory=frozenset)
    remove: AbstractSet[date] = field(default_factory=frozenset)
    last_year: int = _LAST_YEAR

    def knows(self, year: int) -> bool:
        """Return True if the holidays of a year are known, and not only its weekends."""
        return _FIRST_YEAR <= year <= self.last_year

    def is_bank_day(self, on: date) -> bool:
        if on.weekday() not in _MONDAY_TO_FRIDAY or on in self.add:
            return False
        return on in self.remove or on not in _closed_days(self.country.code)

    def next_bank_day(self, on: date) -> date:
        """Return the first bank day after a date."""
        return self.shift(on, 1)

    def on_or_after(self, on: date) -> date:
        return on if self.is_bank_day(on) else self.next_bank_day(on)

    def shift(self, on: date, days: int) -> date:
        """Move by whole bank days, forwards or backwards; zero leaves the date where it is."""
        step = timedelta(days=1 if days > 0 else -1)
        for _ in range(abs(days)):
            on += step
            while not self.is_bank_day(on):
                on += step
        return on

    def days_between(self, since: date, until: date) -> int:
        """Count the bank days after `since` up to and including `until`; negative when reversed."""
        if until < since:
            return -self.days_between(until, since)
        days = (since + timedelta(days=n) for n in range(1, (until - since).days + 1))
        return sum(1 for day in days if self.is_bank_day(day))

    def window_of(self, bank_day: date) -> tuple[datetime, datetime]:
        """Return the half-open window of moments that belong to a bank day."""
        previous = self.shift(bank_day, -1)
        zone, cutoff = self.country.zone, self.country.cutoff
        if cutoff is None:
            midnight = datetime.min.time()
            return (
                local_instant(previous + timedelta(days=1), midnight, zone),
                local_instant(bank_day + timedelta(days=1), midnight, zone),
            )
        return local_instant(previous, cutoff, zone), local_instant(bank_day, cutoff, zone)

    def expected_arrival(self, bank_day: date) -> date:
        """Return the day the money should be in the bank: the same in Chile, the next bank day in Mexico."""
        return bank_day if self.country.cutoff is not None else self.next_bank_day(bank_day)

    @property
    def edition(self) -> str:
        """Name the calendar a run used, since laws move days within weeks."""
        changes = sorted(f"+{d}" for d in self.add) + sorted(f"-{d}" for d in self.remove)
        limit = [f"until:{self.last_year}"] if self.last_year != _LAST_YEAR else []
        return " ".join([f"holidays {version('holidays')} {self.country.code}", *changes, *limit])


def calendar_of(country: str) -> BankCalendar:
    return BankCalendar(COUNTRIES[country])


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


def _days(name: str, kind: str, entries: object) -> frozenset[date]:
    if not isinstance(entries, list):
        raise CalendarError(f"{name} in calendars: {kind} must be written [[{kind}]] with on and reason")
    return frozenset(_day(name, kind, entry) for entry in entries)


def _day(name: str, kind: str, entry: object) -> date:
    on = entry.get("on") if isinstance(entry, Mapping) else None
    if not isinstance(entry, Mapping) or not isinstance(on, date) or isinstance(on, datetime):
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
