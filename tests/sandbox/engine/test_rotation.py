"""A secret is rotated with two endpoints; what fails meanwhile is tried again on its own schedule."""

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from itertools import pairwise

import httpx
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from sandbox.state.clock import to_moment
from tests.sandbox.conftest import Object, Open, Receiver, advance, make, paid, read, refusal, subscribe, trade

SUCCEEDED = "payment_intent.succeeded"
DAY = 86_400


def verifies(request: httpx.Request, secret: str) -> bool:
    timestamp, digest = request.headers["Fintoc-Signature"].removeprefix("t=").split(",v1=")
    signed = f"{timestamp}.".encode() + request.content
    return hmac.compare_digest(digest, hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest())


def test_two_endpoints_bear_two_secrets_until_the_old_one_goes(open_sandbox: Open, receiver: Receiver) -> None:
    """Each delivery verifies with its own endpoint's secret alone; a deleted endpoint gets nothing more."""
    client = open_sandbox(trade(*(paid(n, n) for n in range(1, 21))))
    old = subscribe(client, SUCCEEDED, url="https://shop.example/old")
    new = subscribe(client, SUCCEEDED, url="https://shop.example/new")
    secrets = {"/old": (old["secret"], new["secret"]), "/new": (new["secret"], old["secret"])}

    advance(client, 600)
    client.delete(f"/v1/webhook_endpoints/{old['id']}")
    advance(client, 600)

    for request in receiver.requests:
        own, other = secrets[request.url.path]
        assert verifies(request, own)
        assert not verifies(request, other)
    assert [request.url.path for request in receiver.requests].count("/old") == 10
    assert [request.url.path for request in receiver.requests].count("/new") == 20


def test_a_deleted_endpoint_is_not_tried_again(client: httpx.Client, receiver: Receiver) -> None:
    """Retries that were due to it are given up, and time goes on."""
    id_ = subscribe(client, SUCCEEDED)["id"]
    receiver.answer = lambda _: httpx.Response(500)
    advance(client, 3605)

    client.delete(f"/v1/webhook_endpoints/{id_}")
    advance(client, DAY)

    assert len(receiver.requests) == 2


def test_the_seventeen_retries_wait_twice_as_long_each_time(client: httpx.Client, receiver: Receiver) -> None:
    """From 3 seconds to more than two days; the history keeps attempt, moment, code and body."""
    subscribe(client, SUCCEEDED)
    receiver.answer = lambda _: httpx.Response(503, text="closed")

    advance(client, 30 * DAY)

    tries: list[Object] = read(client, "/_sandbox/deliveries")
    moments = [to_moment(row["at"]) for row in tries]
    assert [(later - earlier).total_seconds() for earlier, later in pairwise(moments)] == [
        3, 6, 12, 24, 48, 96, 192, 384, 768, 1536, 3072, 6144, 12288, 24576, 49152, 98304, 196608,
    ]  # fmt: skip
    assert [row["attempt"] for row in tries] == list(range(1, 19))
    assert {(row["response_code"], row["response_body"]) for row in tries} == {(503, "closed")}


def test_an_answer_without_end_is_cut(client: httpx.Client, receiver: Receiver) -> None:
    """The status counts and the first five hundred characters are kept; the rest is not waited for."""

    def endless() -> Iterator[bytes]:
        while True:
            yield b"more "

    subscribe(client, SUCCEEDED)
    receiver.answer = lambda _: httpx.Response(200, content=endless())

    advance(client, 3600)

    (attempt,) = read(client, "/_sandbox/deliveries")
    assert (attempt["response_code"], attempt["response_body"]) == (200, "more " * 100)


def test_ties_are_walked_one_by_one(open_sandbox: Open) -> None:
    """Events of one and the same moment are met once each by a reader who takes them singly."""
    client = open_sandbox(trade(*(paid(n, n / 10) for n in range(1, 10))))
    client.post("/_sandbox/faults", json={"name": "tie"})
    advance(client, 60)
    url, seen = "/v2/events?limit=1", []

    while url:
        page = client.get(url)
        seen += [event["data"]["id"] for event in page.json()]
        url = page.links.get("next", {}).get("url", "")

    assert seen == [f"pi_{n}" for n in range(9, 0, -1)]
    assert page.headers["Link"] == ""


@pytest.mark.parametrize("moment", [10**400, -1, True, None, "now"])
def test_a_signature_of_no_moment_is_refused(bank: httpx.Client, moment: object) -> None:
    """Endless, negative and missing times are a 401 of the provider's."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048).public_key()
    kind = serialization.PublicFormat.SubjectPublicKeyInfo
    pem = key.public_bytes(serialization.Encoding.PEM, kind).decode()
    bank.put("/_sandbox/jws_key", json={"public_key": pem})
    claims = {"alg": "RS256", "nonce": "n" * 32, "ts": moment, "crit": ["ts", "nonce"]}
    protected = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")

    answer = bank.post("/v2/account_verifications", json={}, headers={"Fintoc-JWS-Signature": f"{protected}.eA"})

    assert refusal(answer)[1].startswith("invalid_jws_signature_timestamp")


def test_the_old_version_shapes_what_is_announced_and_what_is_read(open_sandbox: Open) -> None:
    """After a version switch events bear the old names; a reader who names the new version gets the new ones."""
    client = open_sandbox("busy-month", seed=4, scale=0.1)
    link = read(client, "/_sandbox/credentials")["link_tokens"][0]
    client.post("/_sandbox/faults", json={"name": "version-switch", "times": 1})
    read(client, "/v1/payouts")
    made = make(client, "/v1/refresh_intents", link_token=link)
    advance(client, 60)

    shown = read(client, f"/v2/events?resource_id={made['id']}")[0]["data"]
    named = client.get(f"/v1/refresh_intents/{made['id']}?link_token={link}", headers={"Fintoc-Version": "2026-02-01"})

    assert "refreshedObjectId" in made
    assert "refreshedObjectId" in shown
    assert "refreshed_object_id" in named.json()
