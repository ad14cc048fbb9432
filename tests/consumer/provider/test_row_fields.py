"""Single fields: what is required is required, nothing unreadable gets a value, nothing secret is kept."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from consumer.provider.fields import UnusableObjectError, instant
from consumer.provider.rows import Observation
from tests.observing import to_row

Payment = Callable[..., dict[str, Any]]
SEEN = Observation("main", "test", datetime(2026, 10, 5, 12, 0, tzinfo=UTC), "evt_1")
READ = Observation("main", "test", datetime(2026, 10, 6, 12, 0, tzinfo=UTC))


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
    ],
)
def test_what_cannot_be_read_is_refused_by_name(payment: Payment, changes: dict[str, Any], reason: str) -> None:
    """A field that is missing or unreadable refuses the object, with one clear reason and no invented value."""
    with pytest.raises(UnusableObjectError) as refused:
        to_row("payment_intent", payment(**changes), SEEN)

    assert str(refused.value) == reason


@pytest.mark.parametrize("data", [None, [], "pi_1", 5])
def test_what_is_no_object_is_refused(data: Any) -> None:
    """Only a JSON object can become a row."""
    with pytest.raises(UnusableObjectError, match="must be a JSON object"):
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
def test_times_are_read_in_every_documented_form(payment: Payment, text: str | None, expected: datetime | None) -> None:
    """Milliseconds, nanoseconds, offsets, bare dates and null all occur, and come out aware in UTC."""
    assert to_row("payment_intent", payment(created_at=text), SEEN).created_at == expected


def test_a_whole_float_is_an_amount(payment: Payment) -> None:
    """The provider sometimes writes 1500.0."""
    assert to_row("payment_intent", payment(amount=1500.0), SEEN).amount == 1500


def test_what_opens_doors_is_not_kept() -> None:
    """Link tokens, widget tokens and secrets never lie beside the facts."""
    row = to_row("link", {"id": "link_1", "link_token": "link_1_token_x", "holder_id": "1"}, READ)

    assert json.loads(row.body) == {"holder_id": "1", "id": "link_1"}


@pytest.mark.parametrize("written", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "9999-12-31"])
def test_a_moment_no_bank_day_is_known_of_is_unusable(written: str) -> None:
    """Programs send these for no moment; a night that looks for their bank day would end."""
    with pytest.raises(UnusableObjectError, match=r"^ended_at is in the year (1|9999), of which no bank day is known$"):
        instant({"ended_at": written}, "ended_at")
