"""Batches of transfers: asked for in one signed request, approved, sent, settled."""

from typing import Any

import httpx
import pytest

from tests.sandbox.conftest import Object, advance, event_types, open_account, read, receive, refusal
from tests.sandbox.signing import post_signed

CLABE = "646180157000000004"
PATH = "/v2/transfer_batches"


def order(account: Object, amount: int, **fields: Any) -> Object:
    return {"account_id": account["id"], "amount": amount, "counterparty": {"account_number": CLABE}, **fields}


def ask(client: httpx.Client, *orders: Object, **fields: Any) -> httpx.Response:
    body = {"description": "Payroll October", "currency": "mxn", "transfers": list(orders), **fields}
    return post_signed(client, PATH, body)


def test_a_batch_is_sent_once_it_is_approved(signing: httpx.Client) -> None:
    """Nothing moves before; then its transfers carry its id, and it says what was settled."""
    account = open_account(signing, "mx")
    receive(signing, account, 900)
    made = ask(signing, order(account, 500, comment="Salary"), order(account, 400)).json()

    assert (made["object"], made["status"], made["amount"], made["currency"], made["authorized_at"]) == (
        "transfer_batch", "pending_authorization", 900, "MXN", None
    )  # fmt: skip
    assert read(signing, f"/v2/transfers?transfer_batch_id={made['id']}") == []
    advance(signing, 60)
    assert read(signing, f"{PATH}/{made['id']}")["status"] == "in_progress"
    advance(signing, 3)

    batch = read(signing, f"{PATH}/{made['id']}")
    assert (batch["status"], batch["settled_amount"]) == ("succeeded", 900)
    assert batch["authorized_at"] == "2026-10-01T03:01:00.000Z"
    sent = read(signing, f"/v2/transfers?transfer_batch_id={made['id']}")
    assert [(row["amount"], row["status"], row["comment"]) for row in sent] == [
        (400, "succeeded", None), (500, "succeeded", "Salary")
    ]  # fmt: skip
    assert read(signing, f"/v2/accounts/{account['id']}")["available_balance"] == 0
    assert event_types(signing, made["id"]) == ["transfer_batch.in_progress", "transfer_batch.succeeded"]


@pytest.mark.parametrize(
    ("balance", "outcome", "status", "settled"),
    [
        (700, "succeeded", "partially_succeeded", 500),
        (900, "failed", "partially_succeeded", 500),
        (100, "succeeded", "failed", 0),
    ],
)
def test_a_batch_says_how_much_of_it_went_through(
    signing: httpx.Client, balance: int, outcome: str, status: str, settled: int
) -> None:
    """What the account cannot pay when the batch is approved fails, and so does what a bank refuses."""
    account = open_account(signing, "mx")
    receive(signing, account, balance)
    made = ask(signing, order(account, 500), order(account, 400, metadata={"sandbox_outcome": outcome})).json()

    advance(signing, 63)

    batch = read(signing, f"{PATH}/{made['id']}")
    assert (batch["status"], batch["settled_amount"]) == (status, settled)
    assert event_types(signing, made["id"])[-1] == f"transfer_batch.{status}"
    assert read(signing, f"/v2/accounts/{account['id']}")["available_balance"] == balance - settled


def test_batches_are_listed_by_their_creation(signing: httpx.Client) -> None:
    """Newest first, in a range of time."""
    account = open_account(signing, "mx")
    first = ask(signing, order(account, 1)).json()
    advance(signing, 86_400)
    second = ask(signing, order(account, 2)).json()

    assert [row["id"] for row in read(signing, PATH)] == [second["id"], first["id"]]
    assert [row["id"] for row in read(signing, f"{PATH}?until=2026-10-01")] == [first["id"]]
    assert [row["id"] for row in read(signing, f"{PATH}?since=2026-10-02T00:00:00Z")] == [second["id"]]


def test_a_batch_is_taken_whole_or_not_at_all(signing: httpx.Client) -> None:
    """One order that cannot be read refuses all, and so do too many."""
    account = open_account(signing, "mx")
    good = order(account, 5)
    refused = (
        (ask(signing, good, {**good, "amount": 0}), (400, "invalid_amount", "amount")),
        (ask(signing, good, {**good, "account_id": "acc_none"}), (404, "missing_resource", "id")),
        (ask(signing, good, currency="CLP"), (400, "currency_mismatch", "currency")),
        (ask(signing), (400, "missing_parameter", "transfers")),
        (ask(signing, good, description=None), (400, "missing_parameter", "description")),
        (ask(signing, *[good] * 5001), (400, "invalid_array", "transfers")),
        (signing.post(PATH, json={}), (401, "missing_jws_signature_header", None)),
    )

    assert [refusal(answer) for answer, _ in refused] == [expected for _, expected in refused]
    assert read(signing, PATH) == []
