"""A long window is cut where its log is dense, and a short one is left alone."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlmodel import select

from consumer.facts.installation import Installation
from consumer.facts.tables.inbox import Event
from consumer.facts.tables.sync import Window
from consumer.provider.client import Provider
from consumer.provider.paging import Page
from consumer.sync.backfill import read_log
from consumer.sync.windows import all_windows, to_shares, unclosed_windows

pytestmark = pytest.mark.both_databases

SINCE = datetime(2026, 9, 1, tzinfo=UTC)
UNTIL = datetime(2026, 9, 3, tzinfo=UTC)


def window(**changes: Any) -> Window:
    plain: dict[str, Any] = {"connection": "main", "stream": "events", "since": SINCE, "until": UNTIL, "state": "open"}
    return Window(**(plain | {"opened_at": UNTIL} | changes))


def page(newest: str, oldest: str, *, following: str | None = "starting_after=evt_9") -> Page:
    items = tuple(json.dumps({"created_at": at}).encode() for at in (newest, oldest))
    return Page(items=items, at=UNTIL, next=following, total=None)


def test_what_is_left_is_cut_into_equal_stretches() -> None:
    """A page of one hour with 24 hours left gives three stretches of eight, and the window keeps the newest."""
    dense = page("2026-09-02T01:00:00Z", "2026-09-02T00:00:00Z")
    assert to_shares(window(), dense, most=3) == [
        (SINCE, SINCE + timedelta(hours=8)),
        (SINCE + timedelta(hours=8), SINCE + timedelta(hours=16)),
        (SINCE + timedelta(hours=16), UNTIL),
    ]


@pytest.mark.parametrize(
    ("asked", "read", "most"),
    [
        (window(), page("2026-09-02T10:00:00Z", "2026-09-02T00:00:00Z"), 8),
        (window(), page("2026-09-02T01:00:00Z", "2026-09-02T00:00:00Z", following=None), 8),
        (window(), page("2026-09-02T01:00:00Z", "2026-09-02T00:00:00Z"), 1),
        (window(pass_number=2), page("2026-09-02T01:00:00Z", "2026-09-02T00:00:00Z"), 8),
        (window(since=None), page("2026-09-02T01:00:00Z", "2026-09-02T00:00:00Z"), 8),
        (window(), page("2026-09-02T01:00:00Z", "2026-09-02T01:00:00Z"), 8),
        (window(), page("yesterday", "2026-09-02T00:00:00Z"), 8),
        (window(), page("2026-09-02T01:00:00", "2026-09-02T00:00:00"), 8),
    ],
    ids=["little left", "last page", "none idle", "repeated", "no beginning", "all at once", "no date", "no zone"],
)
def test_a_window_is_left_whole_where_cutting_does_not_help(asked: Window, read: Page, most: int) -> None:
    """Without a density, a beginning, an idle worker or enough pages nothing is cut."""
    assert to_shares(asked, read, most=most) == []


def test_a_dense_window_is_shared_and_still_whole(
    installation: Installation, provider: Provider, log_server: Any
) -> None:
    """Three hundred events in one window are read by several workers; every event is kept and all windows close."""
    log_server.events.clear()
    since = datetime(2026, 9, 30, 22, tzinfo=UTC)
    for number in range(300):
        log_server.add(number, since + timedelta(seconds=40 * number))
    assert read_log(installation, provider, since=since, until=since + timedelta(hours=4)).complete
    with installation.store.reading() as session:
        assert len(set(session.exec(select(Event.id)))) == 300
        assert len(all_windows(session, "main", "events")) > 4
        assert unclosed_windows(session) == []
