"""The ledger of windows: every stretch of time asked of a stream, and how far that makes the stream complete.

A window is a gap until it is closed. A reading is every window of the event log with one `opened_at`: those of the run
that began it and of the runs that went on with it. It is finished when all of them are closed.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import pairwise

import msgspec
import sqlalchemy as sa
from sqlmodel import Session, select

from consumer.facts.completeness import BEGINNING, complete_until, reach, start_of
from consumer.facts.store import Store, put
from consumer.facts.tables.sync import Checkpoint, Window, WindowState
from consumer.facts.tables.types import core_of
from consumer.facts.versions import MixedModesError
from consumer.provider.errors import ProviderError
from consumer.provider.paging import Page

EVENTS_STREAM = "events"
MOST_PASSES = 10
_GROWING = f"events kept appearing in {MOST_PASSES} reads"
_TABLE = core_of(Window)
# How often a list is read until two readings agree, and begun anew where its cursor is gone.
MOST_READS = 4
MOST_RESTARTS = 5
# What was closed longer ago may hold events that the list has shown since, so it is asked for anew.
A_READING_LASTS = timedelta(days=1)
Span = tuple[datetime, datetime]
# Below this many pages a share's own repeated read costs more than its company gains.
LONG_PAGES = 12
PAGES_A_SHARE = 4


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


def advance(session: Session | sa.Connection, window: Window, **changes: object) -> bool:
    """Move a window on, in its row and in this copy of it.

    Return False where another run has moved or closed it since: then the row stays, and the copy is read anew.
    """
    values = {"of_id": window.id, "of_pages": window.pages, **changes}
    connection = session.connection() if isinstance(session, Session) else session
    if connection.execute(_advance_statement(tuple(changes)), values).rowcount == 1:
        found, is_ours = changes, True
    else:
        row = connection.execute(sa.select(_TABLE).where(_TABLE.c.id == window.id)).mappings().one()
        found, is_ours = dict(row), False
    for name, value in found.items():
        setattr(window, name, value)
    return is_ours


@lru_cache(maxsize=64)
def _advance_statement(names: tuple[str, ...]) -> sa.Update:
    """Build the statement once for each set of columns: it runs with every page."""
    mine = (_TABLE.c.id == sa.bindparam("of_id")) & (_TABLE.c.pages == sa.bindparam("of_pages"))
    is_open = _TABLE.c.state != WindowState.CLOSED.value
    return _TABLE.update().where(mine, is_open).values({name: sa.bindparam(name) for name in names})


def next_place(window: Window, page: Page, *, added: int, now: datetime) -> dict[str, object]:
    """Return where a window stands after a page; it closes after a repeated read that added no event."""
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
    """Return how far windows, closed or not, reach without a break from the beginning of the log, or None."""
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


class IncompleteError(ProviderError):
    """A list that was read to its end and still does not add up."""


Step = Callable[[Session], object]


class Steps:
    """Writes that wait for the next request or the end, and are then one transaction.

    So a page, the place behind it and what follows from its being the last are kept together.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: list[Step] = []

    def add(self, step: Step) -> None:
        self._waiting.append(step)

    def write(self) -> None:
        """Write what waits, in the order in which it was added."""
        steps, self._waiting = self._waiting, []
        if not steps:
            return
        try:
            with self._store.transaction() as session:
                for step in steps:
                    step(session)
        except MixedModesError as error:
            raise IncompleteError(f"{error}: this database has served a key of the other mode") from error


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run asks for; `reading` is when the reading began that it goes on with, None where it begins one.

    With `below`, some of it lies before what was read already, so its events are old without being late.
    """

    spans: list[Span]
    reading: datetime | None
    below: bool = False


def plan_range(windows: Sequence[Window], since: datetime | None, until: datetime, *, now: datetime) -> Plan:
    """Plan a whole range, without what the unfinished reading has asked for: that is continued."""
    asked = [(since or BEGINNING, until)]
    return Plan(_subtract(_subtract(asked, _read_whole(windows)), _read_lately(windows, now)), _reading(windows, now))


def plan_news(
    windows: Sequence[Window], until: datetime, *, overlap: timedelta, back: timedelta, now: datetime
) -> Plan:
    """Plan all that no window covers, and `overlap`, or `back` where that is more, before each such hole.

    Of what the unfinished reading has asked for, only the part of the overlap is asked for again that no later run
    will reach.
    """
    holes = _subtract([(BEGINNING, until)], map(_to_span, windows))
    below = bool(windows) and any(end < until for _, end in holes)
    if not any(end == until for _, end in holes):
        holes.append((until, until))
    asked = [(_before(first, max(overlap, back)), last) for first, last in holes]
    last_chance = [(_before(first, overlap), _before(last, overlap)) for first, last in holes]
    asked = _subtract(_merge(asked), _read_whole(windows))
    return Plan(_subtract(asked, _subtract(_read_lately(windows, now), last_chance)), _reading(windows, now), below)


def _read_whole(windows: Sequence[Window]) -> list[Span]:
    """Return what this run reads from end to end anyway: windows whose repeated read has not begun."""
    return [_to_span(window) for window in windows if _is_unclosed(window) and window.pass_number == 1]


def _read_lately(windows: Sequence[Window], now: datetime) -> list[Span]:
    unfinished = _unfinished(windows, now)
    return _merge(_to_span(window) for window in windows if window.opened_at in unfinished)


def _reading(windows: Sequence[Window], now: datetime) -> datetime | None:
    return min(_unfinished(windows, now), default=None)


def _unfinished(windows: Sequence[Window], now: datetime) -> set[datetime]:
    since = now - A_READING_LASTS
    return {window.opened_at for window in windows if _is_unclosed(window) and window.opened_at > since}


def _is_unclosed(window: Window) -> bool:
    return window.state != WindowState.CLOSED


def _to_span(window: Window) -> Span:
    return start_of(window), window.until


def _before(moment: datetime, back: timedelta) -> datetime:
    return moment if moment == BEGINNING else moment - back


def _merge(spans: Iterable[Span]) -> list[Span]:
    merged: list[Span] = []
    for first, last in sorted(spans):
        if merged and first <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], last)
        else:
            merged.append((first, last))
    return merged


def _subtract(spans: Sequence[Span], taken: Iterable[Span]) -> list[Span]:
    left = list(spans)
    for first, last in _merge(taken):
        pieces = [piece for start, end in left for piece in ((start, min(end, first)), (max(start, last), end))]
        left = [(start, end) for start, end in pieces if start < end]
    return left


class _Dated(msgspec.Struct):
    created_at: datetime | None = None


_DECODER = msgspec.json.Decoder(_Dated)


def to_shares(window: Window, page: Page, *, most: int) -> list[Span]:
    """Split what is left behind a page into at most this many stretches, oldest first; the window keeps the last.

    No window is cut where little is left, where the density of the log is unknown, or in a repeated read.
    """
    if window.since is None or window.pass_number > 1 or page.next is None or most <= 1 or not page.items:
        return []
    newest, oldest = _moment_of(page.items[0]), _moment_of(page.items[-1])
    if newest is None or oldest is None or not window.since < oldest < newest:
        return []
    left = oldest - window.since
    pages = left / (newest - oldest)
    if pages < LONG_PAGES:
        return []
    count = min(most, int(pages // PAGES_A_SHARE))
    step = timedelta(seconds=int(left.total_seconds()) // count)
    edges = [window.since + step * number for number in range(count)]
    return [*pairwise(edges), (edges[-1], window.until)]


def _moment_of(raw: bytes) -> datetime | None:
    try:
        at = _DECODER.decode(raw).created_at
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return at if at is not None and at.tzinfo is not None else None
