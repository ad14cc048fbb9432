"""Every resource has the fields the specification lists, in whatever way it came to be."""

from typing import Any

import httpx
import pytest

from sandbox.serve import create_sandbox
from tests.sandbox.conftest import Receiver, advance

Object = dict[str, Any]
HOLDER = ("holder_id", "institution_id", "number", "type")
# By collection of the engine: the fields of each object, dots leading into objects and lists.
FIELDS: dict[str, tuple[str, ...]] = {
    "webhook_endpoints": (
        "id", "object", "created_at", "description", "enabled_events", "mode", "name", "secret", "status", "url",
    ),
    "checkout_sessions": (
        "flow", "status", "payment_resource", "customer_email", "success_url", "cancel_url", "redirect_url",
        "business_profile",
    ),
    "customers": ("email", "tax_id.type", "tax_id.value", "address.country", "metadata"),
    "invoices": (
        "status", "collection_method", "default_payment_method", "hosted_invoice_url", "external_payment", "total",
        "business_profile", "currency", "lines.amount", "lines.quantity", "lines.currency", "lines.period_start",
        "lines.period_end",
    ),
    "subscriptions": (
        "status", "collection_method", "payment_method", "trial_end", "billing_cycle_anchor", "business_profile",
        "items.quantity", "items.name", "items.description", "items.price.product.id", "items.price.product.object",
        "items.price.product.created_at", "items.price.product.description", "items.price.product.image_url",
        "items.price.product.metadata", "items.price.product.mode", "items.price.product.name",
    ),
    "payment_intents": ("amount", "currency", "status", "payment_type", "payment_type_options"),
    "payouts": ("amount", "currency", "status", "recipient_account.number", "created_at"),
    "refunds": ("status", "amount", "currency", "resource_id"),
    "disputes": ("status", "resource_id", "documentation_upload_deadline", "documents"),
    "payment_links": ("url", "status", "expires_at"),
    "charges": (
        "amount", "currency", "status", "subscription_id", *(f"recipient_account.{name}" for name in HOLDER),
    ),
    "setup_intents": ("status", "customer", "error_reason"),
    "subscription_intents": ("status", "widget_token", "public_error"),
    "entities": ("country_code", "holder_id", "holder_name", "status", "is_root"),
    "onboardings": ("type", "data", "status"),
    "accounts": ("available_balance", "entity", "currency", "status", "description", "root_account_number_id"),
    "account_numbers": (
        "id", "account_id", "number", "created_at", "updated_at", "mode", "description", "metadata", "status",
        "is_root", "options.min_amount", "options.max_amount", "deleted_at", "last_transfer_at", "object",
    ),
    "transfers": (
        "counterparty", "direction", "status", "amount", "tracking_key", "transfer_batch_id", "return_reason",
        "return_reason_code", "error_reason", "reject_reason", "failed_at", "rejected_at", "reversed_at",
    ),
    "account_movements": ("amount", "direction", "balance", "resource_id", "type"),
    "link_movements": ("status", "document_number", "transfer_id", "sender_account", "recipient_account", "type"),
    "account_statements": (
        "download_url", "start_date", "end_date", "initial_balance_cents", "final_balance_cents",
        "total_credited_cents", "total_debited_cents",
    ),
    "account_verifications": ("status", "counterparty", "receipt_url"),
    "links": ("link_token", "accounts", "active"),
    "refresh_intents": ("status", "public_error"),
    "institutions": ("id", "name", "country"),
}  # fmt: skip
DETAILS: dict[str, tuple[str, ...]] = {
    "bank_transfer": (
        "account_holder_id", "account_number", "account_type", "institution_id", "institution_name", "mfa_type",
        "status",
    ),
    "mx_direct_debit": (
        "status", "institution.id", "institution.country", "institution.name", "account_number_last4", "max_amount",
        "account_holder_id",
    ),
    "pac": ("status",),
    "card": ("brand", "last_four_digits"),
}  # fmt: skip
CARD = ("brand", "kind", "last_four_digits", "bank", "country", "authenticated_with_3ds", "wallet")


@pytest.fixture(scope="module")
def held() -> dict[str, list[Object]]:
    """Everything two months of Chile and Mexico hold, and what requests made beside it."""
    found: dict[str, list[Object]] = {}
    for name in ("busy-month", "mexico"):
        app = create_sandbox(name, scale=0.1, transport=httpx.MockTransport(Receiver()))
        with httpx.Client(
            transport=httpx.WSGITransport(app=app),
            base_url="http://sandbox.test",
            headers={"Authorization": "sk_test_sandbox"},
        ) as client:
            make_some(client)
            advance(client, 34 * 86_400)
        for (_, kind), rows in app.world.collections.items():
            found.setdefault(kind, []).extend(rows.newest_first())
        app.world.close()
    return found


def make_some(client: httpx.Client) -> None:
    """One of each kind that a request can make out of nothing, and what customers do with it."""
    hooks = {"url": "https://shop.example/hooks", "enabled_events": ["payout.created"]}
    customer = {"email": "ana@example.com"}
    assert client.post("/v1/webhook_endpoints", json=hooks).status_code == 201
    made = client.post("/v2/customers", json=customer).json()
    item = {"price_data": {"currency": "CLP", "unit_amount": 500, "product_data": {"name": "Plan"}}, "quantity": 1}
    for flow in ({"flow": "subscription", "line_items": [item]}, {"flow": "setup"}):
        session = client.post("/v2/checkout_sessions", json={**flow, "customer": made["id"]}).json()
        assert client.post("/_sandbox/pay", json={"id": session["id"]}).status_code == 200
    for kind in ("card", "bank_transfer"):
        intent = client.post("/v1/payment_intents", json={"amount": 9_000, "currency": "CLP", "payment_type": kind})
        assert client.post("/_sandbox/pay", json={"id": intent.json()["id"]}).status_code == 200
    link = client.post("/v1/payment_links", json={"amount": 10, "currency": "CLP"}).json()
    assert client.post("/_sandbox/pay", json={"id": link["id"]}).status_code == 200
    lines = {"customer": made["id"], "currency": "CLP", "collection_method": "send_invoice", "lines": [{"amount": 5}]}
    assert client.post("/v2/invoices", json=lines).status_code == 201
    assert client.post("/v1/subscription_intents", json={}).status_code == 201
    entity = {"holder_id": "76.543.219-7", "holder_name": "Otra SpA", "country_code": "cl"}
    assert client.post("/v2/entities", json=entity).status_code == 201
    for debit in client.get("/v1/subscriptions").json()[:1]:
        charge = {"subscription_id": debit["id"], "amount": 900, "currency": "CLP"}
        assert client.post("/v1/charges", json=charge).status_code == 201


def lacks(found: Object, path: str) -> bool:
    """Whether the object has no such field; what is empty or null further up lacks nothing."""
    name, _, rest = path.partition(".")
    if name not in found:
        return True
    inner = found[name] if isinstance(found[name], list) else [found[name]]
    return bool(rest) and any(lacks(one, rest) for one in inner if one is not None)


@pytest.mark.parametrize("kind", FIELDS)
def test_a_resource_has_its_fields(held: dict[str, list[Object]], kind: str) -> None:
    """Whether a scenario made it or a request made it."""
    assert held[kind]
    wrong = {(path, found["id"]) for found in held[kind] for path in FIELDS[kind] if lacks(found, path)}
    assert wrong == set()


def test_a_payment_method_has_its_details_under_its_type(held: dict[str, list[Object]]) -> None:
    """One of four types, each with its own fields."""
    assert {found["type"] for found in held["payment_methods"]} == set(DETAILS)
    wrong = {
        (found["type"], path)
        for found in held["payment_methods"]
        for path in DETAILS[found["type"]]
        if lacks(found[found["type"]], path)
    }
    assert wrong == set()


def test_a_paid_card_payment_tells_of_its_card(held: dict[str, list[Object]]) -> None:
    """Whoever made it: over the counter, on a page, or by charging a saved card."""
    paid = [row for row in held["payment_intents"] if row["payment_type"] == "card" and row["status"] == "succeeded"]
    assert any(row["payment_method"] for row in paid)
    assert {tuple(sorted(row["payment_type_options"]["card"])) for row in paid} == {tuple(sorted(CARD))}
