"""How late events came in the last month, by webhook or in the list, as it was counted.

A percentile is the worst lateness of the step it falls in, which never flatters.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from math import ceil

import sqlalchemy as sa
from sqlmodel import Session

from consumer.facts.clock import format_duration
from consumer.facts.tables.columns import core_of
from consumer.facts.tables.sync import Lateness

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
    """Find the lateness that this share of the events does not exceed."""
    left = ceil(sum(count for count, _ in steps) * thousandths / 1_000)
    for count, worst in steps:
        left -= count
        if left <= 0:
            return worst
    return steps[-1][1]
