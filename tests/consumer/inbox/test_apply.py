"""Applying events: effect and state change together, failures back off alone, dead workers' events return."""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlmodel import select

from consumer.facts.settings import Settings
from consumer.facts.store import Store
from consumer.facts.tables.inbox import Event
from consumer.facts.tables.provider import Refund
from consumer.facts.versions import Known
from consumer.inbox.apply import LEASE, Applied, apply_pending, claim, drain
from consumer.inbox.handlers import HANDLERS
from consumer.inbox.record import Arrival
from consumer.provider.rows import Observation
from tests.consumer.conftest import record

pytestmark = pytest.mark.both_databases

Deliver = Callable[..., Arrival]
Make = Callable[..., dict[str, Any]]
NOW = datetime(2026, 10, 5, 12, 5, tzinfo=UTC)
# Each event type of the specification, its object, the table that keeps it and the scenario that shows it.
EVENT_TYPES = Path(__file__).parents[2] / "data" / "event_types.txt"


def states(store: Store) -> dict[str, tuple[str, int, str | None]]:
    with store.reading() as session:
        return {event.id: (event.state, event.attempts, event.error) for event in session.exec(select(Event))}


def refunds(store: Store) -> dict[str, str | None]:
    with store.reading() as session:
        return {row.id: row.status for row in session.exec(select(Refund))}


def run(store: Store, settings: Settings, *, at: datetime = NOW, **options: Any) -> Applied:
    return apply_pending(store, settings, worker="worker-1", now=lambda: at, **options)


def counts(applied: Applied) -> tuple[int, int, int, int, int]:
    return (applied.claimed, applied.applied, applied.ignored, applied.failed, applied.quarantined)


def test_an_event_becomes_its_row(store: Store, settings: Settings, deliver: Deliver, make_event: Make) -> None:
    """An applied event's object is in its table, and a second round finds nothing to do."""
    record(store, deliver(make_event()))

    assert counts(run(store, settings)) == (1, 1, 0, 0, 0)
    assert refunds(store) == {"re_1": "succeeded"}
    assert states(store) == {"evt_1": ("applied", 1, None)}
    assert counts(run(store, settings)) == (0, 0, 0, 0, 0)


def test_every_type_of_the_spec_is_applied(
    store: Store, settings: Settings, deliver: Deliver, make_event: Make
) -> None:
    """An event of each type, with the least its object must have, leaves one row in the table the file names."""
    least = {"status": "succeeded", "amount": 5, "currency": "CLP", "direction": "inbound", "account_id": "acc_1"}
    kept = {line.split()[0]: line.split()[2] for line in EVENT_TYPES.read_text(encoding="utf-8").splitlines()}
    record(
        store,
        *(
            deliver(make_event(f"evt_{kind}", type=kind, data={"id": f"x_{kind}", "mode": "test"} | least))
            for kind in kept
        ),
    )

    assert counts(run(store, settings)) == (len(kept), len(kept), 0, 0, 0)
    with store.reading() as session:
        for table in set(kept.values()) - {"-"}:
            rows = session.scalars(sa.select(sa.column("id", sa.String)).select_from(sa.table(table)))
            assert sorted(rows) == sorted(f"x_{kind}" for kind, name in kept.items() if name == table), table


def test_a_preview_without_an_id_is_applied(
    store: Store, settings: Settings, deliver: Deliver, make_event: Make
) -> None:
    """invoice.upcoming carries an object without an id and leaves no row."""
    record(store, deliver(make_event(type="invoice.upcoming", data={"id": None, "object": "invoice"})))

    assert counts(run(store, settings)) == (1, 1, 0, 0, 0)


def test_a_type_that_lost_its_handler_is_ignored_aloud(
    store: Store, settings: Settings, deliver: Deliver, make_event: Make, caplog: pytest.LogCaptureFixture
) -> None:
    """An event without a handler is set to ignored, and the log names its type."""
    record(store, deliver(make_event()))

    with caplog.at_level(logging.WARNING):
        assert counts(run(store, settings, handlers={})) == (1, 0, 1, 0, 0)
    assert "events of type 'refund.succeeded' are kept and ignored: no handler" in caplog.messages
    assert states(store) == {"evt_1": ("ignored", 0, None)}


def test_an_unreadable_object_goes_to_quarantine_at_once(
    store: Store, settings: Settings, deliver: Deliver, make_event: Make, make_refund: Make
) -> None:
    """Trying again cannot mend a missing amount; the reason names the field, the others are applied."""
    record(
        store,
        deliver(make_event("evt_bad", data=make_refund(amount=None))),
        deliver(make_event("evt_good", data=make_refund(id="re_2"))),
    )

    assert counts(run(store, settings)) == (2, 1, 0, 0, 1)
    assert states(store) == {
        "evt_bad": ("quarantined", 1, "amount is missing"),
        "evt_good": ("applied", 1, None),
    }
    assert refunds(store) == {"re_2": "succeeded"}


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"1e999", "a number is too large to be read"),
        (b"1" * 5000, "a number is too large to be read"),
        (b'"cut \\ud83d"', None),
    ],
)
def test_a_body_no_machine_can_hold_is_set_aside(
    store: Store, settings: Settings, deliver: Deliver, make_event: Make, *, raw: bytes, reason: str | None
) -> None:
    """A number beyond every double never becomes null or zero; half a character is kept as far as it is text."""
    event = make_event()
    event["data"]["metadata"] = "here"
    body = json.dumps(event).encode().replace(b'"here"', raw)
    record(store, deliver(body))
    run(store, settings)

    assert states(store) == {"evt_1": ("quarantined" if reason else "applied", 1, reason)}


@pytest.fixture
def breaking() -> dict[str, Any]:
    """A handler for refunds that fails, with a message that quotes data, for as long as it is told to."""
    fault = {"fails": True}

    def handle(data: Mapping[str, Any], seen: Observation) -> Sequence[Known]:
        if fault["fails"] and data["id"] == "re_bad":
            raise RuntimeError(f"account {data}")
        return HANDLERS["refund.succeeded"](data, seen)

    return {"fault": fault, "handlers": {"refund.succeeded": handle}}


def test_a_failing_event_backs_off_alone(
    store: Store, settings: Settings, deliver: Deliver, make_event: Make, make_refund: Make, breaking: dict[str, Any]
) -> None:
    """A failure waits, ever longer, while the rest is applied; once it can be applied it is."""
    record(
        store,
        deliver(make_event("evt_bad", data=make_refund(id="re_bad"))),
        deliver(make_event("evt_good")),
    )
    handlers = breaking["handlers"]

    assert counts(run(store, settings, handlers=handlers)) == (2, 1, 0, 1, 0)
    assert states(store)["evt_bad"] == ("failed", 1, "RuntimeError while applying refund.succeeded")
    assert counts(run(store, settings, handlers=handlers)) == (0, 0, 0, 0, 0)
    assert counts(run(store, settings, at=NOW + timedelta(seconds=2), handlers=handlers)) == (1, 0, 0, 1, 0)
    breaking["fault"]["fails"] = False
    assert counts(run(store, settings, at=NOW + timedelta(seconds=10), handlers=handlers)) == (1, 1, 0, 0, 0)
    assert states(store)["evt_bad"] == ("applied", 3, None)


def test_after_the_stated_number_of_tries_comes_quarantine(
    store: Store, settings: Settings, deliver: Deliver, make_event: Make, make_refund: Make, breaking: dict[str, Any]
) -> None:
    """Eight failures, the default, and the event is set aside with the reason and without the data."""
    record(store, deliver(make_event(data=make_refund(id="re_bad"))))

    for hour in range(8):
        run(store, settings, at=NOW + timedelta(hours=2 * hour), handlers=breaking["handlers"])

    assert states(store) == {
        "evt_1": ("quarantined", 8, "RuntimeError while applying refund.succeeded; given up after 8 attempts")
    }
    assert counts(run(store, settings, at=NOW + timedelta(days=9))) == (0, 0, 0, 0, 0)


def test_what_the_database_refuses_fails_alone(
    store: Store, settings: Settings, deliver: Deliver, make_event: Make, make_refund: Make
) -> None:
    """A row the database refuses costs its own event a savepoint and the others nothing."""

    def handle(data: Mapping[str, Any], seen: Observation) -> Sequence[Known]:
        (row,) = HANDLERS["refund.succeeded"](data, seen)
        if data["id"] == "re_bad":
            row.version = (datetime(2026, 1, 1), 0, "")  # noqa: DTZ001 - a naive time is refused by the store
        return [row]

    record(
        store,
        deliver(make_event("evt_bad", data=make_refund(id="re_bad"))),
        deliver(make_event("evt_good")),
    )

    assert counts(run(store, settings, handlers={"refund.succeeded": handle})) == (2, 1, 0, 1, 0)
    assert refunds(store) == {"re_1": "succeeded"}


def test_a_dead_workers_events_return_when_its_lease_ends(
    store: Store, settings: Settings, deliver: Deliver, make_event: Make
) -> None:
    """A claim that was not finished holds for sixty seconds, and then another worker takes the event."""
    record(store, deliver(make_event()))
    with store.connection() as connection:
        assert [event.id for event in claim(connection, worker="dead", now=NOW, limit=10)] == ["evt_1"]

    assert counts(run(store, settings, at=NOW + LEASE - timedelta(seconds=1))) == (0, 0, 0, 0, 0)
    assert counts(run(store, settings, at=NOW + LEASE)) == (1, 1, 0, 0, 0)


def test_a_worker_that_was_slower_than_its_lease_changes_nothing(
    store: Store, settings: Settings, deliver: Deliver, make_event: Make
) -> None:
    """When another worker took over meanwhile, the slow one's transaction is undone, effect and all."""
    record(store, deliver(make_event()))

    def handle(data: Mapping[str, Any], seen: Observation) -> Sequence[Known]:
        with store.connection() as connection:
            claim(connection, worker="quick", now=NOW + LEASE, limit=10)
        return HANDLERS["refund.succeeded"](data, seen)

    assert counts(run(store, settings, handlers={"refund.succeeded": handle})) == (1, 0, 0, 0, 0)
    assert refunds(store) == {}
    assert states(store)["evt_1"][0] == "waiting"


def test_drain_goes_on_until_nothing_is_due(
    store: Store, settings: Settings, deliver: Deliver, make_event: Make, make_refund: Make
) -> None:
    """Batches follow one another, and the newest state of an object wins whatever their order."""
    events = [
        deliver(
            make_event(
                f"evt_{minute:02}",
                created_at=f"2026-10-05T11:{minute:02}:00Z",
                data=make_refund(status="succeeded" if minute == 59 else "in_progress", updated_at=None),
            )
        )
        for minute in range(60)
    ]
    record(store, *reversed(events))

    assert counts(drain(store, settings, worker="w", now=lambda: NOW, batch=7)) == (60, 60, 0, 0, 0)
    assert refunds(store) == {"re_1": "succeeded"}


def test_the_body_is_read_again_exactly(
    store: Store, settings: Settings, deliver: Deliver, make_event: Make, make_refund: Make
) -> None:
    """The row's body is the object as the event carried it."""
    data = make_refund(metadata={"order": "ñ-1", "weight": 0.5}, big=2**70)
    record(store, deliver(make_event(data=data)))
    run(store, settings)

    with store.reading() as session:
        assert json.loads(session.exec(select(Refund)).one().body) == data
