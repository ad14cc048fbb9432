"""What arrived at the bank: only money in, on the day the bank says."""

import json
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from reconcile.bank import bank_lines

ZONE = "America/Santiago"
LATE = datetime(2026, 10, 2, 1, 30, tzinfo=UTC)


def _movement(identity: str, amount: int, *, created_at: datetime | None = None, **body: Any) -> SimpleNamespace:
    """A row of either table of movements; `direction` and `status` are read from whichever it is."""
    return SimpleNamespace(
        id=identity, account_id="acc_1", amount=amount, currency="CLP", created_at=created_at, body=json.dumps(body),
        direction=body.get("direction"), status=body.get("status"),
    )  # fmt: skip


def _lines(*, own: Any = (), linked: Any = ()) -> list[tuple[Any, ...]]:
    found = bank_lines(own=own, linked=linked, numbers={"acc_1": "00012345678"}, zone=ZONE)
    days = found["booked_on"].dt.strftime("%Y-%m-%d")
    return list(zip(found["movement_id"], found["account_last4"], found["amount"], days, strict=True))


def test_only_money_that_came_in_for_good_is_listed() -> None:
    """An own account says the direction in a word, a linked one in the sign, and only confirmed ones count."""
    own = [
        _movement("mov_1", 900, direction="inbound", transaction_date="2026-10-01T15:00:00Z"),
        _movement("mov_2", 900, direction="outbound", transaction_date="2026-10-01T15:00:00Z"),
    ]
    linked = [
        _movement("mov_3", 500, status="confirmed", transaction_date="2026-10-01T15:00:00.000Z"),
        _movement("mov_4", -500, status="confirmed", transaction_date="2026-10-01T15:00:00.000Z"),
        _movement("mov_5", 500, status="pending", transaction_date="2026-10-01T15:00:00.000Z"),
    ]
    assert _lines(own=own, linked=linked) == [
        ("mov_1", "5678", 900, "2026-10-01"),
        ("mov_3", "5678", 500, "2026-10-01"),
    ]


@pytest.mark.parametrize(
    ("dates", "booked_on"),
    [
        ({"transaction_date": "2026-10-02T01:30:00.000Z", "post_date": "2026-10-02T00:00:00.000Z"}, "2026-10-01"),
        ({"transaction_date": None, "post_date": "2026-10-02T00:00:00.000Z"}, "2026-10-02"),
        ({"post_date": "2026-10-02"}, "2026-10-02"),
        ({}, "2026-10-01"),
    ],
)
def test_a_posting_day_is_never_moved_by_a_time_zone(dates: dict[str, Any], booked_on: str) -> None:
    """An instant is read on the local clock, while midnight UTC of a posting only names its day."""
    row = _movement("mov_1", 500, created_at=LATE, status="confirmed", **dates)
    assert _lines(linked=[row]) == [("mov_1", "5678", 500, booked_on)]


def test_a_movement_without_any_date_is_no_line() -> None:
    """Nothing is invented for it."""
    assert _lines(linked=[_movement("mov_1", 500, status="confirmed")]) == []
