"""The clearing balance: what the provider owes day by day, and the items it is made of."""

from datetime import date
from typing import Any

import pyarrow as pa
import pytest

from reconcile.rules import clearing
from reconcile.rules.clearing import ITEMS, PAYOUTS, Account, ClearingError


def line(resource_id: str, amount: int, on: str | None, payout_id: str | None, **changes: Any) -> dict[str, Any]:
    return {
        "currency": "CLP",
        "payout_id": payout_id,
        "resource_type": "payment_intent",
        "resource_id": resource_id,
        "occurred_at_utc": None,
        "local_date": date.fromisoformat(on) if on else None,
        "bank_day": date.fromisoformat(on) if on else None,
        "amount_signed": amount,
    } | changes


def payout(payout_id: str, on: str | None, amount: int, *, fees: int = 0, **changes: Any) -> dict[str, Any]:
    return {
        "currency": "CLP",
        "payout_id": payout_id,
        "status": "succeeded",
        "payout_date": date.fromisoformat(on) if on else None,
        "payout_amount": amount,
        "fee_total": fees,
        "difference": 0,
    } | changes


def account(lines: list[dict[str, Any]], payouts: list[dict[str, Any]]) -> Account:
    return Account(pa.Table.from_pylist(lines, schema=ITEMS), pa.Table.from_pylist(payouts, schema=PAYOUTS))


def waiting(lines: list[dict[str, Any]], payouts: list[dict[str, Any]]) -> list[str]:
    ids: list[str] = clearing.find_waiting(account(lines, payouts))["resource_id"].to_pylist()
    return ids


def test_the_balance_rolls_from_day_to_day() -> None:
    """Each day opens with what the day before closed with, and closes with what is not paid out yet."""
    lines = [
        line("pi_1", 1000, "2026-10-01", "po_1"),
        line("re_1", -300, "2026-10-02", "po_1", resource_type="refund"),
        line("pi_2", 500, "2026-10-02", None),
    ]
    rows = list(clearing.carry_forward(account(lines, [payout("po_1", "2026-10-02", 680, fees=20)])))
    assert [(r["date"], r["opening"], r["closing"], r["closing_items_count"]) for r in rows] == [
        (date(2026, 10, 1), 0, 1000, 1),
        (date(2026, 10, 2), 1000, 500, 1),
    ]
    assert {key: rows[1][key] for key in ("payments", "refunds", "fees", "payouts", "other")} == {
        "payments": 500,
        "refunds": -300,
        "fees": -20,
        "payouts": -680,
        "other": 0,
    }


def test_a_difference_has_its_own_column() -> None:
    """A payout that does not add up leaves its difference in `other`, not in the balance."""
    rows = list(
        clearing.carry_forward(
            account(
                [line("pi_1", 1000, "2026-10-01", "po_1")], [payout("po_1", "2026-10-01", 990, fees=20, difference=10)]
            )
        )
    )
    assert [(r["other"], r["closing"]) for r in rows] == [(10, 0)]


def test_items_of_a_canceled_payout_wait_again() -> None:
    """A canceled or returned payout pays nothing: its items stay in the balance until another payout carries them."""
    lines = [line("pi_1", 1000, "2026-10-01", "po_dead"), line("pi_2", 70, "2026-10-01", "po_dead")]
    again = [*lines, line("pi_2", 70, "2026-10-01", "po_2")]
    payouts = [payout("po_dead", "2026-10-02", 1070, status="returned"), payout("po_2", "2026-10-05", 70)]
    assert waiting(again, payouts) == ["pi_1"]
    assert [r["closing"] for r in clearing.carry_forward(account(again, payouts))] == [1070, 1000]


def test_what_two_dead_payouts_carried_waits_once() -> None:
    """An item that was tried twice and never paid is owed once."""
    lines = [line("pi_1", 1000, "2026-10-01", "po_1"), line("pi_1", 1000, "2026-10-01", "po_2")]
    payouts = [payout("po_1", None, 1000, status="canceled"), payout("po_2", None, 1000, status="returned")]
    assert waiting(lines, payouts) == ["pi_1"]
    assert [(r["closing"], r["closing_items_count"]) for r in clearing.carry_forward(account(lines, payouts))] == [
        (1000, 1)
    ]


def test_an_item_without_a_day_counts_on_its_payout_s() -> None:
    """A refund whose own moment is unknown comes and goes with the payout that carried it."""
    lines = [line("re_1", -300, None, "po_1", resource_type="refund")]
    rows = list(clearing.carry_forward(account(lines, [payout("po_1", "2026-10-02", -300)])))
    assert [(r["date"], r["refunds"], r["closing"]) for r in rows] == [(date(2026, 10, 2), -300, 0)]


@pytest.mark.parametrize(
    ("item", "complaint"),
    [
        (line("pi_1", 1000, None, None), "item pi_1 has no date and no payout that has one"),
        (line("pi_1", 1000, "2026-10-01", "po_9"), "item pi_1 names a payout that the run does not hold"),
        (line("pi_1", 0, "2026-10-01", None, amount_signed=None), "item pi_1 has no amount"),
        (line("pi_1", 1000, "2026-10-01", None, resource_type="tip"), "item pi_1 is of a kind that has no column"),
    ],
)
def test_what_cannot_be_counted_is_said(item: dict[str, Any], complaint: str) -> None:
    """An item without a day, an amount or its payout is no zero: it is named."""
    with pytest.raises(ClearingError, match=complaint):
        list(clearing.carry_forward(account([item], [])))


def test_a_payout_without_its_day_is_named() -> None:
    """A payout that succeeded has a day; without one its amount has no place in the balance."""
    with pytest.raises(ClearingError, match="payout po_1 has succeeded and has no payout_date"):
        list(clearing.carry_forward(account([], [payout("po_1", None, 680)])))


def test_a_payout_on_its_way_still_waits() -> None:
    """Items of a payout that has not succeeded are still in transit."""
    lines = [line("pi_1", 1000, "2026-10-01", "po_1")]
    assert waiting(lines, [payout("po_1", None, 1000, status="in_progress")]) == ["pi_1"]
