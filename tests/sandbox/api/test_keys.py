"""The organization's keys: how many, for how long, and from where."""

import httpx
import pytest

from tests.sandbox.conftest import advance, make, refusal


def status(client: httpx.Client, key: str) -> int:
    return client.get("/v1/payouts", headers={"Authorization": key}).status_code


def test_an_organization_holds_up_to_ten_keys(client: httpx.Client) -> None:
    """The two it begins with are among them; a revoked one makes room."""
    made = [make(client, "/_sandbox/keys", name=f"key {n}")["key"] for n in range(8)]
    assert [status(client, key) for key in made] == [200] * 8

    assert refusal(client.post("/_sandbox/keys", json={"name": "one more"}))[:2] == (409, "api_key_limit_reached")
    assert client.request("DELETE", "/_sandbox/keys", json={"key": made[0]}).status_code == 204

    assert status(client, made[0]) == 401
    assert client.post("/_sandbox/keys", json={"name": "one more"}).status_code == 201


def test_a_key_may_end(client: httpx.Client) -> None:
    """From its last moment on it is refused by a code of its own."""
    key = make(client, "/_sandbox/keys", name="for a day", expires_at="2026-10-02T03:00:00Z")["key"]
    advance(client, 86_399)
    assert status(client, key) == 200

    advance(client, 1)

    answer = client.get("/v1/payouts", headers={"Authorization": key})
    assert answer.json()["error"]["type"] == "authentication_error"
    assert refusal(answer)[:2] == (401, "expired_api_key")


def test_a_key_decides_the_mode(client: httpx.Client) -> None:
    """A live key sees what is live, and nothing of the test mode."""
    key = make(client, "/_sandbox/keys", name="live", mode="live")["key"]

    rows = client.get("/v1/payouts", headers={"Authorization": key}).json()

    assert key.startswith("sk_live_")
    assert [row["id"] for row in rows] == ["po_9"]
    assert client.get("/v1/payouts/po_1", headers={"Authorization": key}).status_code == 404


@pytest.mark.parametrize(
    ("blocks", "expected"), [(["10.0.0.0/8"], 403), (["10.0.0.0/8", "127.0.0.0/8"], 200), ([], 200)]
)
def test_requests_may_be_bound_to_addresses(client: httpx.Client, blocks: list[str], expected: int) -> None:
    """Where blocks of addresses are set, others are turned away; steering never is."""
    assert client.put("/_sandbox/allowed_networks", json={"cidr_blocks": blocks}).status_code == 200

    assert client.get("/v1/payouts").status_code == expected


def test_a_block_that_is_none_changes_nothing(client: httpx.Client) -> None:
    """The refusal is a 400."""
    answer = client.put("/_sandbox/allowed_networks", json={"cidr_blocks": ["everywhere"]})

    assert refusal(answer) == (400, "invalid_params", "cidr_blocks")
    assert client.get("/v1/payouts").status_code == 200
