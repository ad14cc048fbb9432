"""What keeps the statements of one bank file out, each by itself and one unit from what is right."""

from datetime import date

import pytest

from reconcile.books.bank_files import read_bank_file
from reconcile.books.bank_statements import Balance, BankRow, Statement, check_statements

ACCOUNT = "00012345678"
OCT_5, OCT_6 = date(2026, 10, 5), date(2026, 10, 6)


def _statement(on: date, amount: int, opening: int, closing: int, *, currency: str = "CLP") -> Statement:
    line = BankRow(1, on, amount, "ABONO")
    return Statement(ACCOUNT, currency, (line,), Balance(opening, on), Balance(closing, on))


def _told(*statements: Statement) -> list[tuple[str, str]]:
    return [(reject.column, str(reject.reason)) for reject in check_statements(statements, ACCOUNT)]


def test_statements_of_two_currencies_are_no_file_of_one_account() -> None:
    """Each adds up by itself; together they would be added up as one money."""
    pesos = _statement(OCT_5, 100, 0, 100)
    dollars = _statement(OCT_6, 100, 0, 100, currency="USD")
    assert _told(pesos, dollars) == [("currency", "the file mixes CLP, USD: an account has one currency")]
    assert _told(pesos, _statement(OCT_6, 100, 100, 200)) == []


@pytest.mark.parametrize("closing", [199, 201])
def test_a_statement_may_not_be_one_unit_off(closing: int) -> None:
    """The balances and the lines agree exactly, or a line is missing."""
    reason = f"it opens with 100, its 1 lines add up to 100, and it closes with {closing}"
    assert _told(_statement(OCT_5, 100, 100, closing)) == [
        ("closing", f"{reason}: lines are missing or were changed"),
    ]


@pytest.mark.parametrize("opening", [99, 101])
def test_a_statement_begins_to_the_unit_where_the_last_one_ended(opening: int) -> None:
    """Else there is one between them, which is missing."""
    reason = f"a statement closes with 100 and the next one opens with {opening}: one between is missing"
    assert _told(_statement(OCT_5, 100, 0, 100), _statement(OCT_6, 5, opening, opening + 5)) == [("opening", reason)]


@pytest.mark.parametrize(("total", "is_kept"), [("1", True), ("2", False)])
def test_a_single_peso_counts_in_the_total_of_a_sheet(total: str, *, is_kept: bool) -> None:
    """The smallest deposit is one of the lines that a total is held against."""
    text = f"Fecha;Detalle;Cargo;Abono\n05/10/2026;ABONO;;1\nTotales;;0;{total}\n"
    assert (read_bank_file(text.encode(), country="cl", mapping={}).rejects == ()) is is_kept


@pytest.mark.parametrize("on", [date(1, 1, 1), date(1899, 12, 31), date(2200, 1, 1), date(9999, 12, 31)])
def test_days_that_stand_for_no_date_are_refused(on: date) -> None:
    """A line or a balance of such a year would end every later run; its neighbours of the calendar are fine."""
    reason = "its year is not within 1900 to 2199, so it is no day of trade: leave it empty where there is none"
    assert _told(_statement(on, 100, 0, 100)) == [("booked_on", reason)] * 3
    assert _told(_statement(date(1900, 1, 1), 100, 0, 100)) == _told(_statement(date(2199, 12, 31), 100, 0, 100)) == []
