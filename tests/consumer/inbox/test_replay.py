"""Replay after a failure: what may go well later is tried again later, and only what never can is set aside."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from sqlmodel import select

from consumer.facts import versions
from consumer.facts.settings import Settings
from consumer.facts.store import Store
from consumer.facts.tables.inbox import Event, EventReplay
from consumer.facts.tables.provider import Refund
from consumer.inbox import apply
from consumer.inbox.apply import apply_pending
from consumer.inbox.events import Replay
from consumer.inbox.record import Arrival, record_all

Deliver = Callable[..., Arrival]
Make = Callable[..., dict[str, Any]]
NOW = datetime(2026, 10, 5, 12, 5, tzinfo=UTC)


@pytest.fixture
def applied(store: Store, settings: Settings, deliver: Deliver, make_event: Make) -> Store:
    """A store with one refund's event, applied."""
    with store.connection() as connection:
        record_all(connection, [deliver(make_event())])
    apply_pending(store, settings, worker="w", now=lambda: NOW)
    return store


@pytest.fixture
def refuse(monkeypatch: pytest.MonkeyPatch) -> Callable[[Exception], None]:
    """Let the next merge meet an error of the database."""

    def meet(problem: Exception) -> None:
        def merge_all(*_: object) -> list[versions.Change]:
            monkeypatch.undo()
            raise problem

        monkeypatch.setattr(apply, "merge_all", merge_all)

    return meet


def kept(store: Store) -> Event:
    with store.reading() as session:
        return session.exec(select(Event)).one()


def test_what_the_database_refuses_once_is_tried_again(
    applied: Store, settings: Settings, refuse: Callable[[Exception], None]
) -> None:
    """A refused row leaves a replayed event failed with a later try, not in quarantine, and the worker mends it."""
    refuse(sa.exc.IntegrityError("INSERT", {}, Exception("row 1500")))

    (replayed,) = Replay(applied, settings, lambda: NOW, "ana").run([("main", "evt_1")])

    assert (replayed.to_line()["state_after"], replayed.error) == (
        "failed",
        "IntegrityError while applying refund.succeeded",
    )
    event = kept(applied)
    assert (event.state, event.claimed_until) == ("failed", None)
    assert event.next_try_at is not None
    assert NOW < event.next_try_at <= NOW + timedelta(seconds=2)
    assert apply_pending(applied, settings, worker="w", now=lambda: NOW).claimed == 0
    assert apply_pending(applied, settings, worker="w", now=lambda: NOW + timedelta(seconds=2)).applied == 1
    assert kept(applied).state == "applied"


def test_a_database_that_is_away_changes_nothing(
    applied: Store, settings: Settings, refuse: Callable[[Exception], None]
) -> None:
    """An operational error is the database's trouble, not the event's: it is raised, and the event stays applied."""
    refuse(sa.exc.OperationalError("UPDATE", {}, Exception("server closed the connection")))

    with pytest.raises(sa.exc.OperationalError):
        list(Replay(applied, settings, lambda: NOW, "ana").run([("main", "evt_1")]))
    assert (kept(applied).state, kept(applied).error) == ("applied", None)


def test_a_dry_run_says_what_would_change_and_changes_nothing(applied: Store, settings: Settings) -> None:
    """The preview names the column with both values; state, facts, lease and audit stay."""
    with applied.transaction() as session:
        refund = session.exec(select(Refund)).one()
        refund.status = "in_progress"
        refund.body = refund.body.replace("succeeded", "in_progress")
        refund.version_rank = 0
        refund.version_event = ""

    (seen,) = Replay(applied, settings, lambda: NOW, "ana").preview([("main", "evt_1")])

    assert seen.to_line() == {
        "connection": "main",
        "id": "evt_1",
        "type": "refund.succeeded",
        "state_before": "applied",
        "state_after": "applied",
        "changes": "refund re_1: status in_progress → succeeded",
        "error": None,
    }
    with applied.reading() as session:
        assert session.exec(select(Refund)).one().status == "in_progress"
        assert session.exec(select(EventReplay)).all() == []
    assert kept(applied).claimed_until is None
