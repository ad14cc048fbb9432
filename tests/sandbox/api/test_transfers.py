"""Transfers: sent, received, rejected, sent back, and what they leave on the account."""

from typing import Any

import httpx
import pytest

from tests.sandbox.conftest import Object, advance, event_types, make, open_account, read, receive, refusal
from tests.sandbox.signing import post_signed

HOUR = 3600


TO: Object = {
    "holder_id": "1-9",
    "holder_name": "Ana",
    "account_number": "123",
    "account_type": "checking",
    "institution_id": "cl_banco_estado",
}


def send(client: httpx.Client, account: Object, amount: int = 1000, **fields: Any) -> httpx.Response:
    currency = account["currency"]
    body = {"account_id": account["id"], "amount": amount, "currency": currency, "counterparty": TO, **fields}
    return client.post("/v2/transfers", json=body)


def test_a_simulated_transfer_arrives(bank: httpx.Client) -> None:
    """Balance, movement, event, the number's last transfer."""
    account = open_account(bank, "cl")

    made = receive(bank, account, 7000)

    assert (made["status"], made["direction"], made["currency"]) == ("succeeded", "inbound", "CLP")
    assert read(bank, f"/v2/accounts/{account['id']}")["available_balance"] == 7000
    (movement,) = read(bank, f"/v2/accounts/{account['id']}/movements?direction=inbound&since=2026-10-01")
    assert (movement["amount"], movement["balance"], movement["resource_id"]) == (7000, 7000, made["id"])
    assert read(bank, f"/v2/accounts/{account['id']}/movements/{movement['id']}") == movement
    assert event_types(bank, made["id"]) == ["transfer.inbound.succeeded"]
    assert read(bank, f"/v2/account_numbers/{account['root_account_number_id']}")["last_transfer_at"] is not None


def test_a_transfer_can_be_simulated_with_a_test_key_only(bank: httpx.Client) -> None:
    """A live key is refused."""
    headers = {"Authorization": "sk_live_sandbox"}

    answer = bank.post("/v2/simulate/receive_transfer", json={}, headers=headers)

    assert refusal(answer)[:2] == (403, "invalid_mode")


def test_an_amount_out_of_range_is_rejected_by_itself(bank: httpx.Client) -> None:
    """Below, above, or to a disabled number."""
    account = open_account(bank, "cl")
    number = make(bank, "/v2/account_numbers", account_id=account["id"], options={"min_amount": 10, "max_amount": 20})

    for amount, status in ((9, "rejected"), (10, "succeeded"), (20, "succeeded"), (21, "rejected")):
        assert receive(bank, account, amount, number=number["id"])["status"] == status

    (rejected,) = read(bank, "/v2/events?type=transfer.inbound.rejected&limit=1")
    assert rejected["data"]["reject_reason"] == "recipient_account_credit_restricted"


@pytest.mark.parametrize(
    ("wish", "status", "events", "balance"),
    [
        ({}, "succeeded", ["succeeded"], 4000),
        ({"sandbox_outcome": "failed"}, "failed", ["failed"], 5000),
        ({"sandbox_outcome": "returned"}, "returned", ["succeeded", "returned"], 5000),
        ({"sandbox_outcome": "reversed"}, "reversed", ["succeeded", "reversed"], 5000),
    ],
)
def test_a_transfer_goes_out(
    bank: httpx.Client, wish: dict[str, str], status: str, events: list[str], balance: int
) -> None:
    """Pending first, then what its metadata wishes; the balance follows the money."""
    account = open_account(bank, "cl")
    receive(bank, account, 5000)
    made = send(bank, account, metadata=wish).json()
    assert made["status"] == "pending"

    advance(bank, 2 * HOUR)

    assert read(bank, f"/v2/transfers/{made['id']}")["status"] == status
    assert read(bank, f"/v2/accounts/{account['id']}")["available_balance"] == balance
    assert event_types(bank, made["id"]) == [f"transfer.outbound.{event}" for event in events]
    movements = read(bank, f"/v2/accounts/{account['id']}/movements")
    assert movements[0]["balance"] == balance


def test_an_older_version_words_a_return_differently(bank: httpx.Client) -> None:
    """The code is the same, the text is not."""
    account = open_account(bank, "cl")
    receive(bank, account, 5000)
    made = send(bank, account, metadata={"sandbox_outcome": "returned"}).json()
    advance(bank, 2 * HOUR)

    reasons = [
        bank.get(f"/v2/transfers/{made['id']}", headers={"Fintoc-Version": version}).json()
        for version in ("2023-11-15", "2026-02-01")
    ]

    assert [row["return_reason"] for row in reasons] == ["non_existent_account", "non_existing_account"]
    assert {row["return_reason_code"] for row in reasons} == {"01"}


def test_what_a_transfer_needs(bank: httpx.Client) -> None:
    """Enough money, the account's currency, and in Chile the whole counterparty."""
    account = open_account(bank, "cl")
    receive(bank, account, 5000)

    assert refusal(send(bank, account, 5001)) == (409, "insufficient_balance", "amount")
    assert refusal(send(bank, account, currency="MXN")) == (400, "currency_mismatch", "currency")
    bare = send(bank, account, counterparty={"account_number": "1"})
    assert refusal(bare) == (400, "missing_parameter", "holder_id")
    mexican = open_account(bank, "mx")
    receive(bank, mexican, 5000)
    assert send(bank, mexican, currency="mxn", counterparty={"account_number": "646180157000000004"}).status_code == 201


def test_transfers_are_listed_on_both_paths_with_filters(bank: httpx.Client) -> None:
    """By account, number, direction, states, tracking key and date."""
    chilean, mexican = open_account(bank, "cl"), open_account(bank, "mx")
    first, second = receive(bank, chilean, 5000), receive(bank, mexican, 6000)

    def found(query: str) -> list[str]:
        rows = read(bank, f"/v1/transfers?{query}")
        assert rows == read(bank, f"/v2/transfers?{query}")
        return [row["id"] for row in rows]

    assert found("") == [second["id"], first["id"]]
    assert found(f"account_id={chilean['id']}") == [first["id"]]
    assert found(f"account_number_id={mexican['root_account_number_id']}") == [second["id"]]
    assert found(f"tracking_key={second['tracking_key']}") == [second["id"]]
    assert found("direction=outbound") == []
    assert found("status=reversed&status=reverse_pending") == []
    assert found("since=2026-10-02") == []
    assert found("transfer_batch_id=trbatch_1") == []
    assert refusal(bank.get("/v1/transfers?direction=up")) == (400, "invalid_enum", "direction")
    assert read(bank, f"/v1/transfers/{first['id']}") == first


def test_an_inbound_chilean_transfer_may_be_reversed(bank: httpx.Client) -> None:
    """The money leaves the account again, and the transfer says when."""
    account = open_account(bank, "cl")
    made = receive(bank, account, 900, metadata={"sandbox_outcome": "reversed"})

    advance(bank, HOUR)

    found = read(bank, f"/v2/transfers/{made['id']}")
    assert (found["status"], found["reversed_at"]) == ("reversed", "2026-10-01T04:00:00.000Z")
    assert event_types(bank, made["id"]) == ["transfer.inbound.succeeded", "transfer.inbound.reversed"]
    assert read(bank, f"/v2/accounts/{account['id']}")["available_balance"] == 0


@pytest.mark.parametrize(
    ("clabe", "institution"),
    [
        ("735969000000203297", {"id": "90735", "name": "Fintoc", "country": "mx"}),
        ("012180004118359719", {"id": "40012", "name": "BBVA México", "country": "mx"}),
        ("166180000000000008", {"id": "37166", "name": None, "country": "mx"}),
    ],
)
def test_a_mexican_institution_is_named_by_the_clabe(signing: httpx.Client, clabe: str, institution: Object) -> None:
    """As recorded answers have it, also where the request names another; a verified account bears it from the start."""
    account = open_account(signing, "mx")
    receive(signing, account, 900)

    sent = send(signing, account, 5, counterparty={"account_number": clabe, "institution_id": "40012"}).json()
    verified = post_signed(signing, "/v2/account_verifications", {"account_number": clabe}).json()

    assert sent["counterparty"]["institution"] == institution
    assert verified["counterparty"] == {
        "account_number": clabe,
        "account_type": "clabe",
        "holder_id": None,
        "holder_name": None,
        "institution": institution,
    }
