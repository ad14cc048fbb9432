"""Requests meant to break the sandbox: endless numbers, deep and broken bodies, strange addresses, reused ids."""

from typing import Any

import httpx
import pytest

from sandbox.serve import RunningSandbox
from sandbox.state.bodies import DEEPEST
from tests.sandbox.conftest import (
    PDF,
    Object,
    Open,
    Receiver,
    advance,
    customer,
    make,
    one_payout,
    read,
    refusal,
    subscribe,
    trade,
)

FORM = "application/x-www-form-urlencoded"


@pytest.mark.parametrize("path", ["/v1/payouts?page=", "/v1/payouts?per_page=", "/v2/events?limit="])
@pytest.mark.parametrize("number", ["9" * 5000, "0", "-1", "1.5", "\u00bd", "\u0661", "", "301"])
def test_a_page_number_that_is_none_is_refused(client: httpx.Client, path: str, number: str) -> None:
    """Endless, zero, negative, foreign and missing digits are a 400 with the parameter's name."""
    answer = client.get(path + number)

    if number == "301" and "?page" in path:
        assert (answer.status_code, answer.json()) == (200, [])
    else:
        assert refusal(answer)[:2] == (400, "invalid_positive_integer")


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b'{"a":' + b"[" * 200_000, "invalid_json"),
        (b'{"email":"a@b","address":' + b'{"a":' * DEEPEST + b"1" + b"}" * DEEPEST + b"}", "invalid_hash"),
        (b'{"email":"\xff"}', "invalid_json"),
        (b'{"email":"\\ud800"}', "invalid_json"),
        (b'{"email":"a@b","metadata":{"a":' + b"9" * 6000 + b"}}", "invalid_json"),
        (b"[1]", "invalid_hash"),
        (b"null", "invalid_hash"),
    ],
)
def test_a_body_that_cannot_be_read_is_refused(client: httpx.Client, content: bytes, code: str) -> None:
    """Too deep, not UTF-8, lone surrogates, endless numbers, no object."""
    assert refusal(client.post("/v2/customers", content=content))[:2] == (400, code)
    assert read(client, "/v2/customers") == []


def test_a_form_that_is_too_deep_or_too_large_is_refused(client: httpx.Client) -> None:
    """Brackets without end and fields without number are a 400."""
    deep = client.post("/v2/customers", data={"email": "a@b.cl", "address" + "[a]" * 5000: "1"})
    many = client.post("/v2/customers", files=[(f"f{number}", (None, b"1")) for number in range(1500)])

    assert refusal(deep)[:2] == (400, "invalid_hash")
    assert refusal(many)[:2] == (400, "invalid_params")


def test_json_under_a_forms_name_is_json(client: httpx.Client) -> None:
    """What `curl -d` sends is read as it is meant."""
    answer = client.post("/v2/customers", content=b'{"email":"Ana@Example.com"}', headers={"Content-Type": FORM})

    assert answer.json()["email"] == "ana@example.com"


def test_strange_addresses_and_methods_are_answered_in_the_providers_words() -> None:
    """Over a real socket: other methods are 405; bytes that are no text, and doubled slashes, are 404."""
    with RunningSandbox(one_payout()) as running, httpx.Client(base_url=running.url, trust_env=False) as client:
        client.headers["Authorization"] = "sk_test_sandbox"
        for method in ("OPTIONS", "PUT", "TRACE", "DELETE", "FOO"):
            answer = client.request(method, "/v1/payouts")
            assert refusal(answer)[:2] == (405, "operation_not_allowed")
            assert answer.headers["Allow"] == "GET, HEAD"
            assert client.request(method, "/v1/nothing").status_code == 404
        for path in ("/v1/payouts/%ff", "/v1/payouts/%00", "/v1/payouts/a%0A", "/v1//payouts", "/v1/payouts/", "/"):
            assert client.get(path).status_code == 404
        assert client.head("/v1/payouts").content == b""


@pytest.mark.parametrize(
    "url",
    [
        "https://shop.example:99999/",
        "https://shop .example/",
        "https://shop\n.example/",
        "https://xn--\u2603..example/",
        "https://",
        "https://[::1/",
        "ftp://shop.example/",
        "//shop.example/",
        "http://shop.example/",
        "http://127.0.0.1.shop.example/",
        7,
        None,
    ],
)
def test_an_address_that_cannot_be_sent_to_is_refused(client: httpx.Client, url: object) -> None:
    """Rule 1: `invalid_url` with `param` `url`, on update as on creation; the endpoint stays as it was."""
    id_ = subscribe(client, "payout.created")["id"]

    answer = client.patch(f"/v1/webhook_endpoints/{id_}", json={"url": url, "name": "changed"})

    assert refusal(answer) == (400, "invalid_url", "url")
    assert read(client, f"/v1/webhook_endpoints/{id_}")["name"] is None


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        (
            "/v1/webhook_endpoints",
            {"url": "https://a.example", "enabled_events": ["payout.created"], "status": []},
            400,
        ),
        ("/v1/webhook_endpoints", {"url": "https://a.example", "enabled_events": [[]]}, 400),
        ("/_sandbox/faults", {"name": {"a": 1}}, 400),
        ("/_sandbox/faults", {"name": "drop", "times": -3}, 400),
        ("/_sandbox/faults", {"name": "drop", "field": "amount"}, 400),
        ("/_sandbox/faults", {"name": "drop", "lasts": "long"}, 400),
        ("/_sandbox/scenario", {"name": "busy-month", "seed": True}, 400),
    ],
)
def test_a_value_of_another_kind_is_refused(client: httpx.Client, path: str, body: Object, code: int) -> None:
    """Lists, objects and flags where a word or a number belongs."""
    assert client.post(path, json=body).status_code == code


@pytest.mark.parametrize("name", ["gremlin", ["drop"], {"a": 1}, ""])
def test_switching_off_a_fault_that_does_not_exist_is_a_mistake(client: httpx.Client, name: object) -> None:
    """A misspelt name is said aloud, and what is on stays on."""
    client.post("/_sandbox/faults", json={"name": "drop", "probability": 0.5})

    assert client.request("DELETE", "/_sandbox/faults", json={"name": name}).status_code == 400
    assert len(read(client, "/_sandbox/faults")) == 1


def test_a_fault_may_last_a_while(client: httpx.Client) -> None:
    """It is on until that much of the sandbox's clock has gone by."""
    client.post("/_sandbox/faults", json={"name": "server-error", "lasts": 60})
    advance(client, 59)
    assert client.get("/v1/payouts").status_code == 500

    advance(client, 1)

    assert client.get("/v1/payouts").status_code == 200
    assert read(client, "/_sandbox/faults") == []


def test_a_retried_upload_is_the_same_request(open_sandbox: Open) -> None:
    """A form sent again under its key has another boundary and the same answer; another file is a mismatch."""
    client = open_sandbox(trade(customer()))

    def enrol(boundary: str, document: bytes) -> httpx.Response:
        kind = f"multipart/form-data; boundary={boundary}"
        fields = {"customer": "cus_1", "mx_direct_debit[account_number]": "646180157000000004",
                  "mx_direct_debit[account_holder_id]": "ATP190301KX8"}  # fmt: skip
        files = [("mx_direct_debit[consent_documents][]", (f"{n}.pdf", document)) for n in range(4)]
        headers = {"Idempotency-Key": "enrol", "Content-Type": kind}
        return client.post("/v2/payment_methods", data=fields, files=files, headers=headers)

    first, again, other = enrol("one", PDF), enrol("two", PDF), enrol("three", PDF + b"x")

    assert (first.status_code, again.content) == (201, first.content)
    assert refusal(other)[:2] == (409, "idempotency_key_reused")
    assert len(read(client, "/v2/payment_methods")) == 1


def test_the_order_of_names_is_not_part_of_a_request(client: httpx.Client) -> None:
    """JSON spelled otherwise under the same key is the same request."""
    first, again = (
        client.post("/v2/customers", content=content, headers={"Idempotency-Key": "k"})
        for content in (b'{"email":"a@b.cl","name":"Ana"}', b'{"name": "Ana", "email": "a@b.cl"}')
    )

    assert again.content == first.content
    assert len(read(client, "/v2/customers")) == 1


@pytest.mark.parametrize(("fault", "kept"), [("rate-limit", 201), ("key-refused", 201), ("server-error", 500)])
def test_what_is_turned_away_at_the_door_is_not_kept(client: httpx.Client, fault: str, kept: int) -> None:
    """A 429 and a refused key are not replayed under an Idempotency-Key; a server error is."""
    client.post("/_sandbox/faults", json={"name": fault, "times": 1})
    ask: dict[str, Any] = {"json": {"email": "a@b.cl"}, "headers": {"Idempotency-Key": "k"}}

    assert client.post("/v2/customers", **ask).status_code >= 400
    assert client.post("/v2/customers", **ask).status_code == kept


def test_endpoints_keep_their_ids_when_a_scenario_begins_anew(client: httpx.Client) -> None:
    """With the same seed ids begin anew, but never one that an endpoint bears."""
    made = []
    for _ in range(3):
        client.post("/_sandbox/scenario", json={"name": "busy-month", "seed": 4, "scale": 0.1})
        made.append(subscribe(client, "payout.created"))

    assert len({row["id"] for row in made}) == len({row["secret"] for row in made}) == 3
    assert len(read(client, "/v1/webhook_endpoints")) == 3


def test_no_event_shows_what_is_only_the_sandboxs_own(open_sandbox: Open, receiver: Receiver) -> None:
    """Not even one of an unknown type, which is made beside the true one."""
    client = open_sandbox("busy-month", seed=4, scale=0.1)
    subscribe(client, "payment_intent.succeeded")
    client.post("/_sandbox/faults", json={"name": "unknown-type"})
    link = read(client, "/_sandbox/credentials")["link_tokens"][0]
    make(client, "/v1/refresh_intents", link_token=link)

    advance(client, 3600)

    assert "link.refresh_intent.reassessed" in {event["type"] for event in receiver.events()}
    assert not any(name.startswith("_") for event in receiver.events() for name in event["data"])
