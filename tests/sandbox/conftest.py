"""What the sandbox's tests share: a small hand-made trade, and a client for each way of talking to it."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from sandbox.serve import create_sandbox
from sandbox.state.happening import Document, Happening, Scenario, Truth
from tests.sandbox.signing import register_key

if TYPE_CHECKING:
    from sandbox.serve import SandboxApp

START = datetime(2026, 10, 1, 3, tzinfo=UTC)
Object = dict[str, Any]


def payment(id_: str, at: datetime, status: str, amount: int = 1000, **fields: Any) -> Object:
    """A payment intent as the provider writes it."""
    return {
        "id": id_,
        "object": "payment_intent",
        "mode": "test",
        "amount": amount,
        "currency": "CLP",
        "status": status,
        "payment_type": "bank_transfer",
        "payment_type_options": {},
        "customer": None,
        "payment_method": None,
        "created_at": at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        **fields,
    }


def paid(number: int, minutes: float, **fields: Any) -> Happening:
    """A payment that succeeds so many minutes after the clock's start."""
    at = START + timedelta(minutes=minutes)
    return Happening(
        at, "payment_intents", payment(f"pi_{number}", at, "succeeded", **fields), "payment_intent.succeeded"
    )


def payout(id_: str, at: datetime, amount: int, status: str, mode: str = "test") -> Object:
    return {
        "id": id_,
        "object": "payout",
        "mode": mode,
        "amount": amount,
        "currency": "CLP",
        "status": status,
        "created_at": at.strftime("%Y-%m-%dT%H:%M:%S.000Z"),
    }


def item(payout_id: str, type_: str, resource: str, amount: int, fee: int) -> Object:
    names = {"payout": payout_id, "resource_type": type_, "resource": resource}
    return {"id": f"{payout_id}:{type_}:{resource}", **names, "_amount": amount, "_fee": fee}


def trade(*happenings: Happening, **fields: Any) -> Scenario:
    """A scenario with nothing but these happenings."""
    settings: dict[str, Any] = {"documents": (), "tariff": {}, "truth": lambda _: [], **fields}
    ordered = tuple(sorted(happenings, key=lambda happening: happening.at))
    return Scenario(name="hand-made", country="cl", happenings=ordered, **settings)


def one_payout() -> Scenario:
    """Yesterday: two payments and a refund, paid out in one payout; in an hour: another payment."""
    noon = START - timedelta(hours=12)
    refund = {
        "id": "re_1",
        "object": "refund",
        "mode": "test",
        "amount": 300,
        "currency": "CLP",
        "status": "succeeded",
        "resource_id": "pi_1",
        "created_at": "2026-09-30T15:00:00.000Z",
    }
    card = {"payment_type": "card", "payment_type_options": {"card": {"kind": "credit"}}}
    return trade(
        Happening(noon, "payment_intents", payment("pi_1", noon, "created")),
        Happening(noon, "payment_intents", payment("pi_1", noon, "succeeded"), "payment_intent.succeeded"),
        Happening(
            noon, "payment_intents", payment("pi_2", noon, "succeeded", 2000, **card), "payment_intent.succeeded"
        ),
        Happening(noon, "refunds", refund, "refund.succeeded"),
        Happening(noon, "payout_resources", item("po_1", "payment_intent", "pi_1", 1000, 16)),
        Happening(noon, "payout_resources", item("po_1", "payment_intent", "pi_2", 2000, 60)),
        Happening(noon, "payout_resources", item("po_1", "refund", "re_1", -300, 17)),
        Happening(noon, "payout_resources", item("po_1", "refund_adjustment", "re_1", 300, 0)),
        Happening(noon, "payouts", payout("po_1", noon, 2907, "in_progress"), "payout.created"),
        Happening(noon, "payouts", payout("po_9", noon, 50, "in_progress", "live"), "payout.created"),
        paid(3, 60),
        tariff={"vat_bps": 1900, "refund": {"flat": 14}},
        documents=(
            Document(START - timedelta(days=1), {"doc_type": "33", "folio": "7", "total": "1000"}),
            Document(START + timedelta(days=1), {"doc_type": "33", "folio": "8", "total": "2000"}),
        ),
        bank_lines=({"date": "2026-10-01", "amount": "2907"},),
        truth=lambda _: [Truth("payment", "pi_1", ("cl:33::7", "po_1"), "matched", (), 0, "CLP", decidable=True)],
    )


class Receiver:
    """A merchant's server that keeps what it is sent and answers as it is told."""

    def __init__(self) -> None:
        self.requests: list[httpx.Request] = []
        self.answer: Callable[[httpx.Request], httpx.Response] = lambda _: httpx.Response(200)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        return self.answer(request)

    def events(self) -> list[Object]:
        return [json.loads(request.content) for request in self.requests]


@pytest.fixture
def receiver() -> Receiver:
    return Receiver()


Open = Callable[..., httpx.Client]


@pytest.fixture
def open_sandbox(receiver: Receiver) -> Iterator[Open]:
    """Build a sandbox in process and give back a client that holds the test key."""
    made: list[tuple[SandboxApp, httpx.Client]] = []

    def build(scenario: Scenario | str | None = None, **settings: Any) -> httpx.Client:
        transport = httpx.MockTransport(receiver)
        app = create_sandbox(scenario or one_payout(), transport=transport, **settings)
        client = httpx.Client(
            transport=httpx.WSGITransport(app=app),
            base_url="http://sandbox.test",
            headers={"Authorization": "sk_test_sandbox"},
        )
        made.append((app, client))
        return client

    yield build
    for app, client in made:
        client.close()
        app.world.close()


@pytest.fixture
def client(open_sandbox: Open) -> httpx.Client:
    return open_sandbox()


def subscribe(client: httpx.Client, *types: str, url: str = "https://shop.example/webhooks") -> Object:
    """Open an endpoint; the answer bears its secret."""
    answer = client.post("/v1/webhook_endpoints", json={"url": url, "enabled_events": list(types)})
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def advance(client: httpx.Client, seconds: float) -> None:
    assert client.post("/_sandbox/clock/advance", json={"seconds": seconds}).status_code == 200


def refusal(answer: httpx.Response) -> tuple[int, str, str | None]:
    """Status, code and parameter of an error answer."""
    body = answer.json()["error"]
    assert body["type"] in {"invalid_request_error", "authentication_error", "api_error"}
    assert body["message"]
    return answer.status_code, body["code"], body.get("param")


def make(client: httpx.Client, path: str, **body: Any) -> Object:
    """Create something; it must work."""
    answer = client.post(path, json=body)
    assert answer.status_code in {200, 201}, answer.text
    return dict(answer.json())


def read(client: httpx.Client, path: str) -> Any:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    return answer.json()


def event_types(client: httpx.Client, id_: str) -> list[str]:
    """The types of the events about one object, oldest first."""
    return [event["type"] for event in read(client, f"/v2/events?limit=300&resource_id={id_}")][::-1]


def saved_method(status: str = "active", customer: str = "cus_1", **fields: Any) -> Happening:
    """A saved card or transfer method of a customer, there from the beginning."""
    before = START - timedelta(days=1)
    method = {
        "id": f"pm_{status}",
        "object": "payment_method",
        "mode": "test",
        "type": "bank_transfer",
        "customer": customer,
        "metadata": {},
        "created_at": "2026-09-30T03:00:00.000Z",
        "bank_transfer": {"status": status},
        **fields,
    }
    return Happening(before, "payment_methods", method)


def customer(id_: str = "cus_1", **fields: Any) -> Happening:
    """A customer, there from the beginning."""
    found = {
        "id": id_,
        "object": "customer",
        "mode": "test",
        "email": f"{id_}@example.com",
        "tax_id": None,
        "metadata": {},
        "created_at": "2026-09-30T03:00:00.000Z",
        **fields,
    }
    return Happening(START - timedelta(days=1), "customers", found)


PDF = b"%PDF-1.7\n" + b"x" * 200


def entity(id_: str, country: str, holder_id: str, **fields: Any) -> Happening:
    found = {
        "id": id_,
        "object": "entity",
        "mode": "test",
        "country_code": country,
        "holder_id": holder_id,
        "holder_name": "Tres Puentes",
        "status": "operational",
        "is_root": True,
        **fields,
    }
    return Happening(START, "entities", found)


@pytest.fixture
def bank(open_sandbox: Open) -> httpx.Client:
    """Two operational entities, one in each country."""
    return open_sandbox(trade(entity("ent_cl", "cl", "765432103"), entity("ent_mx", "mx", "ATP190301KX8")))


@pytest.fixture
def signing(bank: httpx.Client) -> httpx.Client:
    """The bank's client, its public key known to the provider."""
    register_key(bank)
    return bank


def open_account(client: httpx.Client, country: str) -> Object:
    return make(client, "/v2/accounts", entity_id=f"ent_{country}", description="Main")


def receive(client: httpx.Client, account: Object, amount: int, **fields: Any) -> Object:
    number = fields.pop("number", account["root_account_number_id"])
    return make(
        client,
        "/v2/simulate/receive_transfer",
        account_number_id=number,
        amount=amount,
        counterparty_holder_name="Ana",
        counterparty_holder_id="1-9",
        **fields,
    )


@pytest.fixture
def billing(open_sandbox: Open) -> httpx.Client:
    """Two customers; the first has an active, an expired and a poor method."""
    poor = saved_method("active", id="pm_poor", metadata={"sandbox_outcome": "failed"})
    foreign = saved_method("active", customer="cus_2", id="pm_foreign")
    return open_sandbox(trade(customer(), customer("cus_2"), saved_method(), saved_method("expired"), poor, foreign))
