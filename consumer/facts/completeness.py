"""How far windows make a stream complete, and how late its events come.

A stream is complete up to the first window that failed, or was never read to its end. What was complete stays so while
it is read again, or where a process that read it again was killed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from math import ceil
from typing import Protocol

import sqlalchemy as sa
from sqlmodel import Session, col

from consumer.facts.clock import format_duration
from consumer.facts.tables.sync import Lateness, Window, WindowState
from consumer.facts.tables.types import core_of

BEGINNING = datetime(1, 1, 1, tzinfo=UTC)


class Stretch(Protocol):
    """A stretch of time of a stream; without `since` it begins with the log."""

    @property
    def since(self) -> datetime | None: ...

    @property
    def until(self) -> datetime: ...


def complete_until(session: Session, connection: str, stream: str) -> datetime | None:
    """Return the moment up to which all that was ever asked of a stream is here, or None."""
    asked = sa.select(col(Window.since), col(Window.until), col(Window.state), col(Window.reason))
    mine = asked.where(col(Window.connection) == connection, col(Window.stream) == stream)
    windows = sorted(session.execute(mine).all(), key=start_of)
    closed = [window for window in windows if window.state == WindowState.CLOSED]
    if not closed or start_of(closed[0]) > start_of(windows[0]):
        return None
    failed = [window for window in windows if window.state != WindowState.CLOSED and has_failed(window)]
    reached = min([reach(closed), *map(start_of, failed)])
    return None if reached == BEGINNING else reached


def has_failed(window: sa.Row[tuple[datetime | None, datetime, str, str | None]]) -> bool:
    """Return True if a window is known to lack something; a killed process may have left its reason alone."""
    return window.state == WindowState.FAILED or bool(window.reason)


def reach(windows: Sequence[Stretch]) -> datetime:
    """Return how far windows, in the order of their starts, reach without a break."""
    reached = start_of(windows[0])
    for window in windows:
        if start_of(window) > reached:
            break
        reached = max(reached, window.until)
    return reached


def start_of(window: Stretch) -> datetime:
    return window.since or BEGINNING


MEMORY = timedelta(days=30)
_TABLE = core_of(Lateness)


class Way(StrEnum):
    WEBHOOK = "webhook"
    LIST = "list"


@dataclass(frozen=True, slots=True)
class Percentiles:
    """How late the events of a month came one way, in seconds."""

    events: int
    p50: int
    p95: int
    p99: int
    p999: int
    worst: int

    def __str__(self) -> str:
        shares = {"p50": self.p50, "p95": self.p95, "p99": self.p99, "p99.9": self.p999, "worst": self.worst}
        shown = ", ".join(f"{name} {format_duration(timedelta(seconds=late))}" for name, late in shares.items())
        return f"{shown} of {self.events} events"


def percentiles(session: Session, name: str, way: Way, *, now: datetime) -> Percentiles | None:
    """Read a month of one way; None where nothing was measured."""
    column = _TABLE.c
    asked = (
        sa.select(column.step_seconds, sa.func.sum(column.events), sa.func.max(column.worst_seconds))
        .where(column.connection == name, column.way == way.value, column.on >= (now - MEMORY).date())
        .group_by(column.step_seconds)
        .order_by(column.step_seconds)
    )
    steps = [(int(count), max(0, int(worst))) for _, count, worst in session.connection().execute(asked)]
    total = sum(count for count, _ in steps)
    if not total:
        return None

    shares = (_at(steps, thousandths) for thousandths in (500, 950, 990, 999, 1_000))
    return Percentiles(total, *shares)


def _at(steps: Sequence[tuple[int, int]], thousandths: int) -> int:
    """Return the lateness that this share of the events does not exceed."""
    left = ceil(sum(count for count, _ in steps) * thousandths / 1_000)
    for count, worst in steps:
        left -= count
        if left <= 0:
            return worst
    return steps[-1][1]
