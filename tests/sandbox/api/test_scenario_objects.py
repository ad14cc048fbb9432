"""Operations work on what a scenario put there, not only on what requests made."""

from collections.abc import Iterator

import httpx
import pytest
from flask import Flask

from sandbox.serve import create_sandbox
from tests.sandbox.conftest import PDF, Object, event_types, make, read


@pytest.fixture
def busy() -> Iterator[Flask]:
    app = create_sandbox("busy-month", seed=1)
    yield app
    app.world.close()


@pytest.fixture
def client(busy: Flask) -> Iterator[httpx.Client]:
    headers = {"Authorization": "sk_test_sandbox"}
    with httpx.Client(
        transport=httpx.WSGITransport(app=busy), base_url="http://sandbox.test", headers=headers
    ) as found:
        yield found


def first(client: httpx.Client, path: str, **fields: object) -> Object:
    """The newest object of a list with these fields."""
    return next(row for row in read(client, path) if all(row[name] == value for name, value in fields.items()))


def test_a_payment_of_the_scenario_is_refunded(client: httpx.Client) -> None:
    """In full, when nothing was given back before."""
    paid = first(client, "/v1/payment_intents", status="succeeded")

    assert make(client, "/v1/refunds", resource_id=paid["id"])["amount"] == paid["amount"]


def test_a_subscription_of_the_scenario_changes(client: httpx.Client) -> None:
    """An item comes and goes, the subscription is canceled."""
    subscription = first(client, "/v2/subscriptions", status="active")
    path = f"/v2/subscriptions/{subscription['id']}"
    price = {"currency": "CLP", "unit_amount": 5, "product_data": {"name": "Extra"}}

    item = make(client, f"{path}/items", price_data=price)
    assert client.delete(f"{path}/items/{item['id']}").status_code == 200
    assert client.post(f"{path}/cancel").json()["status"] == "canceled"


def test_a_customer_of_the_scenario_is_billed(client: httpx.Client) -> None:
    """A saved method of the scenario is charged for a new invoice."""
    method = next(
        row for row in read(client, "/v2/payment_methods") if row[row["type"]]["status"] == "active"
        and client.get(f"/v2/customers/{row['customer']}").status_code == 200
    )  # fmt: skip
    invoice = make(
        client,
        "/v2/invoices",
        customer=method["customer"],
        currency="CLP",
        default_payment_method=method["id"],
        lines=[{"amount": 700}],
    )

    client.post(f"/v2/invoices/{invoice['id']}/finalize")
    client.post("/_sandbox/clock/advance", json={"seconds": 10})

    assert read(client, f"/v2/invoices/{invoice['id']}")["status"] == "paid"


def test_a_dispute_of_the_scenario_gets_documents(client: httpx.Client) -> None:
    """Uploaded and handed in before the deadline."""
    until = 0
    while not read(client, "/v1/disputes?status=waiting_documentation"):
        client.post("/_sandbox/clock/advance", json={"seconds": 86_400})
        until += 1
        assert until < 31
    path = f"/v1/disputes/{read(client, '/v1/disputes?status=waiting_documentation')[0]['id']}"

    assert client.post(f"{path}/documents", files={"file": ("a.pdf", PDF)}).status_code == 201
    assert client.post(f"{path}/submit_for_review").json()["status"] == "in_review"


def test_money_leaves_and_enters_an_account_of_the_scenario(client: httpx.Client) -> None:
    """Balances go on from where the scenario left them."""
    account = read(client, "/v2/accounts")[0]
    to = {
        "holder_id": "1-9",
        "holder_name": "Ana",
        "account_number": "1",
        "account_type": "sight",
        "institution_id": "cl_banco_estado",
    }
    sent = make(client, "/v2/transfers", account_id=account["id"], amount=100, currency="CLP", counterparty=to)
    number = account["root_account_number_id"]
    make(client, "/v2/simulate/receive_transfer", account_number_id=number, amount=250, currency="CLP")

    assert read(client, f"/v2/accounts/{account['id']}")["available_balance"] == account["available_balance"] + 150
    client.post("/_sandbox/clock/advance", json={"seconds": 10})
    assert event_types(client, sent["id"]) == ["transfer.outbound.succeeded"]


def test_a_direct_debit_subscriber_of_the_scenario_is_charged(client: httpx.Client) -> None:
    """A minute later the money is collected."""
    subscription = first(client, "/v1/subscriptions", status="active")
    charge = make(client, "/v1/charges", subscription_id=subscription["id"], amount=900, currency="CLP")

    client.post("/_sandbox/clock/advance", json={"seconds": 60})

    assert read(client, f"/v1/charges/{charge['id']}")["status"] == "succeeded"


def test_a_link_of_the_scenario_is_refreshed(client: httpx.Client) -> None:
    """The result comes as an event."""
    token = read(client, "/_sandbox/credentials")["link_tokens"][0]
    refresh = make(client, f"/v1/refresh_intents?link_token={token}")

    client.post("/_sandbox/clock/advance", json={"seconds": 30})

    assert event_types(client, refresh["id"]) == ["link.refresh_intent.succeeded"]


def test_every_payout_has_its_report(client: httpx.Client) -> None:
    """The report's gross amounts less its fees are the resources of the payout, one row each."""
    payouts = read(client, "/v1/payouts?per_page=5")
    assert len(payouts) == 5
    for payout in payouts:
        report = client.get(f"/_sandbox/payouts/{payout['id']}.csv").text.splitlines()
        types = ("payment_intent", "charge", "refund", "refund_adjustment")
        path = f"/v1/payouts/{payout['id']}/resources?resource_type="

        assert len(report) - 1 == sum(len(read(client, f"{path}{type_}&per_page=300")) for type_ in types)
