"""A payout at the bank: shown, absent, late, of another amount or on another account."""

from datetime import date
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.reconcile.rules.conftest import Case

KEY = '{"order_ref": "PED-1"}'


def _in_bank(case: "Case", **given: object) -> None:
    case.invoice("1", 50_000)
    case.payment("pi_1", 50_000, payout_id="po_1", metadata=KEY)
    case.payout_without_fee("po_1", 50_000)
    move = {
        "movement_id": "mv_1",
        "account_last4": "0001",
        "amount": 50_000,
        "currency": "CLP",
        "booked_on": date(2026, 10, 5),
    }
    case.add("bank", **(move | given))


def test_without_a_bank_there_is_no_bank_exception(case: "Case") -> None:
    """Bank columns stay empty, however late it is."""
    case.as_of = date(2026, 10, 30)
    case.invoice("1", 50_000)
    case.payment("pi_1", 50_000, payout_id="po_1", metadata=KEY)
    case.payout_without_fee("po_1", 50_000)
    run = case.run()
    assert run.found() == set()
    assert run.payout("po_1", "bank_date", "bank_amount", "days_late", "status_recon") == (None, None, None, "no_bank")


def test_the_bank_shows_the_payout(case: "Case") -> None:
    """Amount, account and window bring payout and movement together."""
    _in_bank(case)
    run = case.run()
    shown = run.payout("po_1", "bank_movement_id", "bank_date", "bank_amount", "bank_difference", "days_late")
    assert shown == ("mv_1", "2026-10-05", 50_000, 0, 0)
    assert run.payout("po_1", "status_recon") == ("closed",)
    assert run.found() == set()


@pytest.mark.parametrize(("as_of", "standing"), [(date(2026, 10, 6), "not_due"), (date(2026, 10, 7), "open")])
def test_payout_not_in_bank_two_bank_days_after_expected(case: "Case", as_of: date, standing: str) -> None:
    """Until then the money is on its way."""
    case.as_of = as_of
    _in_bank(case, amount=1)
    run = case.run()
    assert run.payout("po_1", "status_recon") == (standing,)
    assert run.found() == ({("PAYOUT_NOT_IN_BANK", "payout:po_1", 50_000)} if standing == "open" else set())


@pytest.mark.parametrize(("as_of", "standing"), [(date(2026, 10, 6), "not_due"), (date(2026, 10, 7), "incomplete")])
def test_a_payout_past_due_on_incomplete_data_is_not_called_not_due(case: "Case", as_of: date, standing: str) -> None:
    """A gap elsewhere withholds that it is missing, which must not read as if its day had not come."""
    case.as_of = as_of
    _in_bank(case, amount=1)
    case.add("gaps", stream="charges", since="2026-10-06T12:00:00Z", until="2026-10-06T13:00:00Z", reason="lost")
    run = case.run()
    assert run.payout("po_1", "status_recon") == (standing,)
    assert run.found() == {("DATA_GAP", "stream:charges", 0)}


def test_a_payout_past_due_that_does_not_add_up_stays_open_on_incomplete_data(case: "Case") -> None:
    """What is known to be wrong is said, whatever else is not known."""
    case.as_of = date(2026, 10, 7)
    _in_bank(case, amount=1)
    case.rows["payouts"][0]["amount"] = 49_999
    case.add("gaps", stream="charges", since="2026-10-06T12:00:00Z", until="2026-10-06T13:00:00Z", reason="lost")
    assert case.run().payout("po_1", "status_recon") == ("open",)


def test_a_later_arrival_closes_the_exception_and_shows_days_late(case: "Case") -> None:
    """Three bank days late, and there."""
    case.as_of = date(2026, 10, 9)
    _in_bank(case, booked_on=date(2026, 10, 8))
    run = case.run()
    assert run.found() == set()
    assert run.payout("po_1", "bank_date", "days_late", "status_recon") == ("2026-10-08", 3, "closed")


def test_a_movement_before_the_payout_succeeded_is_not_it(case: "Case") -> None:
    """The window begins with the payout's success."""
    _in_bank(case, booked_on=date(2026, 10, 2))
    assert case.run().payout("po_1", "bank_movement_id") == (None,)


def test_bank_amount_diff_of_the_line_that_names_the_payout(case: "Case") -> None:
    """Whatever its amount, the line that names the payout is its line."""
    _in_bank(case, amount=30_000, text="Abono po_1 proveedor")
    run = case.run()
    assert run.found() == {("BANK_AMOUNT_DIFF", "payout:po_1", 20_000)}
    assert run.payout("po_1", "bank_difference", "status_recon") == (-20_000, "open")


@pytest.mark.parametrize(("amount", "code"), [(45_000, "BANK_AMOUNT_DIFF"), (44_999, None)])
def test_bank_amount_diff_of_the_only_line_within_ten_percent(case: "Case", amount: int, code: str | None) -> None:
    """A line further away says nothing about this payout."""
    _in_bank(case, amount=amount)
    assert {found for found, _, _ in case.run().found()} == ({code} if code else set())


def test_two_lines_within_ten_percent_decide_nothing(case: "Case") -> None:
    """Only a line that is alone can be the payout's."""
    _in_bank(case, amount=49_000)
    case.add(
        "bank", movement_id="mv_2", account_last4="0001", amount=48_000, currency="CLP", booked_on=date(2026, 10, 5)
    )
    assert case.run().payout("po_1", "bank_movement_id") == (None,)


def test_a_payout_to_an_account_nobody_knows_is_not_missing(case: "Case") -> None:
    """A bank that shows some account says nothing of it."""
    case.as_of = date(2026, 10, 30)
    _in_bank(case, amount=1)
    case.rows["payouts"][0]["recipient_last4"] = None
    assert case.run().found() == set()


def test_a_movement_of_another_account_is_not_it(case: "Case") -> None:
    """The recipient's account is compared, and without movements of it no bank is known."""
    case.as_of = date(2026, 10, 30)
    _in_bank(case, account_last4="9999")
    run = case.run()
    assert run.payout("po_1", "bank_movement_id") == (None,)
    assert run.found() == set()
