"""Ways of reading a newest-first log that lose events, each as a toy that shipped somewhere, and ours beside it."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import httpx
import pytest
from sqlmodel import select

from consumer.facts.installation import Installation
from consumer.facts.tables.inbox import Event
from consumer.provider.client import Provider
from consumer.sync.backfill import read_log

Log = list[tuple[str, datetime, datetime]]
Toy = Callable[[Log, list[datetime]], set[str]]


def visible(log: Log, now: datetime) -> list[tuple[str, datetime]]:
    """List what may be seen at a moment, newest first."""
    shown = [(id_, created_at) for id_, created_at, visible_at in log if visible_at <= now]
    return sorted(shown, key=lambda event: event[1], reverse=True)


def newer_than_the_cursor(log: Log, runs: list[datetime]) -> set[str]:
    """Ask for `created > cursor` in whole seconds; the cursor is the newest event seen."""
    seen: set[str] = set()
    cursor = datetime.min.replace(tzinfo=runs[0].tzinfo)
    for now in runs:
        new = [(id_, at.replace(microsecond=0)) for id_, at in visible(log, now) if at.replace(microsecond=0) > cursor]
        seen |= {id_ for id_, _ in new}
        cursor = max([cursor, *(at for _, at in new)])
    return seen


def stop_at_the_first_known(log: Log, runs: list[datetime]) -> set[str]:
    """Walk from the newest until an event that is already here."""
    seen: set[str] = set()
    for now in runs:
        new: set[str] = set()
        for id_, _ in visible(log, now):
            if id_ in seen:
                break
            new.add(id_)
        seen |= new
    return seen


def from_the_end_of_the_last_slice(log: Log, runs: list[datetime]) -> set[str]:
    """Take slices of an hour that end in the future, and go on from the end of the slice."""
    seen: set[str] = set()
    cursor = datetime.min.replace(tzinfo=runs[0].tzinfo)
    for now in runs:
        seen |= {id_ for id_, at in visible(log, now) if at >= cursor}
        cursor = now + timedelta(hours=1)
    return seen


def bookmark_without_overlap(log: Log, runs: list[datetime]) -> set[str]:
    """Go on from the moment of the last run."""
    seen: set[str] = set()
    cursor = datetime.min.replace(tzinfo=runs[0].tzinfo)
    for now in runs:
        seen |= {id_ for id_, at in visible(log, now) if at >= cursor}
        cursor = now
    return seen


START = datetime.fromisoformat("2026-09-30T12:00:00.000+00:00")
RUNS = [START + timedelta(minutes=minute) for minute in (0, 30, 60, 90)]


def event(name: str, *, minute: float, late: float = 0) -> tuple[str, datetime, datetime]:
    """Make an event that the list shows some minutes late."""
    created_at = START + timedelta(minutes=minute)
    return f"evt_{name}", created_at, created_at + timedelta(minutes=late)


# The same second as the newest event of a run, late behind a newer one, after a run inside its slice, late at an edge.
LOG: Log = [
    event("old", minute=-60),
    event("first_of_a_second", minute=-5),
    event("same_second", minute=-5 + 0.005, late=10),
    event("behind_a_newer", minute=-7, late=12),
    event("inside_the_slice", minute=20),
    event("at_the_edge", minute=-0.5, late=2),
    event("last", minute=50),
]


@pytest.mark.parametrize(
    ("policy", "loses"),
    [
        (newer_than_the_cursor, {"evt_same_second", "evt_behind_a_newer"}),
        (stop_at_the_first_known, {"evt_behind_a_newer"}),
        (from_the_end_of_the_last_slice, {"evt_inside_the_slice", "evt_last"}),
        (bookmark_without_overlap, {"evt_same_second", "evt_behind_a_newer", "evt_at_the_edge"}),
    ],
)
def test_a_policy_in_use_elsewhere_loses_events(policy: Toy, loses: set[str]) -> None:
    """Read at four moments, each of these policies never sees some events at all."""
    assert loses <= {id_ for id_, *_ in LOG} - policy(LOG, RUNS)


def test_ours_keeps_every_one_of_them(installation: Installation, provider: Provider, log_server: Any) -> None:
    """The same log read at the same moments, a settle lag later: settled windows with an overlap lose nothing."""
    log_server.events.clear()
    for now in RUNS:
        log_server.now = now
        shown = {id_ for id_, _ in visible(LOG, now)}
        log_server.events[:] = [to_event(id_, at) for id_, at, _ in LOG if id_ in shown]
        assert read_log(installation, provider).complete
    with installation.store.reading() as session:
        assert set(session.exec(select(Event.id))) == {id_ for id_, *_ in LOG}


def to_event(id_: str, at: datetime) -> dict[str, Any]:
    created = at.isoformat().replace("+00:00", "Z")
    return {"id": id_, "object": "event", "type": "test.made_up", "mode": "test", "created_at": created}


Pages = Callable[[int], list[str]]

NEWEST_FIRST = ["evt_6", "evt_5", "evt_4", "evt_3", "evt_2", "evt_1"]


def pruned_after_the_first_page(asked: int) -> list[str]:
    """Show the log as it is at each request: the event that ends the first page is pruned before the second."""
    return NEWEST_FIRST if asked == 0 else [id_ for id_ in NEWEST_FIRST if id_ != "evt_5"]


def by_page_number(log: Pages) -> set[str]:
    """Ask for page 1, 2, 3 of two events each until one is empty."""
    seen: set[str] = set()
    for asked in range(4):
        seen |= set(log(asked)[2 * asked : 2 * asked + 2])
    return seen


def the_end_where_the_cursor_is_gone(log: Pages) -> set[str]:
    """Go on behind the last event seen; where the log no longer knows it, there is nothing behind it."""
    seen = log(0)[:2]
    for asked in range(1, 4):
        rows = log(asked)
        if seen[-1] not in rows:
            break
        start = rows.index(seen[-1]) + 1
        seen += rows[start : start + 2]
    return set(seen)


@pytest.mark.parametrize(
    ("policy", "loses"),
    [(by_page_number, {"evt_4"}), (the_end_where_the_cursor_is_gone, {"evt_4", "evt_3", "evt_2", "evt_1"})],
)
def test_a_walk_over_a_log_that_is_pruned_loses_events(policy: Callable[[Pages], set[str]], loses: set[str]) -> None:
    """An event that goes while its log is walked takes others with it: one by number, all behind it by cursor."""
    assert set(NEWEST_FIRST) - policy(pruned_after_the_first_page) == loses


def test_ours_restarts_a_walk_that_was_pruned(installation: Installation, provider: Provider, log_server: Any) -> None:
    """The same log pruned at the same moment: the window is read from its newest end again and nothing is missing."""
    log_server.events[:] = [to_event(id_, START - timedelta(minutes=number)) for number, id_ in enumerate(NEWEST_FIRST)]
    log_server.page_size = 2
    gone = {"error": {"type": "invalid_request_error", "code": "missing_cursor", "param": "starting_after"}}

    def prune(query: dict[str, str]) -> httpx.Response | None:
        if query.get("starting_after") != "evt_5":
            return None
        log_server.events[:] = [event for event in log_server.events if event["id"] != "evt_5"]
        return httpx.Response(400, json=gone)

    log_server.before = prune
    assert read_log(installation, provider).complete
    with installation.store.reading() as session:
        assert set(session.exec(select(Event.id))) == set(NEWEST_FIRST)
