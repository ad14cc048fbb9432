"""Webhook endpoints: their life, their secret, and the addresses they may have."""

import time

import httpx
import pytest

from tests.sandbox.conftest import Receiver, subscribe

URL = "https://shop.example/webhooks"


def test_the_secret_is_shown_once(client: httpx.Client) -> None:
    """Creation answers the secret; get, list and update answer null."""
    made = subscribe(client, "payout.created")

    assert made["secret"].startswith("whsec_test_")
    assert made["status"] == "enabled"
    assert made["enabled_events"] == ["payout.created"]
    path = f"/v1/webhook_endpoints/{made['id']}"
    shown = [client.get(path).json(), client.patch(path, json={}).json(), *client.get("/v1/webhook_endpoints").json()]
    assert [endpoint["secret"] for endpoint in shown] == [None, None, None]


def test_an_update_replaces_the_fields_it_names(client: httpx.Client) -> None:
    """The list of types is replaced whole; everything else stays."""
    made = subscribe(client, "payout.created", "payout.succeeded")

    path = f"/v1/webhook_endpoints/{made['id']}"
    answer = client.patch(path, json={"enabled_events": ["refund.failed"], "name": "shop", "disabled": True})

    assert answer.json() == {
        **made,
        "secret": None,
        "enabled_events": ["refund.failed"],
        "name": "shop",
        "status": "disabled",
    }


@pytest.mark.parametrize("url", ["http://shop.example/", "ftp://shop.example/", "shop", "", 7, "https://[::1"])
def test_an_address_must_be_https(client: httpx.Client, url: object) -> None:
    """A plain or broken address is `invalid_url`, at creation and at update."""
    made = subscribe(client, "payout.created")

    for answer in (
        client.post("/v1/webhook_endpoints", json={"url": url, "enabled_events": ["payout.created"]}),
        client.patch(f"/v1/webhook_endpoints/{made['id']}", json={"url": url}),
    ):
        error = answer.json()["error"]
        assert (answer.status_code, error["code"], error["param"]) == (400, "invalid_url", "url")


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/w", "http://localhost/w", "http://[::1]:9/w"])
def test_http_is_allowed_on_this_machine(client: httpx.Client, url: str) -> None:
    """A receiver under development needs no certificate."""
    assert subscribe(client, "payout.created", url=url)["url"] == url


@pytest.mark.parametrize(
    ("body", "code", "param"),
    [
        ({"enabled_events": ["payout.created"]}, "missing_parameter", "url"),
        ({"url": URL}, "missing_parameter", "enabled_events"),
        ({"url": URL, "enabled_events": ["link.created"]}, "invalid_enum", "enabled_events"),
        ({"url": URL, "enabled_events": [["payout.created"]]}, "invalid_enum", "enabled_events"),
        ({"url": URL, "enabled_events": "payout.created"}, "invalid_array", "enabled_events"),
    ],
)
def test_what_an_endpoint_needs(client: httpx.Client, body: dict[str, object], code: str, param: str) -> None:
    """An address and known event types; `link.created` is never delivered to an endpoint."""
    answer = client.post("/v1/webhook_endpoints", json=body)

    assert answer.status_code == 400
    assert (answer.json()["error"]["code"], answer.json()["error"]["param"]) == (code, param)


def test_a_deleted_endpoint_is_gone(client: httpx.Client) -> None:
    """It is not listed, and get, update and delete answer 404."""
    path = f"/v1/webhook_endpoints/{subscribe(client, 'payout.created')['id']}"

    deleted = client.delete(path)

    assert (deleted.status_code, deleted.json()["object"], deleted.json()["secret"]) == (200, "webhook_endpoint", None)

    assert client.get("/v1/webhook_endpoints").json() == []
    assert [client.get(path).status_code, client.patch(path, json={}).status_code, client.delete(path).status_code] == [
        404,
        404,
        404,
    ]


def test_an_endpoint_of_the_other_mode_is_missing(client: httpx.Client) -> None:
    """A live key does not see a test endpoint."""
    path = f"/v1/webhook_endpoints/{subscribe(client, 'payout.created')['id']}"

    answer = client.patch(path, json={}, headers={"Authorization": "sk_live_sandbox"})

    assert answer.json()["error"]["code"] == "missing_resource"
    assert answer.json()["error"]["param"] == "id"


def test_a_test_event_arrives_without_the_clock_moving(client: httpx.Client, receiver: Receiver) -> None:
    """It bears a made-up object whose id resolves to nothing."""
    made = subscribe(client, "payout.created")

    answer = client.post(f"/v1/webhook_endpoints/{made['id']}/test", json={"type": "payout.created"})

    assert answer.status_code == 200
    until = time.monotonic() + 120
    while not receiver.requests and time.monotonic() < until:
        time.sleep(0.01)
    assert receiver.events()[0]["type"] == "payout.created"
    assert receiver.events()[0]["data"]["id"] == "po_00000000"
    assert client.get("/v1/payouts/po_00000000").status_code == 404
