"""The ledger of windows: every stretch of time asked of a stream, and how far that makes the stream complete."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session, select

from consumer.facts.store import put
from consumer.facts.tables.sync import Checkpoint, Window, WindowState

EVENTS_STREAM = "events"
_BEGINNING = datetime(1, 1, 1, tzinfo=UTC)
_TABLE: sa.Table = Window.__table__  # type: ignore[attr-defined]


def all_windows(session: Session, connection: str, stream: str) -> list[Window]:
    asked = select(Window).where(Window.connection == connection, Window.stream == stream)
    return sorted(session.exec(asked), key=_start)


def unclosed_windows(session: Session, connection: str | None = None, stream: str | None = None) -> list[Window]:
    """Find the gaps, newest first: what was asked for and is not closed."""
    asked = select(Window).where(Window.state != WindowState.CLOSED)
    if connection is not None:
        asked = asked.where(Window.connection == connection)
    if stream is not None:
        asked = asked.where(Window.stream == stream)
    return sorted(session.exec(asked), key=lambda window: (window.until, window.id), reverse=True)


def record_windows(
    session: Session,
    connection: str,
    stream: str,
    spans: Iterable[tuple[datetime | None, datetime]],
    *,
    now: datetime,
) -> list[Window]:
    """Write down what is about to be asked, so that a killed run leaves it as a gap."""
    windows = [
        Window(
            connection=connection,
            stream=stream,
            since=since,
            until=until,
            state=WindowState.OPEN,
            opened_at=now,
        )
        for since, until in spans
    ]
    session.add_all(windows)
    session.flush()
    return windows


def advance(session: Session, window: Window, **changes: Any) -> bool:
    """Move a window on, unless another run has moved it since we looked; says whether it was ours to move."""
    mine = (_TABLE.c.id == window.id) & (_TABLE.c.pages == window.pages) & (_TABLE.c.state != WindowState.CLOSED)
    moved = session.execute(_TABLE.update().where(mine).values(**changes))
    return moved.rowcount == 1  # type: ignore[attr-defined, no-any-return]


def covered_until(windows: Sequence[Window]) -> datetime | None:
    """Find how far windows, closed or not, reach without a break from the beginning of the log."""
    if not windows or windows[0].since is not None:
        return None
    return _reach(windows)


def complete_until(session: Session, connection: str, stream: str) -> datetime | None:
    """Say up to when everything that was ever asked of a stream is here; None where nothing is."""
    windows = all_windows(session, connection, stream)
    closed = [window for window in windows if window.state == WindowState.CLOSED]
    if not closed or _start(closed[0]) > _start(windows[0]):
        return None
    limits = [_start(window) for window in windows if window.state != WindowState.CLOSED]
    reach = min([_reach(closed), *limits])
    return None if reach == _BEGINNING else reach


def worst_lateness(session: Session, connection: str, stream: str, *, since: datetime) -> timedelta:
    """Find how far behind the end of what was complete an event was that the list showed only then."""
    columns = _TABLE.c
    asked = sa.select(sa.func.max(columns.late_seconds)).where(
        columns.connection == connection, columns.stream == stream, columns.opened_at >= since
    )
    return timedelta(seconds=session.execute(asked).scalar_one() or 0)


def record_checkpoint(
    session: Session, connection: str, stream: str, *, now: datetime, objects: int, offered: bool = True
) -> None:
    """Write down how far a stream is complete now; two runs that end at once both may."""
    reached = complete_until(session, connection, stream) if offered else None
    row = {"connection": connection, "stream": stream, "complete_until": reached, "pulled_at": now, "objects": objects}
    put(session.connection(), Checkpoint, {**row, "offered": offered}, keys=["connection", "stream"])


def to_spans(since: datetime, until: datetime, *, shortest: timedelta, most: int) -> list[tuple[datetime, datetime]]:
    """Split a stretch into equal windows on whole seconds, at least `shortest` long and at most `most` of them."""
    seconds = int((until - since).total_seconds())
    count = max(1, min(most, seconds // int(shortest.total_seconds())))
    edges = [since + timedelta(seconds=seconds * number // count) for number in range(count)] + [until]
    return [(first, last) for first, last in pairwise(edges) if first < last]


def _reach(windows: Sequence[Window]) -> datetime:
    reach = _start(windows[0])
    for window in windows:
        if _start(window) > reach:
            break
        reach = max(reach, window.until)
    return reach


def _start(window: Window) -> datetime:
    return window.since or _BEGINNING
