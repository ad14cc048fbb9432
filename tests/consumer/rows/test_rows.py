"""Provider JSON as rows: what is required is required, nothing unreadable gets a value, every table has its kind."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from consumer.facts.tables import business, provider
from consumer.facts.tables.provider import ProviderObject
from consumer.inbox.handlers import HANDLERS
from consumer.provider.rows import KINDS, Observation, UnusableObject, to_payout_item, to_row

SEEN = Observation("main", "test", datetime(2026, 10, 5, 12, 0, tzinfo=UTC), "evt_1")
READ = Observation("main", "test", datetime(2026, 10, 6, 12, 0, tzinfo=UTC))


def payment(**changes: Any) -> dict[str, Any]:
    return {
        "id": "pi_1",
        "object": "payment_intent",
        "mode": "test",
        "amount": 1500,
        "currency": "clp",
        "status": "succeeded",
        "payment_type": "bank_transfer",
        "created_at": "2026-10-05T11:59:00Z",
        "sender_account": {"holder_id": "11.111.111-1", "institution_id": "cl_banco_estado"},
        "customer": {"name": "Ana", "tax_id": {"type": "cl_rut", "value": "222222222"}},
    } | changes


def columns(row: ProviderObject) -> dict[str, Any]:
    return row.model_dump(exclude={"body"})


def test_a_payment_intent() -> None:
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
    }


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
def test_the_subtype_of_a_payment(changes: dict[str, Any], subtype: str | None) -> None:
    """Cards are named by their kind, everything else by its payment type."""
    assert columns(to_row("payment_intent", payment(**changes), SEEN))["subtype"] == subtype


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"amount": None}, "amount is missing"),
        ({"amount": "1500"}, "amount is str where an integer of minor units is needed"),
        ({"amount": 1500.5}, "amount is float where an integer of minor units is needed"),
        ({"amount": True}, "amount is bool where an integer of minor units is needed"),
        ({"amount": float("inf")}, "amount is float where an integer of minor units is needed"),
        ({"amount": 2**63}, "amount is larger than any amount"),
        ({"currency": None}, "currency is missing"),
        ({"currency": "pesos"}, "currency must be three letters"),
        ({"status": None}, "status is missing"),
        ({"status": 3}, "status is int, not text"),
        ({"id": None}, "id must be text of 1 to 255 printable characters"),
        ({"id": "a\0"}, "id must be text of 1 to 255 printable characters"),
        ({"mode": "live"}, "mode of the payment_intent is not test"),
        ({"object": "refund"}, "object is refund, not payment_intent"),
        ({"created_at": "yesterday"}, "created_at is not an ISO 8601 time with a zone"),
        ({"created_at": "2026-10-05T12:00:00"}, "created_at is not an ISO 8601 time with a zone"),
        ({"updated_at": "0001-01-01T00:00:00+14:00"}, "updated_at is not an ISO 8601 time with a zone"),
        ({"created_at": 1791201600}, "created_at is int, not text"),
        ({"metadata": {"x": float("inf")}}, "a number is too large to be read"),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(changes: dict[str, Any], reason: str) -> None:
    """A field that is missing or unreadable refuses the object, with one clear reason and no invented value."""
    with pytest.raises(UnusableObject) as refused:
        to_row("payment_intent", payment(**changes), SEEN)

    assert str(refused.value) == reason


@pytest.mark.parametrize("data", [None, [], "pi_1", 5])
def test_what_is_no_object_is_refused(data: Any) -> None:
    """Only a JSON object can become a row."""
    with pytest.raises(UnusableObject, match="must be a JSON object"):
        to_row("payout", data, SEEN)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-10-05T12:00:00Z", datetime(2026, 10, 5, 12, tzinfo=UTC)),
        ("2026-10-05T12:00:00.25Z", datetime(2026, 10, 5, 12, 0, 0, 250_000, tzinfo=UTC)),
        ("2026-10-05T12:00:00.942949787176Z", datetime(2026, 10, 5, 12, 0, 0, 942_949, tzinfo=UTC)),
        ("2026-10-05T09:00:00-03:00", datetime(2026, 10, 5, 12, tzinfo=UTC)),
        ("2026-10-05", datetime(2026, 10, 5, tzinfo=UTC)),
        (None, None),
        ("", None),
    ],
)
def test_times_are_read_in_every_documented_form(text: str | None, expected: datetime | None) -> None:
    """Milliseconds, nanoseconds, offsets, bare dates and null all occur, and come out aware in UTC."""
    assert to_row("payment_intent", payment(created_at=text), SEEN).created_at == expected


def test_a_whole_float_is_an_amount() -> None:
    """The provider sometimes writes 1500.0."""
    assert to_row("payment_intent", payment(amount=1500.0), SEEN).amount == 1500


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
def test_tax_ids_are_canonical_or_absent(holder: Any, expected: str | None) -> None:
    """A tax id whose form or check digit is wrong identifies nobody; its raw text stays in the body."""
    row = to_row("payment_intent", payment(sender_account={"holder_id": holder}), SEEN)

    assert columns(row)["sender_tax_id"] == expected
    assert json.loads(row.body)["sender_account"] == {"holder_id": holder}


def test_what_opens_doors_is_not_kept() -> None:
    """Link tokens, widget tokens and secrets never lie beside the facts."""
    row = to_row("link", {"id": "link_1", "link_token": "link_1_token_x", "holder_id": "1"}, READ)

    assert json.loads(row.body) == {"holder_id": "1", "id": "link_1"}


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


def test_an_amount_with_a_direction_is_unsigned() -> None:
    """A negative amount beside a direction would count the wrong way, so it is refused."""
    movement = {"id": "mov_1", "account_id": "acc_1", "amount": -5, "currency": "MXN", "direction": "outbound"}

    with pytest.raises(UnusableObject, match="amount is negative although direction tells the sign"):
        to_row("account_movement", movement, READ)
    assert to_row("link_movement", {"id": "mov_1", "amount": -5, "currency": "CLP"}, READ).amount == -5


def test_an_account_known_from_the_path_is_kept() -> None:
    """Statements and link movements do not name their account; the stream that reads them does."""
    seen = Observation("main", "test", READ.seen_at, account_id="acc_9")

    assert columns(to_row("account_statement", {"id": "acst_1"}, seen))["account_id"] == "acc_9"
    assert columns(to_row("account_statement", {"id": "acst_1", "account_id": "acc_1"}, seen))["account_id"] == "acc_1"


def test_the_same_word_means_two_things() -> None:
    """A billing and a fiscal invoice share prefix and object name, and only the caller tells them apart."""
    billing = {"id": "inv_1", "object": "invoice", "status": "paid", "total": 900, "currency": "CLP"}
    fiscal = {
        "id": "inv_1",
        "object": "invoice",
        "total_amount": 119,
        "currency": "CLP",
        "institution_invoice": {"invoice_status": "registered"},
    }

    assert [(row.__tablename__, row.amount, row.status) for row in (to_row("billing_invoice", billing, SEEN),)] == [
        ("billing_invoice", 900, "paid")
    ]
    assert [(row.__tablename__, row.amount, row.status) for row in (to_row("tax_invoice", fiscal, READ),)] == [
        ("tax_invoice", 119, "registered")
    ]


@pytest.mark.parametrize(
    ("data", "period"),
    [
        ({"fiscal_year": 2026, "period": "10"}, "2026-10"),
        ({"fiscal_year": 2026, "period": "4"}, "2026-04"),
        ({"period": "2026-10"}, "2026-10"),
        ({"period": None}, None),
    ],
)
def test_the_period_of_a_monthly_statement(data: dict[str, Any], period: str | None) -> None:
    """The F29 writes its year as a number and its month as text; a period is both."""
    assert columns(to_row("tax_statement", {"id": "taxstmt_1"} | data, READ))["period"] == period


def test_a_payment_methods_status_sits_under_its_type() -> None:
    """The details of a payment method lie under a field named after the type."""
    method = {"id": "pm_1", "type": "mx_direct_debit", "mx_direct_debit": {"status": "pending"}}

    row = to_row("payment_method", method, SEEN)

    assert (row.status, row.version_rank) == ("pending", 1)


def test_a_payout_item() -> None:
    """One row of a payout's resources says what the payout carries and for how much."""
    item = to_payout_item(payment(), READ, payout_id="po_1", resource_type="payment_intent")

    assert item.model_dump(exclude={"body"}) == {
        "connection": "main",
        "payout_id": "po_1",
        "resource_type": "payment_intent",
        "resource_id": "pi_1",
        "mode": "test",
        "amount": 1500,
        "currency": "CLP",
    }


def test_a_payout_item_keeps_no_secret_and_marks_half_characters() -> None:
    """The list shows whole objects; what opens doors at the provider stays out, half a character is marked."""
    data = payment() | {"widget_token": "wt_made_up", "comment": "\ud800"}

    item = to_payout_item(data, READ, payout_id="po_1", resource_type="payment_intent")

    assert "wt_made_up" not in item.body
    assert json.loads(item.body)["comment"] == "\ufffd"
    item.body.encode()


def test_every_provider_table_has_exactly_one_kind() -> None:
    """No table of provider objects is without a kind, and none has two."""
    tables = {
        thing.__name__
        for module in (provider, business)
        for thing in vars(module).values()
        if isinstance(thing, type) and issubclass(thing, ProviderObject) and thing is not ProviderObject
    }

    assert sorted(kind.table.__name__ for kind in KINDS.values()) == sorted(tables)


@pytest.mark.parametrize("name", sorted(KINDS))
def test_unknown_and_hostile_fields_pass_through(name: str) -> None:
    """New fields and null characters in unread fields are kept, half a character becomes a mark any reader takes."""
    data = {"id": "x", "status": "s", "amount": 1, "currency": "CLP", "direction": "inbound", "account_id": "acc_1"}
    row = to_row(name, data | {"brand_new": {"deep": ["\ud800", "\0"]}, "cuadre:kept": "hostile"}, READ)

    assert json.loads(row.body) == data | {"brand_new": {"deep": ["\ufffd", "\0"]}}
    assert msgspec.json.decode(row.body)["brand_new"] == {"deep": ["\ufffd", "\0"]}
    row.body.encode()


def test_every_event_type_of_the_spec_has_a_handler() -> None:
    """The handler table holds the types the specification lists, all of them and no other."""
    listed = (Path(__file__).parents[2] / "data" / "event_types.txt").read_text(encoding="utf-8").split()

    assert sorted(HANDLERS) == sorted(listed)
