"""A lease is renewed for as long as the work lasts, whatever the database does meanwhile."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest
import sqlalchemy as sa
from sqlmodel import select
from structlog.testing import capture_logs

from consumer.facts.store import Store
from consumer.facts.tables.jobs import Tick
from consumer.jobs import ticks

BEGUN = datetime(2026, 10, 5, 9, tzinfo=UTC)


def wait_for(condition: Callable[[], bool]) -> None:
    """Return once the condition holds; fail after a minute."""
    end = time.monotonic() + 180
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def rename_table(store: Store, old: str, new: str) -> None:
    with store.connection() as connection:
        connection.execute(sa.text(f"ALTER TABLE {old} RENAME TO {new}"))


def test_a_lease_is_renewed_again_after_its_table_was_away(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Renewing fails at least three times, is logged once, and goes on when the table is back."""
    monkeypatch.setattr(ticks, "LEASE", timedelta(milliseconds=40))
    minutes, asked = count(1), [BEGUN]

    def clock() -> datetime:
        asked.append(BEGUN + timedelta(minutes=next(minutes)))
        return asked[-1]

    def lease_until() -> datetime:
        with store.reading() as session:
            return session.exec(select(Tick.lease_until)).one()

    assert ticks.claim(store, "a", BEGUN, worker="w", now=BEGUN)
    with capture_logs() as logs, ticks.renew_lease(store, "a", BEGUN, worker="w", clock=clock):
        rename_table(store, "tick", "tick_away")
        try:
            before = len(asked)
            wait_for(lambda: len(asked) > before + 4)
        finally:
            rename_table(store, "tick_away", "tick")
        back = asked[-1]
        wait_for(lambda: lease_until() > back + ticks.LEASE)
    assert [(one["event"], one["log_level"], one["job"]) for one in logs] == [("lease not renewed", "warning", "a")]
