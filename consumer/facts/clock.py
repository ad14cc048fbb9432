"""Time: aware UTC instants, local business dates, and the edges of a local day."""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

# Programs write 0001-01-01 or 9999-12-31 for no date; no calendar of banks reaches there.
YEARS = range(1900, 2200)


def utc_now() -> datetime:
    return datetime.now(UTC)


def to_instant(text: str) -> datetime:
    """Read an ISO 8601 instant; text without a zone is refused, since guessing one moves money between days."""
    instant = datetime.fromisoformat(text)
    if instant.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone")
    return instant.astimezone(UTC)


def local_date(instant: datetime, zone: str) -> date:
    return instant.astimezone(ZoneInfo(zone)).date()


def day_start(on: date, zone: str) -> datetime:
    """Return the first instant of a local day in UTC, also where the clock skips midnight."""
    midnight = datetime.combine(on, time(), tzinfo=ZoneInfo(zone))
    start = midnight.astimezone(UTC)
    while start.astimezone(ZoneInfo(zone)).date() < on:
        start += timedelta(minutes=30)
    return start


def local_instant(on: date, at: time, zone: str) -> datetime:
    return datetime.combine(on, at, tzinfo=ZoneInfo(zone)).astimezone(UTC)


def format_instant(instant: datetime) -> str:
    """Return UTC text with a trailing Z and no more precision than there is."""
    return instant.astimezone(UTC).isoformat().replace("+00:00", "Z")


def format_duration(duration: timedelta) -> str:
    """Return a duration in words, of which the two largest are enough: `1 hour 30 minutes`, `2 days`."""
    left, parts = max(0, round(duration.total_seconds())), []
    for word, size in (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1)):
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count} {word}{'s' if count > 1 else ''}")
    return " ".join(parts[:2]) or "0 seconds"


def to_utc(moment: date | datetime | None, zone: str) -> datetime | None:
    """Return a day or a time, local unless it bears a zone, as an instant."""
    if moment is None:
        return None
    if isinstance(moment, datetime):
        if moment.tzinfo is None:
            return local_instant(moment.date(), moment.time(), zone)
        return moment.astimezone(UTC)
    return day_start(moment, zone)
