"""Payments as rows: their columns, subtypes, people, versions and the states they reached."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from consumer.provider.rows import Observation
from tests.observing import columns, to_row

Payment = Callable[..., dict[str, Any]]
SEEN = Observation("main", "test", datetime(2026, 10, 5, 12, 0, tzinfo=UTC), "evt_1")
READ = Observation("main", "test", datetime(2026, 10, 6, 12, 0, tzinfo=UTC))


def test_a_payment_intent(payment: Payment) -> None:
    """A payment intent's columns are its money, its subtype, its people in canonical form and its version."""
    assert columns(to_row("payment_intent", payment(), SEEN)) == {
        "connection": "main",
        "id": "pi_1",
        "mode": "test",
        "status": "succeeded",
        "amount": 1500,
        "currency": "CLP",
        "created_at": datetime(2026, 10, 5, 11, 59, tzinfo=UTC),
        "updated_at": None,
        "version_at": datetime(2026, 10, 5, 12, 0, tzinfo=UTC),
        "version_rank": 5,
        "version_event": "evt_1",
        "gone_at": None,
        "succeeded_at": datetime(2026, 10, 5, 12, 0, tzinfo=UTC),
        "subtype": "bank_transfer",
        "customer_tax_id": "22222222-2",
        "customer_name": "Ana",
        "sender_tax_id": "11111111-1",
        "metadata_json": None,
        "texts": None,
        "split_json": None,
        "customer_id": None,
    }


@pytest.mark.parametrize("name", ["payment_intent", "charge", "refund"])
def test_what_identifies_a_sale_stands_beside_the_body(payment: Payment, name: str) -> None:
    """Reconciliation reads columns: a million bodies are not decoded again."""
    said = {"metadata": {"order_ref": "PED-1"}, "comment": "Pago 7", "customer": "cus_1"}
    row = columns(to_row(name, payment(**said, object=name, split_applied=[{"amount": 1500}]), SEEN))

    assert row["metadata_json"] == '{"order_ref":"PED-1"}'
    assert (row["texts"], row["customer_id"]) == ("Pago 7", "cus_1")
    assert row["split_json"] == '[{"amount":1500,"charge_processing_fee":null,"entity_id":null}]'


@pytest.mark.parametrize(
    ("changes", "subtype"),
    [
        ({"payment_type": "card", "payment_type_options": {"card": {"kind": "credit"}}}, "credit_card"),
        ({"payment_type": "card", "payment_type_options": {"card": {"kind": "debit"}}}, "debit_card"),
        ({"payment_type": "card", "payment_type_options": {"card": {"kind": "prepaid"}}}, "prepaid_card"),
        ({"payment_type": "card", "payment_type_options": {"card": {"kind": None}}}, "card"),
        ({"payment_type": "card", "payment_type_options": None}, "card"),
        ({"payment_type": "installment"}, "installment"),
        ({"payment_type": "pac"}, "pac"),
        ({"payment_type": "comet"}, "comet"),
        ({"payment_type": None}, None),
    ],
)
def test_the_subtype_of_a_payment(payment: Payment, changes: dict[str, Any], subtype: str | None) -> None:
    """Cards are named by their kind, everything else by its payment type."""
    assert columns(to_row("payment_intent", payment(**changes), SEEN))["subtype"] == subtype


@pytest.mark.parametrize(
    ("holder", "expected"),
    [
        ("761349341", "76134934-1"),
        ("761349342", None),
        ("11111111-1", "11111111-1"),
        ("11.111.111-1", "11111111-1"),
        ("mfiu593501oe4", "MFIU593501OE4"),
        ("ND", None),
        ("", None),
        (None, None),
        (111111111, None),
    ],
)
def test_tax_ids_are_canonical_or_absent(payment: Payment, holder: Any, expected: str | None) -> None:
    """A tax id whose form or check digit is wrong identifies no one; its raw text stays in the body."""
    row = to_row("payment_intent", payment(sender_account={"holder_id": holder}), SEEN)

    assert columns(row)["sender_tax_id"] == expected
    assert json.loads(row.body)["sender_account"] == {"holder_id": holder}


@pytest.mark.parametrize(
    ("data", "seen", "version_at", "succeeded_at"),
    [
        ({"updated_at": "2026-10-05T11:30:00Z"}, SEEN, "2026-10-05T11:30:00+00:00", "2026-10-05T12:00:00+00:00"),
        ({"updated_at": "2026-10-05T11:30:00Z"}, READ, "2026-10-05T11:30:00+00:00", "2026-10-05T11:30:00+00:00"),
        ({"succeeded_at": "2026-10-05T11:15:00Z"}, READ, "2026-10-06T12:00:00+00:00", "2026-10-05T11:15:00+00:00"),
        ({}, SEEN, "2026-10-05T12:00:00+00:00", "2026-10-05T12:00:00+00:00"),
        ({}, READ, "2026-10-06T12:00:00+00:00", None),
        ({"status": "in_progress"}, SEEN, "2026-10-05T12:00:00+00:00", None),
    ],
)
def test_versions_and_reached_states(
    data: dict[str, Any], seen: Observation, version_at: str, succeeded_at: str | None
) -> None:
    """The version is the object's own update time, else the event's or the read's; a state's time is never invented."""
    payout = {"id": "po_1", "amount": 9, "currency": "CLP", "status": "succeeded"} | data
    row = to_row("payout", payout, seen)

    assert row.version_at.isoformat() == version_at
    reached = columns(row)["succeeded_at"]
    assert (reached and reached.isoformat()) == succeeded_at


@pytest.mark.parametrize(("said", "due_at"), [
    ({"documentation_upload_deadline": "2026-10-12T23:59:59.000Z"}, datetime(2026, 10, 12, 23, 59, 59, tzinfo=UTC)),
    ({"documentation_upload_deadline": None}, None),
    ({}, None),
])  # fmt: skip
def test_a_dispute_has_its_deadline(payment: Payment, said: dict[str, Any], due_at: datetime | None) -> None:
    """Until when documents are taken stands beside the body, where it is stated."""
    body = payment(id="cb_1", object="dispute", resource_id="pi_1", status="waiting_documentation", **said)
    row = columns(to_row("dispute", body, SEEN))
    assert (row["resource_id"], row["due_at"], row["ended_at"]) == ("pi_1", due_at, None)
