"""Payment intents, checkout sessions, splits and payment links: made, paid, expired, canceled."""

import httpx
import pytest

from tests.sandbox.conftest import Open, advance, customer, event_types, make, paid, read, refusal, saved_method, trade

PAYMENT = {"amount": 5000, "currency": "clp"}


def test_an_intent_waits_for_its_customer(client: httpx.Client) -> None:
    """The widget token is in the answer to the creation alone."""
    made = make(client, "/v1/payment_intents", **PAYMENT, metadata={"order": "7"})

    assert made["status"] == "created"
    assert made["currency"] == "CLP"
    assert made["widget_token"]
    assert read(client, f"/v1/payment_intents/{made['id']}") == {**made, "widget_token": None}
    assert read(client, "/v1/payment_intents?per_page=1")[0]["id"] == made["id"]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"currency": "CLP"}, (400, "missing_parameter", "amount")),
        ({"amount": 5}, (400, "missing_parameter", "currency")),
        ({"amount": 0, "currency": "CLP"}, (400, "invalid_amount", "amount")),
        ({"amount": 1.5, "currency": "CLP"}, (400, "invalid_amount", "amount")),
        ({"amount": 5, "currency": "EUR"}, (400, "invalid_currency", "currency")),
        ({**PAYMENT, "payment_type": "barter"}, (400, "invalid_enum", "payment_type")),
        ({**PAYMENT, "metadata": [1]}, (400, "invalid_hash", "metadata")),
        ({**PAYMENT, "business_profile": {"category": "1"}}, (400, "invalid_string", "business_profile.category")),
    ],
)
def test_an_intent_needs_readable_money(
    client: httpx.Client, body: dict[str, object], expected: tuple[int, str, str]
) -> None:
    """Missing, zero, fractional or foreign amounts are refused by name."""
    assert refusal(client.post("/v1/payment_intents", json=body)) == expected


@pytest.mark.parametrize("raw", [b"{", b"[1]", b"\xff"])
def test_a_body_must_be_a_json_object(client: httpx.Client, raw: bytes) -> None:
    """Anything else is a 400."""
    answer = client.post("/v1/payment_intents", content=raw)

    assert refusal(answer)[0] == 400


@pytest.mark.parametrize("ending", ["succeeded", "failed", "rejected", "pending"])
def test_a_customer_pays_or_does_not(client: httpx.Client, ending: str) -> None:
    """Steering plays the customer; the intent ends so, and its event says it."""
    made = make(client, "/v1/payment_intents", **PAYMENT)

    make(client, "/_sandbox/pay", id=made["id"], outcome=ending)

    assert read(client, f"/v1/payment_intents/{made['id']}")["status"] == ending
    assert event_types(client, made["id"]) == [f"payment_intent.{ending}"]


def test_an_intent_expires_while_created_only(client: httpx.Client) -> None:
    """The second time it is too late."""
    path = f"/v1/payment_intents/{make(client, '/v1/payment_intents', **PAYMENT)['id']}"

    assert client.post(f"{path}/expire").json()["status"] == "expired"
    assert refusal(client.post(f"{path}/expire")) == (409, "invalid_payment_intent_status", "id")


def test_a_saved_method_is_charged_without_the_customer(open_sandbox: Open) -> None:
    """The intent is under way at once and succeeds seconds later."""
    client = open_sandbox(trade(customer(), saved_method()))
    made = make(client, "/v2/payment_intents", **PAYMENT, payment_method="pm_active")
    assert made["status"] == "in_progress"

    advance(client, 10)

    found = read(client, f"/v2/payment_intents/{made['id']}")
    assert (found["status"], found["customer"], found["payment_method"]) == ("succeeded", "cus_1", "pm_active")
    assert event_types(client, made["id"]) == ["payment_intent.succeeded"]
    assert [row["id"] for row in read(client, "/v2/payment_intents")] == [made["id"]]


def test_a_charge_fails_where_the_metadata_wishes_it(open_sandbox: Open) -> None:
    """The reason is on the intent."""
    client = open_sandbox(trade(customer(), saved_method()))
    wish = {"sandbox_outcome": "failed"}
    made = make(client, "/v2/payment_intents", **PAYMENT, payment_method="pm_active", metadata=wish)

    advance(client, 10)

    assert read(client, f"/v2/payment_intents/{made['id']}")["error_reason"] == "insufficient_funds"


def test_an_inactive_method_is_not_charged(open_sandbox: Open) -> None:
    """Expired or pending, it is `payment_method_inactive`."""
    client = open_sandbox(trade(customer(), saved_method("expired")))

    answer = client.post("/v2/payment_intents", json={**PAYMENT, "payment_method": "pm_expired"})

    assert refusal(answer) == (400, "payment_method_inactive", "payment_method")


def test_eligibility_is_checked_in_pesos_without_an_intent(client: httpx.Client) -> None:
    """Too large an amount is not eligible, another currency is refused, nothing is created."""
    path, before = "/v2/payment_intents/check_eligibility", len(read(client, "/v1/payment_intents"))
    sender = {"institution_id": "cl_banco_estado"}

    assert make(client, path, **PAYMENT, sender_account=sender)["eligible"] is True
    assert make(client, path, amount=7_000_001, currency="CLP", sender_account=sender)["eligible"] is False
    answer = client.post(path, json={"amount": 5, "currency": "MXN", "sender_account": sender})
    assert refusal(answer) == (400, "invalid_currency", "currency")
    assert len(read(client, "/v1/payment_intents")) == before


def test_some_operations_need_the_newest_version(client: httpx.Client) -> None:
    """Lists, gets and eligibility of charged intents are 403 for an organization on an older version."""
    older = {"Fintoc-Version": "2023-11-15"}

    for method, path in (("GET", "/v2/payment_intents"), ("POST", "/v2/payment_intents/check_eligibility")):
        assert refusal(client.request(method, path, headers=older))[:2] == (403, "invalid_api_version")


def test_a_session_is_finished_when_its_payment_is(client: httpx.Client) -> None:
    """The session holds the paid intent; both are announced."""
    made = make(client, "/v2/checkout_sessions", **PAYMENT, success_url="https://shop.example/ok")
    assert (made["status"], made["flow"]) == ("created", "payment")
    assert made["redirect_url"].startswith("https://")

    make(client, "/_sandbox/pay", id=made["id"])

    found = read(client, f"/v2/checkout_sessions/{made['id']}")
    assert found["status"] == "finished"
    assert found["payment_resource"]["payment_intent"]["status"] == "succeeded"
    assert event_types(client, made["id"]) == ["checkout_session.finished"]


def test_finished_is_not_paid(client: httpx.Client) -> None:
    """A payment that fails finishes its session too."""
    made = make(client, "/v2/checkout_sessions", **PAYMENT)

    make(client, "/_sandbox/pay", id=made["id"], outcome="failed")

    found = read(client, f"/v2/checkout_sessions/{made['id']}")
    assert (found["status"], found["payment_resource"]["payment_intent"]["status"]) == ("finished", "failed")


def test_expiring_a_session_expires_its_payment(client: httpx.Client) -> None:
    """Both are announced, and it works while created only."""
    made = make(client, "/v2/checkout_sessions", **PAYMENT)
    intent = made["payment_resource"]["payment_intent"]["id"]

    assert client.post(f"/v2/checkout_sessions/{made['id']}/expire").json()["status"] == "expired"

    assert read(client, f"/v1/payment_intents/{intent}")["status"] == "expired"
    assert event_types(client, made["id"]) == ["checkout_session.expired"]
    assert event_types(client, intent) == ["payment_intent.expired"]
    again = client.post(f"/v2/checkout_sessions/{made['id']}/expire")
    assert refusal(again) == (409, "invalid_checkout_session_status", "id")


def test_a_forgotten_session_expires_by_itself(client: httpx.Client) -> None:
    """After a day it cannot be paid any more."""
    made = make(client, "/v2/checkout_sessions", **PAYMENT)

    advance(client, 86_400)

    assert read(client, f"/v2/checkout_sessions/{made['id']}")["status"] == "expired"
    assert refusal(client.post("/_sandbox/pay", json={"id": made["id"]}))[0] == 409


def test_flows_need_different_fields(open_sandbox: Open) -> None:
    """A payment needs money, a subscription lines, a setup its customer."""
    client = open_sandbox(trade(customer()))
    path = "/v2/checkout_sessions"

    assert refusal(client.post(path, json={"flow": "payment"})) == (400, "missing_parameter", "amount")
    assert refusal(client.post(path, json={"flow": "setup"})) == (400, "missing_parameter", "customer")
    answer = client.post(path, json={"flow": "subscription", "customer": "cus_1"})
    assert refusal(answer) == (400, "missing_parameter", "line_items")
    assert refusal(client.post(path, json={"flow": "gift"})) == (400, "invalid_enum", "flow")
    made = make(client, path, flow="setup", customer="cus_1")
    assert read(client, f"/v2/setup_intents/{made['setup_intent']['id']}")["status"] == "created"


def test_the_older_path_of_sessions_answers_too(client: httpx.Client) -> None:
    """v1 pages by number."""
    made = make(client, "/v1/checkout_sessions", **PAYMENT)

    answer = client.get("/v1/checkout_sessions?status=created")

    assert [row["id"] for row in answer.json()] == [made["id"]]
    assert answer.headers["X-Total-Count"] == "1"


def test_a_split_is_resolved_in_both_events(client: httpx.Client) -> None:
    """Each recipient's amount is in the session's and the payment's event, on no object."""
    split = [
        {"entity_id": "ent_1", "percentage": 1500, "charge_processing_fee": False},
        {"entity_id": "ent_2", "flat": 4250, "charge_processing_fee": True},
    ]
    made = make(client, "/v2/checkout_sessions", **PAYMENT, split=split)

    make(client, "/_sandbox/pay", id=made["id"])

    shares = [
        {"entity_id": "ent_1", "amount": 750, "charge_processing_fee": False},
        {"entity_id": "ent_2", "amount": 4250, "charge_processing_fee": True},
    ]
    events = read(client, "/v2/events?type=checkout_session.finished,payment_intent.succeeded&limit=2")
    assert [event["data"]["split_applied"] for event in events] == [shares, shares]
    assert "split_applied" not in read(client, f"/v2/checkout_sessions/{made['id']}")


ENTRY = {"entity_id": "ent_1", "flat": 5000, "charge_processing_fee": True}


@pytest.mark.parametrize(
    "split",
    [
        [{**ENTRY, "flat": 4999}],
        [{**ENTRY, "charge_processing_fee": False}],
        [ENTRY, {**ENTRY, "flat": 0}],
        [{**ENTRY, "percentage": 10_000}],
        [{"entity_id": "ent_1", "charge_processing_fee": True}],
        [{**ENTRY, "flat": 500, "charge_processing_fee": n == 0} for n in range(10)]
        + [{**ENTRY, "flat": 0, "charge_processing_fee": False}],
    ],
)
def test_a_split_must_add_up(client: httpx.Client, split: list[dict[str, object]]) -> None:
    """Exactly the amount, exactly one fee carrier, one kind of share each, ten entries at most."""
    answer = client.post("/v2/checkout_sessions", json={**PAYMENT, "split": split})

    assert refusal(answer) == (400, "invalid_params", "split")


def test_a_payment_link_is_paid_expires_or_is_canceled(client: httpx.Client) -> None:
    """Canceled is for good; an unpaid link ends with its life."""
    first = make(client, "/v1/payment_links", **PAYMENT)
    second = make(client, "/v1/payment_links", **PAYMENT, expires_after_seconds=60)
    assert second["expires_at"] == "2026-10-01T03:01:00.000Z"

    assert make(client, "/_sandbox/pay", id=first["id"])["status"] == "succeeded"
    assert client.patch(f"/v1/payment_links/{first['id']}/cancel").json()["status"] == "canceled"
    advance(client, 60)

    assert refusal(client.post(f"/v1/payment_links/{first['id']}/cancel")) == (409, "invalid_payment_link_status", "id")
    assert refusal(client.post("/_sandbox/pay", json={"id": first["id"]}))[0] == 409
    assert read(client, f"/v1/payment_links/{second['id']}")["status"] == "expired"
    assert len(read(client, "/v2/payment_links")) == 2


def test_only_what_exists_can_be_paid(open_sandbox: Open) -> None:
    """Unknown ids and unknown outcomes are refused."""
    client = open_sandbox(trade(paid(1, -1)))

    assert refusal(client.post("/_sandbox/pay", json={"id": "pi_none"}))[0] == 404
    assert refusal(client.post("/_sandbox/pay", json={"id": "pi_1"}))[0] == 409
    assert refusal(client.post("/_sandbox/pay", json={"id": "pi_1", "outcome": "maybe"}))[0] == 400
