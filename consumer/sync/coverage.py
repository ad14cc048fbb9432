"""Which stretches of the event log a run asks for: what nothing covers yet, and what has to be read again.

A reading is every window of one `opened_at`: those of the run that began it and of the runs that went on with it. It is
finished when all of them are closed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from consumer.facts.completeness import BEGINNING, start_of
from consumer.facts.tables.sync import Window, WindowState

# What was closed longer ago may hold events that the list has shown since, so it is asked for anew.
A_READING_LASTS = timedelta(days=1)

Span = tuple[datetime, datetime]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run asks for; `reading` is when the reading began that it goes on with, None where it begins one.

    With `below`, some of it lies before what was read already, so its events are old without being late.
    """

    spans: list[Span]
    reading: datetime | None
    below: bool = False


def plan_range(windows: Sequence[Window], since: datetime | None, until: datetime, *, now: datetime) -> Plan:
    """Ask for a whole range, but not for what the unfinished reading has asked for: that is gone on with."""
    asked = [(since or BEGINNING, until)]
    return Plan(_subtract(_subtract(asked, _read_whole(windows)), _read_lately(windows, now)), _reading(windows, now))


def plan_news(
    windows: Sequence[Window], until: datetime, *, overlap: timedelta, back: timedelta, now: datetime
) -> Plan:
    """Ask for all that no window covers, and for `overlap`, or `back` where that is more, before each such hole.

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
    """Find what this run reads from end to end anyway: windows whose repeated read has not begun."""
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
