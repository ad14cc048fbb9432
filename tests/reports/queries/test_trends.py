"""What people look at over time: the last run of each day, and hours of the log with their gaps."""

import json
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from consumer.facts.store import Store
from consumer.facts.tables.inbox import Event
from consumer.facts.tables.sync import Window
from reconcile.tables.runs import Run
from reports.queries import trends

NOON = datetime(2026, 10, 8, 12, 0, tzinfo=UTC)
SUMMARY = {
    "payouts": 5,
    "payouts_closed": 4,
    "items_by_outcome": {"matched": 6, "set": 1, "no_document": 3, "refund": 2, "adjustment": 1},
    "value_at_risk": {},
}


def keep_run(store: Store, number: int, as_of: date, **changes: Any) -> None:
    values: dict[str, Any] = {
        "complete": True,
        "calendar": "c",
        "summary": json.dumps(SUMMARY),
        "started_at": NOON,
    } | changes
    finished = NOON + timedelta(minutes=number)
    with store.transaction() as session:
        session.add(
            Run(connection="main", id=f"run-{number}", as_of=as_of, finished_at=finished, number=number, **values)
        )


def keep_event(store: Store, number: int, made: datetime, late: int, source: str = "webhook") -> None:
    came = made + timedelta(seconds=late)
    with store.transaction() as session:
        session.add(
            Event(
                connection="main",
                id=f"evt_{number}",
                type="payout.succeeded",
                mode="test",
                created_at=made,
                received_at=came,
                source=source,
                state="applied",
                raw_sha256="",
                meaning_sha256="",
                last_arrival_at=came,
            )
        )


def test_a_day_shows_its_last_run(store: Store) -> None:
    """Oldest day first; an earlier run of the day, a run of part of the books and one of days to come are left out."""
    keep_run(store, 1, date(2026, 10, 7))
    keep_run(store, 2, date(2026, 10, 8))
    left = {"CLP": {"amount": 1000, "exceptions": 2}}
    keep_run(store, 3, date(2026, 10, 8), summary=json.dumps(SUMMARY | {"value_at_risk": left}))
    keep_run(store, 4, date(2026, 10, 8), scope_payout="po_1")
    keep_run(store, 5, date(2026, 12, 31))
    with store.reading() as session:
        days = trends.by_run(session, "main", date(2026, 10, 9))
    assert [(day.as_of, day.number, day.at_risk_in("CLP"), day.at_risk_in("USD")) for day in days] == [
        (date(2026, 10, 7), 1, 0, 0),
        (date(2026, 10, 8), 3, 1000, 0),
    ]
    # Seven of the ten that need a document have one; refunds and adjustments need none.
    assert (days[1].matched, days[1].items, days[1].rate_bps, days[1].payouts_closed) == (7, 10, 7000, 4)


def test_hours_end_with_the_newest_event(store: Store) -> None:
    """Two days of hours up to the newest event, each with its count, and those in a gap marked."""
    keep_event(store, 1, NOON - timedelta(hours=47, minutes=30), 1)
    keep_event(store, 2, NOON + timedelta(minutes=10), 1)
    keep_event(store, 3, NOON + timedelta(minutes=59), 1)
    with store.transaction() as session:
        window: dict[str, Any] = {"connection": "main", "stream": "events", "opened_at": NOON}
        session.add(Window(since=NOON - timedelta(hours=1), until=NOON, state="failed", **window))
        session.add(Window(since=NOON - timedelta(hours=5), until=NOON, state="closed", **window))
    with store.reading() as session:
        hours = trends.by_hour(session, "main")
    assert (len(hours), hours[-1].start, hours[-1].events, hours[-1].in_gap) == (48, NOON, 2, False)
    assert [hour.start for hour in hours if hour.in_gap] == [NOON - timedelta(hours=1)]
    assert sum(hour.events for hour in hours) == 2


def test_a_log_without_events_has_no_hours(store: Store) -> None:
    """Nothing is drawn where nothing came."""
    with store.reading() as session:
        assert trends.by_hour(session, "main") == []


def test_a_summary_without_its_figures_is_no_day_of_nothing(store: Store) -> None:
    """A figure that is not there is not shown as zero: the summary of a run always names it."""
    keep_run(store, 1, date(2026, 10, 8), summary='{"payouts": 5}')
    with store.reading() as session, pytest.raises(KeyError, match="items_by_outcome"):
        trends.by_run(session, "main", date(2026, 10, 8))
