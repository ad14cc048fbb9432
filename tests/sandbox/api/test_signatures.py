"""The calls that need a JSON Web Signature: returning a transfer, verifying an account, sending where asked for."""

import json
from typing import Any

import httpx
import pytest

from tests.sandbox.conftest import (
    advance,
    event_types,
    open_account,
    read,
    receive,
    refusal,
)
from tests.sandbox.signing import post_signed, sign


def test_an_inbound_mexican_transfer_is_returned(signing: httpx.Client) -> None:
    """Return pending first, returned later; the money has left."""
    account = open_account(signing, "mx")
    made = receive(signing, account, 900)

    assert (
        post_signed(signing, "/v2/transfers/return", {"transfer_id": made["id"]}).json()["status"] == "return_pending"
    )
    advance(signing, 10)

    assert read(signing, f"/v2/transfers/{made['id']}")["return_reason_code"] == "01"
    assert event_types(signing, made["id"]) == ["transfer.inbound.succeeded", "transfer.inbound.returned"]
    assert read(signing, f"/v2/accounts/{account['id']}")["available_balance"] == 0


def test_a_return_may_fail_or_be_impossible(signing: httpx.Client) -> None:
    """A refused return leaves the transfer as it was; Chilean transfers cannot be returned."""
    mexican = receive(signing, open_account(signing, "mx"), 900, metadata={"sandbox_outcome": "return_failed"})
    chilean = receive(signing, open_account(signing, "cl"), 900)

    post_signed(signing, "/v2/transfers/return", {"transfer_id": mexican["id"]})
    advance(signing, 10)

    assert read(signing, f"/v2/transfers/{mexican['id']}")["status"] == "succeeded"
    assert event_types(signing, mexican["id"])[-1] == "transfer.inbound.return_failed"
    answer = post_signed(signing, "/v2/transfers/return", {"transfer_id": chilean["id"]})
    assert refusal(answer) == (409, "invalid_transfer_direction", "transfer_id")


@pytest.mark.parametrize(("number", "status"), [("646180157000000004", "succeeded"), ("000000000000000000", "failed")])
def test_an_account_is_verified(signing: httpx.Client, number: str, status: str) -> None:
    """Half a minute later it is proved, or does not exist."""
    made = post_signed(signing, "/v2/account_verifications", {"account_number": number}).json()
    assert made["status"] == "pending"

    advance(signing, 30)

    assert read(signing, f"/v2/account_verifications/{made['id']}")["status"] == status
    assert event_types(signing, made["id"]) == [f"account_verification.{status}"]
    path = "/v2/account_verifications"
    assert len(read(signing, f"{path}?account_number={number}&transfer_id={made['transfer_id']}&since=2026-10-01")) == 1
    assert read(signing, f"{path}?account_number=7") == []


@pytest.mark.parametrize(
    ("claims", "code"),
    [
        ({"alg": "HS256"}, "invalid_jws_signature_algorithm"),
        ({"crit": ["ts"]}, "invalid_jws_signature_header"),
        ({"nonce": "short"}, "invalid_jws_signature_nonce"),
        ({"ts": "now"}, "invalid_jws_signature_timestamp_format"),
        ({"ts": 1}, "invalid_jws_signature_timestamp_value"),
    ],
)
def test_a_signature_with_wrong_claims_is_refused(signing: httpx.Client, claims: dict[str, Any], code: str) -> None:
    """Each claim has its own error."""
    body = {"account_number": "1"}

    answer = post_signed(signing, "/v2/account_verifications", body, sign(json.dumps(body).encode(), **claims))

    assert refusal(answer)[:2] == (401, code)


@pytest.mark.parametrize("signature", ["x", "a.b.c", "e30.AAAA", "!!.!!"])
def test_an_unreadable_signature_is_refused(signing: httpx.Client, signature: str) -> None:
    """Never a 500, whatever comes."""
    answer = post_signed(signing, "/v2/account_verifications", {"account_number": "1"}, signature)

    assert answer.status_code == 401


def test_a_signature_fits_one_body_once(signing: httpx.Client) -> None:
    """Another body, a used nonce and a missing header are refused."""
    body = {"account_number": "1"}
    signature = sign(json.dumps(body).encode())
    path = "/v2/account_verifications"

    assert refusal(post_signed(signing, path, {"account_number": "2"}, signature))[1] == "invalid_jws_signature_header"
    assert post_signed(signing, path, body, signature).status_code == 201
    assert refusal(post_signed(signing, path, body, signature))[1] == "jws_nonce_already_used"
    assert refusal(signing.post(path, json=body))[1] == "missing_jws_signature_header"


def test_without_a_public_key_nothing_is_verified(bank: httpx.Client) -> None:
    """The organization must have uploaded one, and it must be readable."""
    answer = post_signed(bank, "/v2/account_verifications", {"account_number": "1"})

    assert refusal(answer)[1] == "missing_active_jws_public_key"
    for pem in ("", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----", "no", None):
        assert bank.put("/_sandbox/jws_key", json={"public_key": pem}).status_code == 400


TO = {
    "holder_id": "1-9",
    "holder_name": "Ana",
    "account_number": "123",
    "account_type": "checking",
    "institution_id": "cl_banco_estado",
}


def test_a_scenario_may_ask_for_signed_transfers(signing: httpx.Client) -> None:
    """The specification signs two calls and recorded traffic three: a signature that comes is checked in any case."""
    account = open_account(signing, "cl")
    receive(signing, account, 900)
    body = {"account_id": account["id"], "amount": 300, "currency": "CLP", "counterparty": TO}

    assert signing.post("/v2/transfers", json=body).status_code == 201
    assert post_signed(signing, "/v2/transfers", body).status_code == 201
    assert refusal(post_signed(signing, "/v2/transfers", body, sign(b"{}")))[1] == "invalid_jws_signature_header"
    for name, wish, code in (
        ("quiet", {}, "missing_parameter"),
        ("quiet", {"signed_transfers": True}, "missing_jws_signature_header"),
        ("mexico", {}, "missing_jws_signature_header"),
        ("mexico", {"signed_transfers": False}, "missing_parameter"),
        ("mexico", {"signed_transfers": "yes"}, "missing_parameter"),
    ):
        begun = signing.post("/_sandbox/scenario", json={"name": name, "scale": 0.1, **wish})
        assert begun.status_code == (400 if wish == {"signed_transfers": "yes"} else 200)
        assert refusal(signing.post("/v2/transfers", json={}))[1] == code
