"""The event log over HTTP: order, filters, cursors, single events."""

from dataclasses import replace

import httpx

from tests.sandbox.conftest import Open, advance, paid, trade


def types(answer: httpx.Response) -> list[tuple[str, str]]:
    assert answer.status_code == 200, answer.text
    return [(event["type"], event["data"]["id"]) for event in answer.json()]


def test_events_are_newest_first_and_carry_the_object_as_it_was(client: httpx.Client) -> None:
    """The envelope has the provider's six fields and the data is the object after the change."""
    event = client.get("/v2/events").json()[-1]

    assert list(event) == ["id", "object", "type", "mode", "created_at", "data"]
    assert event["id"].startswith("evt_")
    assert event["object"] == "event"
    assert event["created_at"] == "2026-09-30T15:00:00.000Z"
    assert event["data"]["status"] == "succeeded"
    assert types(client.get("/v2/events"))[0] == ("payout.created", "po_1")


def test_one_event_is_found_by_id(client: httpx.Client) -> None:
    """The single event equals its row in the list; an unknown one is a 404."""
    event = client.get("/v2/events").json()[0]

    assert client.get(f"/v2/events/{event['id']}").json() == event
    assert client.get("/v2/events/evt_none").json()["error"]["param"] == "id"


def test_events_are_filtered_by_type_resource_and_time(client: httpx.Client) -> None:
    """Every filter narrows the list, and bounds are included."""
    assert types(client.get("/v2/events?type=refund.succeeded")) == [("refund.succeeded", "re_1")]
    assert types(client.get("/v2/events?resource_id=pi_2")) == [("payment_intent.succeeded", "pi_2")]
    assert types(client.get("/v2/events?since=2026-10-01")) == []
    assert len(types(client.get("/v2/events?until=2026-09-30"))) == 4
    assert types(client.get("/v2/events?until=2026-09-30T14:59:59Z")) == []
    assert len(types(client.get("/v2/events?since=2026-09-30T15:00:00Z&until=2026-09-30T15:00:00Z"))) == 4


def test_events_are_walked_by_cursor(open_sandbox: Open) -> None:
    """Following the next links meets every event once, within the window asked for."""
    client = open_sandbox(trade(*(paid(n, -n) for n in range(1, 8))))
    url, seen = "/v2/events?limit=3&since=2026-10-01T02:54:00Z", []

    while url:
        page = client.get(url)
        seen += [resource for _, resource in types(page)]
        url = page.links.get("next", {}).get("url", "")

    assert seen == ["pi_1", "pi_2", "pi_3", "pi_4", "pi_5", "pi_6"]


def test_a_page_before_an_event_holds_the_newer_ones(open_sandbox: Open) -> None:
    """`ending_before` gives the events directly newer than the cursor."""
    client = open_sandbox(trade(*(paid(n, -n) for n in range(1, 5))))
    oldest = client.get("/v2/events").json()[-1]["id"]

    page = client.get("/v2/events", params={"limit": 2, "ending_before": oldest})

    assert types(page) == [("payment_intent.succeeded", "pi_2"), ("payment_intent.succeeded", "pi_3")]


def test_a_default_page_has_thirty_events(open_sandbox: Open) -> None:
    """Without a limit a page holds 30 events, and 300 is the largest limit."""
    client = open_sandbox(trade(*(paid(n, -n / 60) for n in range(1, 332))))

    assert len(client.get("/v2/events").json()) == 30
    assert len(client.get("/v2/events?limit=300").json()) == 300


def test_event_only_fields_are_in_the_event_alone(open_sandbox: Open) -> None:
    """A field that events add is not on the object."""
    happening = replace(paid(1, 1), event_only={"split_applied": [{"entity_id": "ent_1", "amount": 1000}]})
    client = open_sandbox(trade(happening))
    advance(client, 60)

    assert client.get("/v2/events").json()[0]["data"]["split_applied"] == [{"entity_id": "ent_1", "amount": 1000}]
    assert "split_applied" not in client.get("/v1/payment_intents/pi_1").json()
