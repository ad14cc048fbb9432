"""The ledger of windows: every stretch of time asked of a stream, and how far that makes the stream complete."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session, select

from consumer.facts.completeness import complete_until, reach, start_of
from consumer.facts.store import put
from consumer.facts.tables.columns import core_of
from consumer.facts.tables.sync import Checkpoint, Window, WindowState
from consumer.provider.paging import Page

EVENTS_STREAM = "events"
MOST_PASSES = 10
_GROWING = f"events kept appearing in {MOST_PASSES} reads"
_TABLE = core_of(Window)


def all_windows(session: Session, connection: str, stream: str) -> list[Window]:
    asked = select(Window).where(Window.connection == connection, Window.stream == stream)
    return sorted(session.exec(asked), key=start_of)


def unclosed_windows(session: Session, connection: str | None = None, stream: str | None = None) -> list[Window]:
    """Find the gaps, newest first: what was asked for and is not closed."""
    asked = select(Window).where(Window.state != WindowState.CLOSED)
    if connection is not None:
        asked = asked.where(Window.connection == connection)
    if stream is not None:
        asked = asked.where(Window.stream == stream)
    return sorted(session.exec(asked), key=lambda window: (window.until, window.id), reverse=True)


def record_windows(
    session: Session | sa.Connection,
    connection: str,
    stream: str,
    spans: Iterable[tuple[datetime | None, datetime]],
    *,
    opened_at: datetime,
) -> list[Window]:
    """Write down what is about to be asked, so that a killed run leaves it as a gap."""
    windows = [
        Window(
            connection=connection,
            stream=stream,
            since=since,
            until=until,
            state=WindowState.OPEN,
            opened_at=opened_at,
        )
        for since, until in spans
    ]
    for window in windows:
        inserted = _TABLE.insert().values(window.model_dump(exclude={"id"})).returning(_TABLE.c.id)
        window.id = session.execute(inserted).scalar_one()
    return windows


def advance(session: Session | sa.Connection, window: Window, **changes: Any) -> bool:
    """Move a window on, unless another run has moved it since we looked; says whether it was ours to move."""
    values = {"of_id": window.id, "of_pages": window.pages, **changes}
    moved = session.execute(_advancing(tuple(changes)), values)
    return moved.rowcount == 1  # type: ignore[attr-defined, no-any-return]


@lru_cache(maxsize=64)
def _advancing(names: tuple[str, ...]) -> sa.Update:
    """Build the statement once for each set of columns: it runs with every page."""
    mine = (_TABLE.c.id == sa.bindparam("of_id")) & (_TABLE.c.pages == sa.bindparam("of_pages"))
    is_open = _TABLE.c.state != WindowState.CLOSED.value
    return _TABLE.update().where(mine, is_open).values({name: sa.bindparam(name) for name in names})


def next_place(window: Window, page: Page, *, added: int, now: datetime) -> dict[str, object]:
    """Say where a window stands after a page; it closes after a repeated read that added nothing."""
    added_in_pass = window.added_in_pass + added
    counted = len(page.items) if window.pass_number == 1 else added
    place: dict[str, object] = {"pages": window.pages + 1, "events": window.events + counted, "reason": None}
    if page.next is not None:
        return place | {"state": WindowState.OPEN, "cursor": page.next, "added_in_pass": added_in_pass}
    place |= {"cursor": None, "added_in_pass": 0}
    if window.pass_number > 1 and added_in_pass == 0:
        return place | {"state": WindowState.CLOSED, "closed_at": now}
    if window.pass_number >= MOST_PASSES:
        return place | {"state": WindowState.FAILED, "pass_number": 1, "reason": _GROWING}
    return place | {"state": WindowState.OPEN, "pass_number": window.pass_number + 1}


def covered_until(windows: Sequence[Window]) -> datetime | None:
    """Find how far windows, closed or not, reach without a break from the beginning of the log."""
    if not windows or windows[0].since is not None:
        return None
    return reach(windows)


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
