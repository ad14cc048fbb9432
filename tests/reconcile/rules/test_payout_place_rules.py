"""Where items and payouts are: two payouts, none, dead ones, in transit; bank days, lateness and the bank."""

from datetime import date
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from consumer.facts.bankdays import calendar_of
from reconcile.rules.columns import to_bank_days

if TYPE_CHECKING:
    from tests.reconcile.rules.conftest import Case

KEY = '{"order_ref": "PED-1"}'
TUESDAY = {"created_at": "2026-10-06T17:20:00Z", "succeeded_at": "2026-10-06T18:00:00Z"}


def test_an_item_in_a_second_payout_is_a_duplicate_there_and_counted(case: "Case") -> None:
    """The first payout keeps it; the second counts it and names the exception."""
    case.invoice("1", 50_000)
    case.payment("pi_1", 50_000, payout_id="po_1", metadata=KEY)
    case.payment("pi_1", 50_000, payout_id="po_2", metadata=KEY)
    case.payout_without_fee("po_1", 50_000)
    case.payout_without_fee("po_2", 50_000, **TUESDAY)
    run = case.run()
    assert run.lines("pi_1", "payout_id", "outcome", "applied_amount", "amount_signed", "exception_code") == [
        ("po_1", "matched", 50_000, 50_000, None),
        ("po_2", "duplicate", None, 50_000, "ITEM_IN_TWO_PAYOUTS"),
    ]
    assert run.found() == {("ITEM_IN_TWO_PAYOUTS", "resource:pi_1@po_2", 50_000)}
    assert run.payout("po_2", "payments_gross", "difference", "unmatched_count") == (50_000, 0, 1)


@pytest.mark.parametrize(("as_of", "is_lost"), [(date(2026, 10, 6), False), (date(2026, 10, 7), True)])
def test_a_payment_in_no_payout_two_bank_days_after_its_own(case: "Case", as_of: date, is_lost: bool) -> None:  # noqa: FBT001
    """Before that it is in transit."""
    case.as_of = as_of
    case.invoice("1", 50_000)
    case.payment("pi_1", 50_000, metadata=KEY)
    run = case.run()
    assert run.found() == ({("ITEM_IN_NO_PAYOUT", "resource:pi_1", 50_000)} if is_lost else set())
    assert [finding.evidence for finding in run.result.findings] == is_lost * [
        {"waiting_since": "2026-10-05", "expected_by": "2026-10-07", "freed_by_a_dead_payout": False}
    ]


def test_a_listed_item_is_not_also_in_transit(case: "Case") -> None:
    """A row without a payout says nothing beside one that has it."""
    case.payment("pi_1", 50_000, payout_id="po_1")
    case.payment("pi_1", 50_000)
    case.payout_without_fee("po_1", 50_000)
    assert case.match().lines("pi_1", "payout_id") == [("po_1",)]


def test_items_of_a_canceled_payout_are_in_transit_again(case: "Case") -> None:
    """The payout keeps its lines, the item waits in a line without payout, and its document stays paid once."""
    case.as_of = date(2026, 10, 8)
    case.invoice("1", 50_000)
    case.payment("pi_1", 50_000, payout_id="po_1", metadata=KEY)
    case.payout_without_fee("po_1", 50_000, status="canceled", succeeded_at=None, ended_at="2026-10-07T15:00:00Z")
    run = case.run()
    assert run.lines("pi_1", "payout_id", "outcome", "applied_amount", "note") == [
        ("po_1", "matched", None, "note.payout_dead"),
        (None, "matched", 50_000, "note.freed"),
    ]
    assert run.found() == set()
    assert run.payout("po_1", "status_recon", "difference") == ("canceled", 0)
    assert run.document("cl:33::1", "paid", "payments") == (50_000, 1)


def test_two_bank_days_start_anew_when_a_payout_is_canceled(case: "Case") -> None:
    """Two bank days after the cancellation the item is lost again."""
    case.as_of = date(2026, 10, 9)
    case.invoice("1", 50_000)
    case.payment("pi_1", 50_000, payout_id="po_1", metadata=KEY)
    case.payout_without_fee("po_1", 50_000, status="canceled", succeeded_at=None, ended_at="2026-10-07T15:00:00Z")
    run = case.run()
    assert run.found() == {("ITEM_IN_NO_PAYOUT", "resource:pi_1", 50_000)}
    assert run.finding("ITEM_IN_NO_PAYOUT").evidence == {
        "waiting_since": "2026-10-07", "expected_by": "2026-10-09", "freed_by_a_dead_payout": True,
    }  # fmt: skip


def test_a_returned_payout_is_an_exception_and_its_items_may_be_paid_again(case: "Case") -> None:
    """The later payout is the item's home and no second payout."""
    case.invoice("1", 50_000)
    case.payment("pi_1", 50_000, payout_id="po_1", metadata=KEY)
    case.payment("pi_1", 50_000, payout_id="po_2", metadata=KEY)
    case.payout_without_fee("po_1", 50_000, status="returned", ended_at="2026-10-06T13:00:00Z")
    case.payout_without_fee("po_2", 50_000, **TUESDAY)
    run = case.run()
    assert run.found() == {("PAYOUT_RETURNED", "payout:po_1", 50_000)}
    assert run.lines("pi_1", "payout_id", "outcome", "applied_amount") == [
        ("po_1", "matched", None),
        ("po_2", "matched", 50_000),
    ]
    assert run.payout("po_1", "status_recon") == ("returned",)
    returned = run.finding("PAYOUT_RETURNED")
    assert (returned.evidence["paid_again_in"], returned.severity) == ("po_2", "info")
    assert "other payouts have paid every item of it since" in returned.suggested_action
    assert run.lines("pi_1", "note") == [("note.paid_again",), (None,)]


def test_a_returned_payout_of_which_an_item_still_waits_says_so(case: "Case") -> None:
    """One item is paid again, the other is not: what to do is said as before, and only the one that waits waits."""
    case.invoice("1", 50_000)
    case.payment("pi_1", 50_000, payout_id="po_1", metadata=KEY)
    case.payment("pi_1", 50_000, payout_id="po_2", metadata=KEY)
    case.payment("pi_2", 900, payout_id="po_1")
    case.payout_without_fee("po_1", 50_900, status="returned", ended_at="2026-10-06T13:00:00Z")
    case.payout_without_fee("po_2", 50_000, **TUESDAY)
    returned = case.run().finding("PAYOUT_RETURNED")
    assert ("paid_again_in" in returned.evidence, returned.severity) == (False, "high")
    assert "its items wait for another payout" in returned.suggested_action
    assert case.run().lines("pi_1", "note") == [("note.paid_again",), (None,)]
    assert case.run().lines("pi_2", "note") == [("note.payout_dead",), ("note.freed",)]


def test_a_refund_that_never_moved_money_is_no_line(case: "Case") -> None:
    """A failed refund that no payout lists is nowhere."""
    case.refund("re_1", "pi_1", 5_000, status="failed")
    assert case.match().lines("re_1", "outcome") == []


@pytest.mark.parametrize(
    ("moment", "bank_day"),
    [
        ("2026-11-10T16:59:00Z", "2026-11-10"),
        ("2026-11-10T17:00:00Z", "2026-11-11"),
        ("2026-11-13T17:00:00Z", "2026-11-16"),
        ("2026-11-14T12:00:00Z", "2026-11-16"),
        ("2026-11-16T16:59:00Z", "2026-11-16"),
        ("2026-09-17T17:00:00Z", "2026-09-21"),
        ("2026-04-02T17:00:00Z", "2026-04-06"),
        ("2026-12-30T17:00:00Z", "2027-01-04"),
        ("2025-12-30T18:00:00Z", "2026-01-02"),
        # The clock goes forward in the night to 6 September and back in the night to 5 April, when 23:30 comes twice.
        ("2026-09-04T17:59:00Z", "2026-09-04"),
        ("2026-09-04T18:00:00Z", "2026-09-07"),
        ("2026-09-06T03:59:00Z", "2026-09-07"),
        ("2026-09-07T16:59:00Z", "2026-09-07"),
        ("2026-09-07T17:00:00Z", "2026-09-08"),
        ("2026-04-05T02:30:00Z", "2026-04-06"),
        ("2026-04-05T03:30:00Z", "2026-04-06"),
        ("2026-04-06T17:59:00Z", "2026-04-06"),
        ("2026-04-06T18:00:00Z", "2026-04-07"),
    ],
)
def test_bank_day_in_chile_by_the_14_oclock_window(moment: str, bank_day: str) -> None:
    """The window closes at 14:00 of a bank day."""
    days = to_bank_days(pd.Series([moment]).pipe(pd.to_datetime, utc=True), calendar_of("cl"))
    assert days.iloc[0].date().isoformat() == bank_day


def test_bank_day_in_mexico_is_the_local_date_or_the_next_bank_day() -> None:
    """Saturday's money belongs to Monday; the evening still to its own day."""
    moments = pd.to_datetime(pd.Series(["2026-10-10T18:00:00Z", "2026-10-07T03:00:00Z"]), utc=True)
    days = to_bank_days(moments, calendar_of("mx"))
    assert [day.date().isoformat() for day in days] == ["2026-10-12", "2026-10-06"]


def test_a_payout_made_after_the_cut_belongs_to_the_window_that_was_cut(case: "Case") -> None:
    """The payout of 14:20 holds the day's items: its window, arrival and date are of that day."""
    case.payment("pi_1", 50_000, payout_id="po_1")
    case.payout("po_1", 49_000)
    run = case.run()
    assert run.payout("po_1", "payout_date", "bank_day", "expected_arrival") == ("2026-10-05",) * 3
    assert run.payout("po_1", "window_start", "window_end") == (
        "2026-10-02T17:00:00+00:00",
        "2026-10-05T17:00:00+00:00",
    )


def test_a_payout_that_holds_items_from_after_the_cut_belongs_to_the_next_bank_day(case: "Case") -> None:
    """Its items say that the window is the next one."""
    case.payment("pi_1", 50_000, payout_id="po_1", occurred_at="2026-10-05T17:05:00Z")
    case.payout("po_1", 49_000)
    assert case.run().payout("po_1", "bank_day", "expected_arrival") == ("2026-10-06", "2026-10-06")


def test_expected_arrival_with_the_midnight_schedule_is_the_next_bank_day(case: "Case") -> None:
    """The 00:00 schedule of Chile takes one bank day more."""
    case.rules = {"payout_schedule": "00:00"}
    case.payment("pi_1", 50_000, payout_id="po_1")
    case.payout("po_1", 49_000)
    assert case.run().payout("po_1", "bank_day", "expected_arrival") == ("2026-10-05", "2026-10-06")


def test_expected_arrival_in_mexico_is_the_next_bank_day(mexican_case: "Case") -> None:
    """A payout of Friday is expected on Monday."""
    case = mexican_case
    case.payment("pi_1", 50_000, payout_id="po_1", occurred_at="2026-10-02T15:00:00Z")
    case.payout("po_1", 49_000, created_at="2026-10-02T16:00:00Z", succeeded_at="2026-10-02T17:00:00Z")
    assert case.run().payout("po_1", "bank_day", "expected_arrival") == ("2026-10-02", "2026-10-05")


@pytest.mark.parametrize(("as_of", "standing"), [(date(2026, 10, 5), "not_due"), (date(2026, 10, 6), "open")])
def test_payout_late_still_in_progress_one_bank_day_after_expected(case: "Case", as_of: date, standing: str) -> None:
    """No bank is needed to know it."""
    case.as_of = as_of
    case.invoice("1", 50_000)
    case.payment("pi_1", 50_000, payout_id="po_1", metadata=KEY)
    case.payout_without_fee("po_1", 50_000, status="in_progress", succeeded_at=None)
    run = case.run()
    assert run.payout("po_1", "status_recon") == (standing,)
    assert run.found() == ({("PAYOUT_LATE", "payout:po_1", 50_000)} if standing == "open" else set())


def test_split_shares_that_add_up_are_silent_and_the_payout_holds_the_own_share(case: "Case") -> None:
    """The document is paid whole; the line and the payout carry the merchant's share."""
    shares = (
        '[{"entity_id": "a", "amount": 42000, "own": true, "charge_processing_fee": true},'
        ' {"entity_id": "b", "amount": 8000, "charge_processing_fee": false}]'
    )
    case.invoice("1", 50_000)
    case.payment("pi_1", 50_000, payout_id="po_1", metadata=KEY, split=shares)
    case.payout_without_fee("po_1", 42_000)
    run = case.run()
    assert run.line("pi_1", "outcome", "amount_signed", "applied_amount") == ("matched", 42_000, 50_000)
    assert run.payout("po_1", "payments_gross", "difference") == (42_000, 0)
    assert run.found() == set()


@pytest.mark.parametrize(
    ("second", "payer", "at_risk"),
    [(7_999, "false", 1), (8_000, "true", 0)],
)
def test_split_mismatch(case: "Case", second: int, payer: str, at_risk: int) -> None:
    """Shares off by one unit, or a second fee payer, are a split mismatch."""
    shares = (
        '[{"entity_id": "a", "amount": 42000, "charge_processing_fee": true},'
        f' {{"entity_id": "b", "amount": {second}, "charge_processing_fee": {payer}}}]'
    )
    case.invoice("1", 50_000)
    case.payment("pi_1", 50_000, metadata=KEY, split=shares)
    assert case.run().found() == {("SPLIT_MISMATCH", "resource:pi_1", at_risk)}


def test_a_refund_counts_where_money_moves_or_a_payout_holds_it(case: "Case") -> None:
    """Without a payout one that only began, failed or was canceled is no line; what a payout lists always is."""
    case.payment("pi_1", 100_000, payout_id="po_1")
    case.payout("po_1", 99_000)
    case.refund("re_1", "pi_1", 1_000, payout_id="po_1", status="failed")
    for resource_id, status in (
        ("re_2", "succeeded"),
        ("re_3", "in_progress"),
        ("re_4", "created"),
        ("re_5", "failed"),
    ):
        case.refund(resource_id, "pi_1", 1_000, status=status)
    matched = case.match()
    assert [len(matched.lines(f"re_{number}", "line")) for number in (1, 2, 3, 4, 5)] == [1, 1, 1, 0, 0]
    assert matched.line("re_1", "payout_id", "amount_signed") == ("po_1", -1_000)
    assert matched.line("re_3", "payout_id", "amount_signed") == (None, -1_000)
