"""The sandbox's clock: it stands still until it is advanced, or walks with real time."""

import re
import threading
import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

START_AT = datetime(2026, 10, 1, 3, 0, tzinfo=UTC)
WHOLE_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


class Clock:
    """The moment the sandbox believes it is."""

    def __init__(self, start_at: datetime = START_AT) -> None:
        self._now = start_at

    def now(self) -> datetime:
        return self._now

    def move_to(self, at: datetime) -> None:
        """Move forward to that moment, never back."""
        self._now = max(self._now, at)


class Ticker:
    """A thread that advances the sandbox by the real time that went by."""

    def __init__(self, advance: Callable[[timedelta], object], *, every: float = 0.25) -> None:
        self._advance = advance
        self._every = every
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sandbox-clock", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        before = time.monotonic()
        while not self._stopped.wait(self._every):
            passed, before = time.monotonic() - before, time.monotonic()
            self._advance(timedelta(milliseconds=round(passed * 1000)))


def to_iso(at: datetime) -> str:
    """Return the text the provider writes for a moment: UTC with milliseconds."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def to_moment(text: str) -> datetime:
    """Read a date or datetime; without an offset it is UTC. Raise ValueError."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"{text} is no moment in UTC") from None


def to_day(text: str) -> date | None:
    """Return the date if the text names a whole day, None if a moment. Raise ValueError on an impossible day."""
    return date.fromisoformat(text) if WHOLE_DAY.fullmatch(text) else None
