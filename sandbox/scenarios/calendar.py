"""Bank days of Chile and Mexico, written by hand, and the windows that payouts close."""

from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

ZONES = {"cl": ZoneInfo("America/Santiago"), "mx": ZoneInfo("America/Mexico_City")}
YEARS = (2026, 2027)
CHILE_CUT = time(14)

# Public holidays of Chile on any weekday, and 31 December, when banks alone are closed.
_CHILE = """
2026: 01-01 04-03 04-04 05-01 05-21 06-21 06-29 07-16 08-15 09-18 09-19 10-12 10-31 11-01 12-08 12-25 12-31
2027: 01-01 03-26 03-27 05-01 05-21 06-21 06-28 07-16 08-15 09-17 09-18 09-19 10-11 10-31 11-01 12-08 12-25 12-31
"""
# 2026 as the CNBV published it; 2027 by the same rules, to be compared once its list is out.
_MEXICO = """
2026: 01-01 02-02 03-16 04-02 04-03 05-01 09-16 11-02 11-16 12-12 12-25
2027: 01-01 02-01 03-15 03-25 03-26 05-01 09-16 11-02 11-15 12-12 12-25
"""


def _read(table: str) -> frozenset[date]:
    days: set[date] = set()
    for line in table.strip().splitlines():
        year, _, rest = line.partition(":")
        days.update(date.fromisoformat(f"{year}-{day}") for day in rest.split())
    return frozenset(days)


CLOSED = {"cl": _read(_CHILE), "mx": _read(_MEXICO)}
SATURDAY = 5


def is_bank_day(on: date, country: str) -> bool:
    """Return whether banks of the country open on that day."""
    if on.year not in YEARS:
        raise ValueError(f"there is no bank calendar for {on.year}: start the scenario inside 2026 or 2027")
    return on.weekday() < SATURDAY and on not in CLOSED[country]


@lru_cache(maxsize=8_192)
def add_bank_days(on: date, count: int, country: str) -> date:
    """Return the bank day `count` steps after a day, before it where negative; 0 keeps a bank day or moves on."""
    step = timedelta(days=1 if count >= 0 else -1)
    while not is_bank_day(on, country):
        on += step
        if count and is_bank_day(on, country):
            count -= 1 if count > 0 else -1
    while count:
        on += step
        if is_bank_day(on, country):
            count -= 1 if count > 0 else -1
    return on


def local_date(at: datetime, country: str) -> date:
    """Return the date the people of the country read on their wall."""
    return at.astimezone(ZONES[country]).date()


def bank_day(at: datetime, country: str) -> date:
    """Return the bank day whose payout carries what happened at this moment."""
    local = at.astimezone(ZONES[country])
    late = country == "cl" and local.time() >= CHILE_CUT and is_bank_day(local.date(), country)
    return add_bank_days(local.date(), 1 if late else 0, country)


def bank_days(since: date, until: date, country: str) -> list[date]:
    """Return every bank day from `since` up to but without `until`."""
    days = [since + timedelta(days=n) for n in range((until - since).days)]
    return [day for day in days if is_bank_day(day, country)]


def next_month(month: date) -> date:
    """Return the first day of the month after that of the first day given."""
    return (month + timedelta(days=31)).replace(day=1)


def previous_month(month: date) -> date:
    """Return the first day of the month before that of the first day given."""
    return (month - timedelta(days=1)).replace(day=1)


@lru_cache(maxsize=8_192)
def at_local(on: date, clock: time, country: str) -> datetime:
    """Return the moment at which the country's clocks show this time."""
    return datetime.combine(on, clock, tzinfo=ZONES[country]).astimezone(UTC)
