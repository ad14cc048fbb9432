"""Recording: one row per event id whatever arrives and however often, conflicts beside it, nothing overwritten."""

import json
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlmodel import col, select

from consumer.facts.store import Store
from consumer.facts.tables.inbox import Event, EventConflict
from consumer.inbox.record import Arrival, UnusableEventError, Verdict, record_all

pytestmark = pytest.mark.both_databases

Deliver = Callable[..., Arrival]
MakeEvent = Callable[..., dict[str, Any]]


def record(store: Store, *arrivals: Arrival) -> list[str]:
    with store.connection() as connection:
        return [verdict.value for verdict in record_all(connection, arrivals)]


def stored(store: Store) -> list[Event]:
    with store.reading() as session:
        return list(session.exec(select(Event).order_by(Event.id)))


def test_the_first_arrival_is_kept_raw(store: Store, deliver: Deliver) -> None:
    """The row holds the very bytes that came first, with their digests and who brought them."""
    body = (
        b'{ "id":"evt_1", "type":"refund.succeeded","mode":"test",\n'
        b'"created_at":"2026-10-05T11:00:00.25Z","data":{"id":"re_1"}}'
    )

    assert record(store, deliver(body, source="backfill")) == ["stored"]
    (event,) = stored(store)
    assert (event.body, event.source, event.state, event.resource_id) == (body, "backfill", "waiting", "re_1")
    assert event.raw_sha256 == "0ff2b372518110fa114115b9deb4780d539878804b59c4f2c3b9147fae2bdda1"
    assert event.created_at == datetime(2026, 10, 5, 11, 0, 0, 250_000, tzinfo=UTC)


def test_spacing_and_key_order_make_a_duplicate(store: Store, deliver: Deliver, make_event: MakeEvent) -> None:
    """The same meaning under a known id is a duplicate from either source, and only counted."""
    event = make_event()
    respaced = json.dumps(dict(reversed(event.items())), indent=2).encode()

    verdicts = record(store, deliver(event)) + record(store, deliver(respaced, source="backfill"))

    assert verdicts == ["stored", "duplicate"]
    (kept,) = stored(store)
    assert (kept.body, kept.arrivals, kept.source) == (json.dumps(event).encode(), 2, "webhook")


def test_another_meaning_is_a_conflict_once_per_meaning(
    store: Store, deliver: Deliver, make_event: MakeEvent, make_refund: MakeEvent
) -> None:
    """Every other meaning under a known id is one conflict row with its times; the first body stays."""
    first = deliver(make_event())
    other = deliver(make_event(data=make_refund(amount=9)), source="backfill")
    third = deliver(make_event(data=make_refund(amount=8)))

    assert record(store, first) == ["stored"]
    assert record(store, other, third, other, first) == ["conflict", "conflict", "conflict", "duplicate"]

    with store.reading() as session:
        rows = session.exec(select(EventConflict).order_by(col(EventConflict.times))).all()
    assert [(row.other_sha256, row.times, row.source) for row in rows] == [
        (third.raw_sha256, 1, "webhook"),
        (other.raw_sha256, 2, "backfill"),
    ]
    assert {row.first_sha256 for row in rows} == {first.raw_sha256}
    assert stored(store)[0].body == first.body


def test_one_batch_may_hold_the_same_id_several_times(store: Store, deliver: Deliver, make_event: MakeEvent) -> None:
    """Inside one batch the first of an id is stored and the rest are judged against it, in the order given."""
    a, b = make_event("evt_a"), make_event("evt_b")

    verdicts = record(store, deliver(b), deliver(a), deliver(b), deliver(a | {"type": "refund.failed"}))

    assert verdicts == ["stored", "stored", "duplicate", "conflict"]
    assert [event.id for event in stored(store)] == ["evt_a", "evt_b"]


def test_the_same_arrival_object_twice_is_stored_once(store: Store, deliver: Deliver, make_event: MakeEvent) -> None:
    """Handing the very same arrival in twice is no exception to the rule."""
    arrival = deliver(make_event())

    assert record(store, arrival, arrival) == ["stored", "duplicate"]


def test_an_empty_batch_is_nothing(store: Store) -> None:
    """A page without events records nothing and does not fail."""
    assert record(store) == []


def test_a_page_of_three_hundred_events(store: Store, deliver: Deliver, make_event: MakeEvent) -> None:
    """A whole page is recorded in one transaction, and read again it is all duplicates."""
    page = [deliver(make_event(f"evt_{number:03}")) for number in range(300)]

    assert set(record(store, *page)) == {"stored"}
    assert set(record(store, *reversed(page))) == {"duplicate"}
    assert len(stored(store)) == 300


def test_the_last_arrival_is_the_latest_whatever_the_order(
    store: Store, deliver: Deliver, make_event: MakeEvent
) -> None:
    """An arrival recorded late does not move the time of the last arrival back."""
    early, late = deliver(make_event()), deliver(make_event())
    late = deliver(make_event(), received_at=early.received_at + timedelta(hours=1))

    record(store, early)
    record(store, late)
    record(store, early)

    assert stored(store)[0].last_arrival_at == late.received_at
    assert stored(store)[0].arrivals == 3


KEPT: list[tuple[dict[str, Any], str, str | None]] = [
    ({}, "waiting", None),
    ({"type": "comet.seen"}, "ignored", None),
    ({"type": None}, "ignored", None),
    ({"type": 5, "data": None}, "ignored", None),
    ({"mode": "live"}, "quarantined", "mode is 'live' but connection main is test"),
    ({"mode": "live", "type": "comet.seen"}, "quarantined", "mode is 'live' but connection main is test"),
    ({"mode": None}, "quarantined", "the event has no mode"),
    ({"data": None}, "quarantined", "data is not an object"),
    ({"data": []}, "quarantined", "data is not an object"),
    ({"data": {}}, "quarantined", "data.id must be text of 1 to 255 printable characters"),
    ({"data": {"id": "x" * 256}}, "quarantined", "data.id must be text of 1 to 255 printable characters"),
    ({"data": {"id": "po_00000000"}}, "ignored", None),
    ({"data": {"id": "po_0000000"}}, "waiting", None),
    ({"data": {"id": "po_000000001"}}, "waiting", None),
    ({"created_at": "soon"}, "quarantined", "created_at is not an ISO 8601 time with a zone"),
    ({"created_at": "2026-10-05T11:00:00"}, "quarantined", "created_at is not an ISO 8601 time with a zone"),
    ({"created_at": "0001-01-01T00:00:00+14:00"}, "quarantined", "created_at is not an ISO 8601 time with a zone"),
    ({"type": "invoice.upcoming", "data": {"id": None}}, "waiting", None),
    ({"type": "x\0y\ud800"}, "ignored", None),
]


def test_whatever_has_an_id_is_kept_in_its_state(store: Store, deliver: Deliver, make_event: MakeEvent) -> None:
    """Anything authentic with an id is kept: unknown types ignored, wrong mode and unusable data in quarantine."""
    arrivals = [deliver(make_event(f"evt_{number:02}", **changes)) for number, (changes, _, _) in enumerate(KEPT)]

    assert set(record(store, *arrivals)) == {"stored"}
    assert [(event.state, event.error) for event in stored(store)] == [(state, error) for _, state, error in KEPT]


@pytest.mark.parametrize("event_id", [None, "", 5, "x" * 256, "a\nb", "a\0", "\ud800", ["evt_1"], True])
def test_an_unusable_id_is_refused(deliver: Deliver, make_event: MakeEvent, event_id: object) -> None:
    """An event that cannot be named cannot be kept once."""
    with pytest.raises(UnusableEventError, match="id must be text of 1 to 255 printable characters"):
        deliver(make_event(event_id))


def test_any_printable_id_is_accepted(store: Store, deliver: Deliver, make_event: MakeEvent) -> None:
    """Ids are opaque: any printable text of up to 255 characters will do."""
    ids = ["x", "x" * 255, "ñ" * 255, "evento ñandú", "1"]

    assert record(store, *(deliver(make_event(event_id)) for event_id in ids)) == ["stored"] * 5
    assert {event.id for event in stored(store)} == set(ids)


def test_many_ids_delivered_at_once_by_many_threads(store: Store, deliver: Deliver, make_event: MakeEvent) -> None:
    """Fifty ids delivered by eight threads in different orders: each stored exactly once, none fails."""
    page = [deliver(make_event(f"evt_{number:02}")) for number in range(50)]
    verdicts: list[str] = []

    def send(shift: int) -> None:
        turned = page[shift * 6 :] + page[: shift * 6]
        for start in range(0, 50, 10):
            verdicts.extend(record(store, *turned[start : start + 10]))

    threads = [threading.Thread(target=send, args=(shift,)) for shift in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(verdicts) == ["duplicate"] * 350 + ["stored"] * 50
    assert [event.arrivals for event in stored(store)] == [8] * 50
    assert Verdict("stored") is Verdict.STORED
