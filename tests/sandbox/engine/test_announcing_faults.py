"""Faults of what is announced: on the wire, in the log, in the content."""

import json
from collections import Counter
from itertools import pairwise
from threading import Event

import httpx

from sandbox.engine.delivery import Delivery, Outbox
from sandbox.state.events import Event as Announced
from sandbox.state.store import Store
from tests.sandbox.conftest import START, Open, Receiver, advance, paid, subscribe, trade
from tests.thoroughness import for_run

SUCCEEDED = "payment_intent.succeeded"
HUNDRED = trade(*(paid(n, n) for n in range(1, 101)))


def wrong(client: httpx.Client, name: str, probability: float = 1, **options: object) -> None:
    answer = client.post("/_sandbox/faults", json={"name": name, "probability": probability, **options})
    assert answer.status_code == 201, answer.text


def delivered(receiver: Receiver) -> list[str]:
    return [event["data"]["id"] for event in receiver.events()]


def test_a_dropped_delivery_never_happens(open_sandbox: Open, receiver: Receiver) -> None:
    """Some events are never tried at all, but every one of them is in the log."""
    client = open_sandbox(HUNDRED)
    subscribe(client, SUCCEEDED)
    wrong(client, "drop", 0.3)

    advance(client, 30 * 86_400)

    summary = client.get("/_sandbox/summary").json()
    assert 15 <= summary["dropped_events"] <= 45
    assert summary["delivered_events"] == len(receiver.requests) == 100 - summary["dropped_events"]
    assert len(client.get("/v2/events?limit=300").json()) == 100


def test_what_is_hit_depends_on_the_seed_alone(open_sandbox: Open, receiver: Receiver) -> None:
    """The same seed drops the same events whatever the steps of the clock; another seed drops others."""
    outcomes = []
    for seed, steps in ((5, 1), (5, 10), (6, 1)):
        client = open_sandbox(HUNDRED)
        subscribe(client, SUCCEEDED)
        wrong(client, "drop", 0.3, seed=seed)
        for _ in range(steps):
            advance(client, 6000 / steps)
        outcomes.append(set(delivered(receiver)))
        receiver.requests.clear()

    assert outcomes[0] == outcomes[1] != outcomes[2]


def test_a_duplicate_arrives_twice(open_sandbox: Open, receiver: Receiver) -> None:
    """Both deliveries carry the same bytes."""
    client = open_sandbox(HUNDRED)
    subscribe(client, SUCCEEDED)
    wrong(client, "duplicate")

    advance(client, 6000)

    assert set(Counter(request.content for request in receiver.requests).values()) == {2}


def test_a_delayed_delivery_comes_later(client: httpx.Client, receiver: Receiver) -> None:
    """It is due that many seconds after the event."""
    subscribe(client, SUCCEEDED)
    wrong(client, "delay", seconds=600)

    advance(client, 3600 + 599)
    assert delivered(receiver) == []
    advance(client, 1)

    assert delivered(receiver) == ["pi_3"]


def test_reordered_deliveries_are_overtaken(open_sandbox: Open, receiver: Receiver) -> None:
    """Everything arrives within the advance, but not in the order it happened."""
    client = open_sandbox(HUNDRED)
    subscribe(client, SUCCEEDED)
    wrong(client, "reorder", 0.3)

    advance(client, 6000)

    order = [int(id_[3:]) for id_ in delivered(receiver)]
    assert sorted(order) == list(range(1, 101))
    assert sum(later < earlier for earlier, later in pairwise(order)) >= 5


def test_what_is_held_back_comes_last_however_slow_the_others_are(open_sandbox: Open, receiver: Receiver) -> None:
    """It is sent once those that overtake it have arrived, and not beside them."""
    client = open_sandbox(trade(paid(1, 1), paid(2, 1)))
    subscribe(client, SUCCEEDED)
    arrived, order = Event(), list[str]()

    def take(request: httpx.Request) -> httpx.Response:
        name = json.loads(request.content)["data"]["id"]
        if len(receiver.requests) == 1:
            arrived.wait(0.5)
        order.append(name)
        arrived.set()
        return httpx.Response(200)

    receiver.answer = take
    wrong(client, "reorder", times=1)
    advance(client, 60)

    assert order == ["pi_2", "pi_1"]


def test_one_that_is_due_with_earlier_ones_is_held_back_all_the_same() -> None:
    """Those before it do not overtake it: it waits for one that comes after it."""
    store = Store()
    outbox, event = Outbox(store), Announced("evt_1", SUCCEEDED, "test", START, START, {})
    first, held, later = (Delivery(event, "we_1", START, is_held=is_held) for is_held in (False, True, False))
    outbox.post(first)
    outbox.post(held)

    assert [delivery is first for delivery in outbox.take_due(START)] == [True]
    assert outbox.take_due(START) == []
    outbox.post(later)
    (second, last) = outbox.take_due(START)
    assert (second is later, last is held) == (True, True)
    store.close()


def test_a_late_event_is_not_in_the_log_yet(client: httpx.Client, receiver: Receiver) -> None:
    """Its webhook arrives at once, but the log shows it only later, at the time it bears."""
    subscribe(client, SUCCEEDED)
    wrong(client, "late-visible", seconds=120)
    advance(client, 3600)
    id_ = receiver.events()[0]["id"]

    assert client.get(f"/v2/events/{id_}").status_code == 404
    assert client.get("/v2/events").json()[0]["id"] != id_
    advance(client, 120)

    assert client.get("/v2/events").json()[0]["id"] == id_
    assert client.get("/v2/events").json()[0]["created_at"] == "2026-10-01T04:00:00.000Z"


def test_ties_share_one_moment(open_sandbox: Open) -> None:
    """Events close to each other bear the same `created_at`."""
    client = open_sandbox(trade(*(paid(n, n / 6) for n in range(1, 7))))
    wrong(client, "tie")

    advance(client, 60)

    assert {event["created_at"] for event in client.get("/v2/events").json()} == {"2026-10-01T03:00:10.000Z"}


def test_a_conflict_is_another_body_under_the_same_id(client: httpx.Client, receiver: Receiver) -> None:
    """The true body arrives first and is the one in the log; then another amount under its id."""
    subscribe(client, SUCCEEDED)
    wrong(client, "conflict")

    advance(client, 3600)

    first, second = receiver.events()
    assert first["id"] == second["id"]
    assert (first["data"]["amount"], second["data"]["amount"]) == (1000, 1001)
    assert client.get(f"/v2/events/{first['id']}").json()["data"]["amount"] == 1000


def test_a_stale_retry_bears_an_old_signature(client: httpx.Client, receiver: Receiver) -> None:
    """The first try is fresh; the retry was signed an hour ago."""
    subscribe(client, SUCCEEDED)
    wrong(client, "stale-retry")
    receiver.answer = lambda _: httpx.Response(500 if len(receiver.requests) == 1 else 200)

    advance(client, 3603)

    first, second = (int(request.headers["Fintoc-Signature"][2:].split(",")[0]) for request in receiver.requests)
    assert abs(first - second - 3_600) < for_run(short=600, full=100)


def test_an_unknown_type_comes_beside_the_true_event(client: httpx.Client, receiver: Receiver) -> None:
    """A second event of an unknown type is logged and delivered; the true one is whole."""
    subscribe(client, SUCCEEDED)
    wrong(client, "unknown-type")

    advance(client, 3600)

    assert {event["type"] for event in receiver.events()} == {SUCCEEDED, "payment_intent.reassessed"}
    assert len({event["id"] for event in receiver.events()}) == 2
    assert len(client.get("/v2/events?resource_id=pi_3").json()) == 2


def test_unknown_fields_and_nulls_are_in_the_event(client: httpx.Client) -> None:
    """The event has a field more, and a null where a value belongs."""
    wrong(client, "unknown-field")
    wrong(client, "null-field", field="currency")

    advance(client, 3600)

    data = client.get("/v2/events").json()[0]["data"]
    assert "settlement_hint" in data
    assert data["currency"] is None
    assert data["amount"] == 1000


def test_a_fault_can_be_switched_off(open_sandbox: Open, receiver: Receiver) -> None:
    """Without the fault everything arrives again."""
    client = open_sandbox(HUNDRED)
    subscribe(client, SUCCEEDED)
    wrong(client, "drop")
    advance(client, 600)
    assert receiver.requests == []

    assert client.delete("/_sandbox/faults").json() == []
    advance(client, 600)

    assert len(receiver.requests) == 10


def test_a_fault_strikes_as_often_as_it_may(open_sandbox: Open, receiver: Receiver) -> None:
    """`times` bounds how many events are hit."""
    client = open_sandbox(HUNDRED)
    subscribe(client, SUCCEEDED)
    wrong(client, "drop", times=3)

    advance(client, 6000)

    assert len(receiver.requests) == 97
