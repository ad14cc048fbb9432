"""Every event type of the provider, and the object it carries."""

import httpx
import pytest

from sandbox.state.event_types import TYPES
from tests.sandbox.conftest import Receiver, advance, make, refusal, subscribe

OBJECTS = {
    "link.credentials_changed": "link",
    "link.refresh_intent.succeeded": "refresh_intent",
    "link.refresh_intent.failed": "refresh_intent",
    "account.refresh_intent.succeeded": "refresh_intent",
    "account.refresh_intent.failed": "refresh_intent",
    "account.refresh_intent.rejected": "refresh_intent",
    "account.refresh_intent.movements_removed": "refresh_intent",
    "account.refresh_intent.movements_modified": "refresh_intent",
    "payment_intent.succeeded": "payment_intent",
    "payment_intent.rejected": "payment_intent",
    "payment_intent.failed": "payment_intent",
    "payment_intent.pending": "payment_intent",
    "payment_intent.expired": "payment_intent",
    "subscription.payment_method_updated": "subscription",
    "subscription.payment_method_update_failed": "subscription",
    "subscription_intent.succeeded": "subscription_intent",
    "subscription_intent.rejected": "subscription_intent",
    "subscription_intent.failed": "subscription_intent",
    "charge.succeeded": "charge",
    "charge.failed": "charge",
    "refund.succeeded": "refund",
    "refund.failed": "refund",
    "refund.in_progress": "refund",
    "payout.created": "payout",
    "payout.canceled": "payout",
    "payout.succeeded": "payout",
    "payout.returned": "payout",
    "checkout_session.finished": "checkout_session",
    "checkout_session.expired": "checkout_session",
    "transfer.inbound.succeeded": "transfer",
    "transfer.outbound.succeeded": "transfer",
    "transfer.outbound.partially_succeeded": "transfer",
    "transfer.outbound.failed": "transfer",
    "transfer.outbound.returned": "transfer",
    "transfer.outbound.reversed": "transfer",
    "transfer.inbound.returned": "transfer",
    "transfer.inbound.return_failed": "transfer",
    "transfer.inbound.rejected": "transfer",
    "transfer.inbound.reversed": "transfer",
    "account_number.deleted": "account_number",
    "account_verification.succeeded": "account_verification",
    "account_verification.failed": "account_verification",
    "payment_method.activated": "payment_method",
    "payment_method.canceled": "payment_method",
    "invoice.created": "invoice",
    "invoice.finalized": "invoice",
    "invoice.paid": "invoice",
    "invoice.payment_created": "invoice",
    "invoice.payment_failed": "invoice",
    "invoice.payment_succeeded": "invoice",
    "invoice.upcoming": "invoice",
    "invoice.voided": "invoice",
    "dispute.waiting_documentation": "dispute",
    "dispute.in_review": "dispute",
    "dispute.won": "dispute",
    "dispute.lost": "dispute",
    "dispute.expired": "dispute",
    "entity.onboarding.approved": "onboarding",
    "entity.onboarding.rejected": "onboarding",
}


def test_the_types_are_the_providers() -> None:
    """None is missing and none is made up."""
    assert set(TYPES) == set(OBJECTS)


@pytest.mark.parametrize("type_", OBJECTS)
def test_each_type_reaches_an_endpoint_with_its_object(client: httpx.Client, receiver: Receiver, type_: str) -> None:
    """A triggered event of the type is delivered to who asked for it."""
    subscribe(client, type_)

    make(client, "/v1/events/trigger", type=type_)
    advance(client, 0)

    (event,) = receiver.events()
    assert (event["type"], event["data"]["object"]) == (type_, OBJECTS[type_])


def test_link_created_is_never_delivered(client: httpx.Client) -> None:
    """It is no type an endpoint can ask for."""
    body = {"url": "https://shop.example/", "enabled_events": ["link.created"]}

    assert refusal(client.post("/v1/webhook_endpoints", json=body)) == (400, "invalid_enum", "enabled_events")
