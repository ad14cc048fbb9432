"""Any multiset of deliveries, from both sources, with crashes in between, ends as the orderly run does."""

import json
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import settings as thorough
from hypothesis import strategies as st
from sqlmodel import col, select

from consumer.facts.settings import Settings
from consumer.facts.store import Store
from consumer.facts.tables.inbox import Event
from consumer.facts.tables.provider import Payout, Refund
from consumer.inbox.apply import apply_pending, claim, drain
from consumer.inbox.handlers import HANDLERS
from consumer.inbox.record import Arrival, record_all
from tests.thoroughness import for_run

pytestmark = pytest.mark.both_databases

NOW = datetime(2026, 10, 5, 12, 5, tzinfo=UTC)

REFUND_TYPES = {"in_progress": "refund.in_progress", "succeeded": "refund.succeeded", "failed": "refund.failed"}
PAYOUT_TYPES = {"in_progress": "payout.created", "succeeded": "payout.succeeded", "returned": "payout.returned"}
UNDONE = {"refund": "failed", "payout": "returned"}
EXAMPLES = for_run(short=40, full=500)


class CrashError(Exception):
    """The process died here."""


def to_event(number: int, kind: str, minute: int, status: str, extra: dict[str, Any]) -> dict[str, Any]:
    types = REFUND_TYPES if kind == "refund" else PAYOUT_TYPES
    status = UNDONE[kind] if status == "undone" else status
    at = f"2026-10-05T11:{minute:02}:00Z"
    data = {"id": f"{kind}_1", "object": kind, "mode": "test", "amount": 5, "currency": "CLP", "status": status}
    return {"id": f"evt_{number}", "type": types[status], "mode": "test", "created_at": at, "data": data | extra}


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["refund", "payout"]),
        st.integers(0, 2),
        st.sampled_from(["in_progress", "succeeded", "undone"]),
        st.fixed_dictionaries({}, optional={"split_applied": st.sampled_from([[1], [2], None])}),
    ),
    min_size=1,
    max_size=6,
).map(lambda some: [to_event(number, *one) for number, one in enumerate(some)])

STEPS = st.sampled_from(["record", "crash before commit", "apply", "crash after claim", "crash after effect"])


class Ship:
    """Runs the steps against a store, with a clock that leaps over every lease and back-off."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self.store = store
        self.settings = settings
        self.at = NOW
        with store.connection() as connection:
            for table in ("event", "event_conflict", "refund", "payout"):
                connection.execute(sa.text(f"DELETE FROM {table}"))  # noqa: S608 - names from the line above

    def clock(self) -> datetime:
        return self.at

    def step(self, name: str, arrivals: list[Arrival]) -> None:
        self.at += timedelta(hours=2)
        if name == "record":
            with self.store.connection() as connection:
                record_all(connection, arrivals)
        elif name == "apply":
            apply_pending(self.store, self.settings, worker="w", now=self.clock, batch=2)
        elif name == "crash after claim":
            with self.store.connection() as connection:
                claim(connection, worker="dead", now=self.at, limit=2)
        else:
            self.crash(name, arrivals)

    def crash(self, name: str, arrivals: list[Arrival]) -> None:
        with suppress(CrashError):
            if name == "crash before commit":
                with self.store.connection() as connection:
                    record_all(connection, arrivals)
                    self.die()
            apply_pending(self.store, self.settings, worker="w", now=self.dying_clock(), batch=3)

    def die(self) -> None:
        raise CrashError

    def dying_clock(self) -> Callable[[], datetime]:
        """A clock that is asked once to claim, once to begin, and whose third answer, before `applied`, is death."""
        answers = iter([self.at, self.at])

        def clock() -> datetime:
            answer = next(answers, None)
            if answer is None:
                raise CrashError
            return answer

        return clock

    def finish(self, arrivals: list[Arrival]) -> dict[str, Any]:
        """The sender never got its 200 and sends again; then the inbox is drained."""
        self.step("record", arrivals)
        self.at += timedelta(hours=2)
        drain(self.store, self.settings, worker="w", now=self.clock)
        with self.store.reading() as session:
            events = session.exec(select(Event).order_by(col(Event.id)))
            rows = [session.exec(select(Refund)).one_or_none(), session.exec(select(Payout)).one_or_none()]
            return {
                "events": [(event.id, event.meaning_sha256, event.state) for event in events],
                "rows": [row and row.model_dump(exclude={"written_at"}) for row in rows],
            }


@thorough(max_examples=EXAMPLES)
@given(events=EVENTS, data=st.data())
def test_any_deliveries_end_as_the_orderly_ones(
    store: Store,
    settings: Settings,
    deliver: Callable[..., Arrival],
    events: list[dict[str, Any]],
    data: st.DataObject,
) -> None:
    """Order, repeats, both sources, batches, and a process that dies at each step: the same events, the same rows."""
    orderly = Ship(store, settings)
    for event in events:
        orderly.step("record", [deliver(event)])
        orderly.step("apply", [])
    expected = orderly.finish([])

    chaotic = Ship(store, settings)
    deliveries = st.lists(st.sampled_from(events), min_size=0, max_size=4)
    for name in data.draw(st.lists(STEPS, max_size=8)):
        source = data.draw(st.sampled_from(["webhook", "backfill"]))
        bodies = [json.dumps(event, indent=data.draw(st.sampled_from([None, 1]))) for event in data.draw(deliveries)]
        chaotic.step(name, [deliver(body.encode(), source=source) for body in bodies])

    shuffled = data.draw(st.permutations(events))
    assert chaotic.finish([deliver(event) for event in shuffled]) == expected
    assert {state for _, _, state in expected["events"]} == {"applied"}
    assert set(HANDLERS) >= set(REFUND_TYPES.values()) | set(PAYOUT_TYPES.values())
