"""Refunds, vouchers, disputes and legacy direct debit through their states."""

from datetime import UTC, datetime

import httpx
import pytest

from sandbox.api.payouts import processed_at
from sandbox.state.happening import Happening
from tests.sandbox.conftest import (
    PDF,
    START,
    Object,
    Open,
    advance,
    event_types,
    make,
    one_payout,
    paid,
    read,
    refusal,
    trade,
)

HOUR = 3600
DAY = 24 * HOUR


@pytest.fixture
def shop(open_sandbox: Open) -> httpx.Client:
    """One payment of 1000 pesos, paid a minute ago."""
    return open_sandbox(trade(paid(1, -1)))


def test_a_refund_is_processed_at_three_and_then_through(shop: httpx.Client) -> None:
    """Made on a Thursday at midnight local time, it is in progress at 15:00 and succeeded an hour later."""
    made = make(shop, "/v1/refunds", resource_id="pi_1", amount=400)
    assert (made["status"], made["currency"]) == ("created", "CLP")

    advance(shop, 15 * HOUR)
    assert read(shop, f"/v1/refunds/{made['id']}")["status"] == "in_progress"
    advance(shop, HOUR)

    assert read(shop, f"/v1/refunds/{made['id']}")["status"] == "succeeded"
    assert event_types(shop, made["id"]) == ["refund.in_progress", "refund.succeeded"]


@pytest.mark.parametrize(
    ("created_at", "expected"),
    [
        ("2026-10-02T16:59", "2026-10-02T18:00"),
        ("2026-10-02T17:00", "2026-10-05T18:00"),
        ("2026-10-03T12:00", "2026-10-05T18:00"),
    ],
)
def test_refunds_are_processed_on_business_days(created_at: str, expected: str) -> None:
    """Before 14:00 in Santiago the same day, later the next business day, at 15:00."""
    found = processed_at(datetime.fromisoformat(created_at).replace(tzinfo=UTC))

    assert found.astimezone(UTC) == datetime.fromisoformat(expected).replace(tzinfo=UTC)


def test_a_refund_without_balance_fails_after_five_business_days(shop: httpx.Client) -> None:
    """It waits as created, then fails with its reason."""
    made = make(shop, "/v1/refunds", resource_id="pi_1", metadata={"sandbox_outcome": "failed"})
    assert made["amount"] == 1000

    advance(shop, 7 * DAY)
    assert read(shop, f"/v1/refunds/{made['id']}")["status"] == "created"
    advance(shop, DAY)

    found = read(shop, f"/v1/refunds/{made['id']}")
    assert (found["status"], found["failure_code"]) == ("failed", "insufficient_funds")
    assert event_types(shop, made["id"]) == ["refund.failed"]


def test_a_refund_is_canceled_while_created_only(shop: httpx.Client) -> None:
    """A canceled refund stays where it is, and cannot be canceled again."""
    made = make(shop, "/v1/refunds", resource_id="pi_1")

    assert shop.post(f"/v1/refunds/{made['id']}/cancel").json()["status"] == "canceled"
    advance(shop, 2 * DAY)

    assert read(shop, "/v1/refunds?status=canceled")[0]["id"] == made["id"]
    assert refusal(shop.post(f"/v1/refunds/{made['id']}/cancel")) == (409, "invalid_refund_status", "id")


def test_no_more_than_was_paid_is_refunded(shop: httpx.Client) -> None:
    """The refunds of one payment together stay within it."""
    make(shop, "/v1/refunds", resource_id="pi_1", amount=600)

    for body in ({"resource_id": "pi_1", "amount": 401}, {"resource_id": "pi_1", "amount": 10_000}):
        assert refusal(shop.post("/v1/refunds", json=body)) == (400, "invalid_amount", "amount")
    assert make(shop, "/v1/refunds", resource_id="pi_1")["amount"] == 400
    assert refusal(shop.post("/v1/refunds", json={"resource_id": "pi_1"})) == (400, "invalid_amount", "amount")
    assert refusal(shop.post("/v1/refunds", json={"resource_id": "pi_none"}))[0] == 404
    assert refusal(shop.post("/v1/refunds", json={})) == (400, "missing_parameter", "resource_id")


def test_a_voucher_is_good_for_five_minutes_in_live_mode(open_sandbox: Open) -> None:
    """Its address answers without a key until then; test refunds have none."""
    refund = next(h.object for h in one_payout().happenings if h.collection == "refunds")
    live = {**refund, "id": "re_live", "mode": "live"}
    client = open_sandbox(trade(Happening(START, "refunds", refund), Happening(START, "refunds", live)))

    assert refusal(client.get("/v1/refunds/re_1/voucher"))[:2] == (400, "invalid_mode")
    key = {"Authorization": "sk_live_sandbox"}
    voucher = client.get("/v1/refunds/re_live/voucher", headers=key).json()

    assert voucher["expires_at"] == "2026-10-01T03:05:00.000Z"
    assert client.get(voucher["url"], headers={"Authorization": ""}).status_code == 200
    advance(client, 300)
    assert client.get(voucher["url"]).status_code == 404


def dispute(**fields: object) -> Happening:
    opened = {
        "id": "cb_1",
        "object": "dispute",
        "mode": "test",
        "amount": 1000,
        "currency": "CLP",
        "status": "waiting_documentation",
        "documentation_upload_deadline": "2026-10-02T03:00:00.000Z",
        "documents": [],
        "resource_id": "pi_1",
        "resource_type": "payment_intent",
        "created_at": "2026-09-30T03:00:00.000Z",
        **fields,
    }
    return Happening(START, "disputes", opened, "dispute.waiting_documentation")


def upload(client: httpx.Client, content: bytes) -> httpx.Response:
    return client.post("/v1/disputes/cb_1/documents", files={"file": ("receipt.pdf", content)})


def test_a_dispute_is_reviewed_once_it_has_documents(open_sandbox: Open) -> None:
    """Upload first, then submit; afterwards neither is possible."""
    client = open_sandbox(trade(dispute()))
    submit = "/v1/disputes/cb_1/submit_for_review"

    assert refusal(client.post(submit)) == (409, "missing_documents", "id")
    assert len(upload(client, PDF).json()["documents"]) == 1
    assert client.post(submit).json()["status"] == "in_review"

    assert event_types(client, "cb_1") == ["dispute.waiting_documentation", "dispute.in_review"]
    assert refusal(client.post(submit)) == (409, "invalid_dispute_status", "id")
    assert refusal(upload(client, PDF)) == (409, "invalid_dispute_status", "id")
    assert [row["id"] for row in read(client, "/v1/disputes?status=in_review&resource_id=pi_1&since=2026-09-30")] == [
        "cb_1"
    ]


@pytest.mark.parametrize("content", [b"", b"hello", b"%PDF" + b"x" * 10_000_000])
def test_a_dispute_document_is_a_small_pdf_or_picture(open_sandbox: Open, content: bytes) -> None:
    """Empty, other and large files are refused and nothing is added."""
    client = open_sandbox(trade(dispute()))

    assert refusal(upload(client, content)) == (422, "invalid_document", "file")
    assert read(client, "/v1/disputes/cb_1")["documents"] == []


def test_documents_come_before_the_deadline(open_sandbox: Open) -> None:
    """After it neither documents nor submission are taken."""
    client = open_sandbox(trade(dispute()))
    assert refusal(client.post("/v1/disputes/cb_1/documents")) == (400, "missing_parameter", "file")

    advance(client, DAY)

    assert refusal(upload(client, PDF)) == (409, "deadline_passed", "id")


def subscription(status: str = "active") -> Happening:
    found: Object = {
        "id": "sub_1",
        "object": "subscription",
        "mode": "test",
        "status": status,
        "metadata": {},
        "created_at": "2026-09-30T03:00:00.000Z",
    }
    return Happening(START, "legacy_subscriptions", found)


CHARGE = {"amount": 900, "currency": "CLP", "subscription_id": "sub_1"}


@pytest.mark.parametrize(("wish", "ending"), [({}, "succeeded"), ({"sandbox_outcome": "failed"}, "failed")])
def test_a_charge_is_collected_by_itself_in_test_mode(open_sandbox: Open, wish: dict[str, str], ending: str) -> None:
    """It begins pending and ends a minute later."""
    client = open_sandbox(trade(subscription()))
    made = make(client, "/v1/charges", **CHARGE, metadata=wish)
    assert made["status"] == "pending"

    advance(client, 60)

    assert read(client, f"/v1/charges/{made['id']}")["status"] == ending
    assert event_types(client, made["id"]) == [f"charge.{ending}"]


def test_a_pending_charge_can_change_or_be_canceled(open_sandbox: Open) -> None:
    """Amount and currency only, and only while pending."""
    client = open_sandbox(trade(subscription()))
    path = f"/v1/charges/{make(client, '/v1/charges', **CHARGE)['id']}"

    assert client.patch(path, json={"amount": 800}).json()["amount"] == 800
    assert refusal(client.patch(path, json={"status": "succeeded"}))[:2] == (400, "invalid_params")
    assert client.post(f"{path}/cancel").json()["status"] == "canceled"

    advance(client, DAY)
    assert read(client, path)["status"] == "canceled"
    assert refusal(client.patch(path, json={"amount": 1})) == (409, "invalid_charge_status", "id")
    assert refusal(client.post(f"{path}/cancel")) == (409, "invalid_charge_status", "id")


def test_a_charge_needs_an_active_subscription(open_sandbox: Open) -> None:
    """A canceled or unknown one is refused."""
    client = open_sandbox(trade(subscription("canceled")))

    assert refusal(client.post("/v1/charges", json=CHARGE))[0] == 409
    assert refusal(client.post("/v1/charges", json={**CHARGE, "subscription_id": "sub_x"}))[0] == 404


@pytest.mark.parametrize(
    ("wish", "ending", "error"),
    [
        ({}, "succeeded", None),
        ({"sandbox_outcome": "failed"}, "failed", "login_invalid_credentials"),
        ({"sandbox_outcome": "rejected"}, "rejected", None),
    ],
)
def test_a_subscription_intent_is_signed_or_not(
    client: httpx.Client, wish: dict[str, str], ending: str, error: str | None
) -> None:
    """The widget token shows at creation; the failed one bears its public error."""
    made = make(client, "/v1/subscription_intents", metadata=wish)
    assert made["widget_token"]

    advance(client, 60)

    (event,) = read(client, f"/v2/events?resource_id={made['id']}")
    assert (event["type"], event["data"]["public_error"]) == (f"subscription_intent.{ending}", error)
    (listed,) = read(client, "/v1/subscription_intents")
    assert listed["widget_token"] is None
    assert len(read(client, "/v1/subscriptions")) == (ending == "succeeded")
