"""The clearing balance: what the provider owes day by day, and the items it is made of."""

from datetime import date
from typing import Any

from consumer.facts.bankdays import calendar_of
from reports import clearing


def line(resource_id: str, amount: int, on: str, payout_id: str | None, **changes: Any) -> dict[str, Any]:
    return {
        "connection": "main",
        "currency": "CLP",
        "payout_id": payout_id,
        "resource_type": "payment_intent",
        "resource_id": resource_id,
        "line": 1,
        "local_date": on,
        "bank_day": on,
        "amount_signed": amount,
    } | changes


def payout(payout_id: str, on: str | None, amount: int, *, fees: int = 0, **changes: Any) -> dict[str, Any]:
    return {
        "connection": "main",
        "currency": "CLP",
        "payout_id": payout_id,
        "status": "succeeded",
        "payout_date": on,
        "payout_amount": amount,
        "fee_total": fees,
        "difference": 0,
    } | changes


def test_the_balance_rolls_from_day_to_day() -> None:
    """Each day opens with what the day before closed with, and closes with what is not paid out yet."""
    lines = [
        line("pi_1", 1000, "2026-10-01", "po_1"),
        line("re_1", -300, "2026-10-02", "po_1", resource_type="refund"),
        line("pi_2", 500, "2026-10-02", None),
    ]
    rows = list(clearing.rollforward(lines, [payout("po_1", "2026-10-02", 680, fees=20)]))
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
        clearing.rollforward(
            [line("pi_1", 1000, "2026-10-01", "po_1")], [payout("po_1", "2026-10-01", 990, fees=20, difference=10)]
        )
    )
    assert [(r["other"], r["closing"]) for r in rows] == [(10, 0)]


def test_a_second_document_of_an_item_adds_no_money() -> None:
    """Further lines of an item carry documents, not amounts."""
    lines = [line("pi_1", 1000, "2026-10-01", None), line("pi_1", 0, "2026-10-01", None, line=2)]
    assert [(r["closing"], r["closing_items_count"]) for r in clearing.rollforward(lines, [])] == [(1000, 1)]


def test_items_of_a_canceled_payout_wait_again() -> None:
    """A canceled or returned payout pays nothing: its items stay in the balance until another payout carries them."""
    lines = [line("pi_1", 1000, "2026-10-01", "po_dead"), line("pi_2", 70, "2026-10-01", "po_dead")]
    again = [*lines, line("pi_2", 70, "2026-10-01", "po_2")]
    payouts = [payout("po_dead", "2026-10-02", 1070, status="returned"), payout("po_2", "2026-10-05", 70)]
    assert [item["resource_id"] for item in clearing.waiting(again, payouts)] == ["pi_1"]
    assert [r["closing"] for r in clearing.rollforward(again, payouts)] == [1070, 1000]


def test_what_waits_is_aged_and_told_when_to_expect_it() -> None:
    """In Chile a payment of Friday is expected on its bank day and is one bank day old on Monday."""
    items = [line("pi_1", 1000, "2026-10-02", None)]
    rows = list(clearing.in_transit(items, {"main": calendar_of("cl")}, as_of=date(2026, 10, 5)))
    assert [(r["age_business_days"], r["expected_payout_day"]) for r in rows] == [(1, date(2026, 10, 2))]


def test_a_payout_on_its_way_still_waits() -> None:
    """Items of a payout that has not succeeded are still in transit."""
    lines = [line("pi_1", 1000, "2026-10-01", "po_1")]
    assert [
        item["resource_id"] for item in clearing.waiting(lines, [payout("po_1", None, 1000, status="in_progress")])
    ] == ["pi_1"]
