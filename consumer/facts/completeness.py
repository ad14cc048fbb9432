"""How far windows make a stream complete: up to the first that is not closed, or was never asked for."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Protocol

import sqlalchemy as sa
from sqlmodel import Session, col

from consumer.facts.tables.sync import Window, WindowState

BEGINNING = datetime(1, 1, 1, tzinfo=UTC)


class Stretch(Protocol):
    """A stretch of time of a stream; without `since` it begins with the log."""

    @property
    def since(self) -> datetime | None: ...

    @property
    def until(self) -> datetime: ...


def complete_until(session: Session, connection: str, stream: str) -> datetime | None:
    """Say up to when everything that was ever asked of a stream is here; None where nothing is."""
    asked = sa.select(col(Window.since), col(Window.until), col(Window.state))
    mine = asked.where(col(Window.connection) == connection, col(Window.stream) == stream)
    windows = sorted(session.execute(mine).all(), key=start_of)
    closed = [window for window in windows if window.state == WindowState.CLOSED]
    if not closed or start_of(closed[0]) > start_of(windows[0]):
        return None
    limits = [start_of(window) for window in windows if window.state != WindowState.CLOSED]
    reached = min([reach(closed), *limits])
    return None if reached == BEGINNING else reached


def reach(windows: Sequence[Stretch]) -> datetime:
    """Find how far windows, in the order of their starts, reach without a break."""
    reached = start_of(windows[0])
    for window in windows:
        if start_of(window) > reached:
            break
        reached = max(reached, window.until)
    return reached


def start_of(window: Stretch) -> datetime:
    return window.since or BEGINNING
