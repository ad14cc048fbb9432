"""Whose account a bank line is of, and how far imported files are known."""

from datetime import date
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.reconcile.rules.conftest import Case

KEY = '{"order_ref": "PED-1"}'


def _case(case: "Case", recipient: str | None = "acc_a", **line: object) -> None:
    """One payout of 50,000 that succeeded on Monday 5 October, expected that day, and one line of the bank."""
    case.as_of = date(2026, 10, 30)
    case.invoice("1", 50_000)
    case.payment("pi_1", 50_000, payout_id="po_1", metadata=KEY)
    case.payout("po_1", 50_000, recipient_account=recipient)
    fixed = {
        "movement_id": "mv_1", "account": "acc_a", "account_last4": "0001", "amount": 50_000, "currency": "CLP",
        "booked_on": date(2026, 10, 5),
    }  # fmt: skip
    case.add("bank", **(fixed | line))


@pytest.mark.parametrize(
    ("payout", "line", "movement"),
    [("acc_a", "acc_a", "mv_1"), ("acc_a", "acc_b", None), ("acc_a", None, "mv_1"), (None, "acc_a", "mv_1")],
)
def test_whole_numbers_decide_before_last_digits(
    case: "Case", payout: str | None, line: str | None, movement: str | None
) -> None:
    """Two accounts that end alike are two; where one number is not known whole its end must do."""
    _case(case, payout, account=line)
    assert case.run().payout("po_1", "bank_movement_id") == (movement,)


def test_last_digits_that_two_accounts_share_name_neither(case: "Case") -> None:
    """A payout whose account is not known whole is not given to one of two; nothing is called missing either."""
    _case(case, None)
    case.add(
        "bank", movement_id="mv_2", account="acc_b", account_last4="0001", amount=7, currency="CLP",
        booked_on=date(2026, 10, 5),
    )  # fmt: skip
    run = case.run()
    assert run.payout("po_1", "bank_movement_id", "status_recon") == (None, "no_bank")
    assert run.found() == set()


@pytest.mark.parametrize(
    ("since", "until", "found"),
    [
        (date(2026, 10, 5), date(2026, 10, 7), {("PAYOUT_NOT_IN_BANK", "payout:po_1", 50_000)}),
        (date(2026, 10, 6), date(2026, 10, 30), set()),
        (date(2026, 10, 1), date(2026, 10, 6), set()),
    ],
)
def test_only_files_that_cover_the_whole_window_can_miss_a_payout(
    case: "Case", since: date, until: date, found: set[tuple[str, str, int]]
) -> None:
    """From the day it succeeded to two bank days after it was expected; else the bank is not known."""
    _case(case, amount=7, known_since=since, known_until=until)
    assert case.run().found() == found


def test_a_file_that_ends_early_still_shows_what_arrived(case: "Case") -> None:
    """What is there is there."""
    _case(case, known_since=date(2026, 10, 5), known_until=date(2026, 10, 5))
    assert case.run().payout("po_1", "bank_date", "bank_difference", "status_recon") == ("2026-10-05", 0, "closed")


def test_money_that_went_out_is_no_arrival(case: "Case") -> None:
    """A charge that names the payout did not bring it."""
    _case(case, amount=-50_000, text="po_1")
    assert case.run().payout("po_1", "bank_movement_id") == (None,)
