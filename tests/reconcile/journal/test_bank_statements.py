"""The bank account of the journal ends where its statements end, and an arrival that is no line of them shows."""

from datetime import date, timedelta

import pytest

from reconcile.journal.bank import BankBook, BankRecord
from reconcile.journal.profiles import Of
from reconcile.reading.bank_accounts import BankAccount, Statement
from tests.reconcile.journal.histories import History, Ledger, Paid, Sale

FIRST, LAST = date(2026, 10, 1), date(2026, 10, 31)
FIFTH, SIXTH, SEVENTH = date(2026, 10, 5), date(2026, 10, 6), date(2026, 10, 7)
LINES = {"bl_1": (SEVENTH, 119_000), "bl_2": (SIXTH, -40_000), "bl_3": (SEVENTH, 500)}
OCTOBER = Statement(FIRST, LAST, "CLP", 1_000_000, 1_079_500)


def follow(account: BankAccount | None, paid: Paid, *, since: date = FIRST, until: date = LAST) -> list[BankRecord]:
    """Export one sale and its payout, and give what is written of the bank account."""
    history = History((Sale("pi_1", FIFTH, 119_000, "po_1", "cl:33::7"),), (paid,))
    book, found = BankBook(account, since, until), []
    for entry in Ledger().export(history, until, since):
        found += list(book.end_days(entry.on - timedelta(days=1)))
        book.add(entry)
    return [*found, *book.end_days(until)]


def test_other_lines_are_movements_and_the_end_is_the_statement() -> None:
    """Opening, what is no payout by day, and the closing balance; the arrival itself is the journal's."""
    assert follow(BankAccount((OCTOBER,), LINES), Paid("po_1", SIXTH, bank_on=SEVENTH)) == [
        BankRecord(Of.OPENING, date(2026, 9, 30), "CLP", 1_000_000),
        BankRecord(Of.OTHER, SIXTH, "CLP", -40_000),
        BankRecord(Of.OTHER, SEVENTH, "CLP", 500),
        BankRecord(Of.BALANCE, LAST, "CLP", 1_079_500),
    ]


def test_an_arrival_that_is_no_line_is_not_made_up_for() -> None:
    """The statement has no such deposit: its other lines are written as they are, and the balance does not tie."""
    found = follow(BankAccount((OCTOBER,), LINES), Paid("po_1", SIXTH, bank_on=SEVENTH, bank_short=-7))
    others = sum(record.amount for record in found if record.of is Of.OTHER)
    assert 1_000_000 + others + 119_007 == 1_198_507
    assert found[-1] == BankRecord(Of.BALANCE, LAST, "CLP", 1_079_500)


def test_an_arrival_booked_a_day_after_its_line_is_one_deposit() -> None:
    """The day after the cut is the bank's day: the line moves on its own day and goes back on the arrival's."""
    lines = {"bl_1": (SIXTH, 119_000)}
    account = BankAccount((OCTOBER._replace(closing=1_119_000),), lines)
    assert follow(account, Paid("po_1", FIFTH, bank_on=SEVENTH))[1:] == [
        BankRecord(Of.OTHER, SIXTH, "CLP", 119_000),
        BankRecord(Of.OTHER, SEVENTH, "CLP", -119_000),
        BankRecord(Of.BALANCE, LAST, "CLP", 1_119_000),
    ]


def test_an_export_that_begins_inside_a_statement() -> None:
    """It opens with what the statement's lines come to by then, and one that ends before it states no balance."""
    account = BankAccount((OCTOBER,), LINES)
    paid = Paid("po_1", SIXTH, bank_on=SEVENTH)
    assert follow(account, paid, since=SEVENTH)[0] == BankRecord(Of.OPENING, SIXTH, "CLP", 960_000)
    assert {record.of for record in follow(account, paid, until=SEVENTH)} == {Of.OPENING, Of.OTHER}


def test_statements_that_follow_each_other_open_once() -> None:
    """The second begins with what the first closed with; after a gap the account opens again with the difference."""
    first = Statement(FIRST, SEVENTH, "CLP", 1_000_000, 1_079_500)
    next_one = Statement(date(2026, 10, 8), LAST, "CLP", 1_079_500, 1_079_500)
    paid = Paid("po_1", SIXTH, bank_on=SEVENTH)
    openings = [one for one in follow(BankAccount((first, next_one), LINES), paid) if one.of is Of.OPENING]
    assert [one.amount for one in openings] == [1_000_000]
    later = next_one._replace(since=date(2026, 10, 20), opening=1_000_000, closing=1_000_000)
    after_gap = follow(BankAccount((first, later), LINES), paid)
    assert BankRecord(Of.OPENING, date(2026, 10, 19), "CLP", -79_500) in after_gap


@pytest.mark.parametrize("account", [None, BankAccount((), LINES)])
def test_without_statements_the_bank_account_has_no_balance(account: BankAccount | None) -> None:
    """The journal then has the payouts that arrived, and nothing is claimed of the rest."""
    assert follow(account, Paid("po_1", SIXTH, bank_on=SEVENTH)) == []
