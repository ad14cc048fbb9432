"""Days as programs write them: months by name, instants with a zone, and forms that are uncertain."""

from datetime import date

import pytest

from tests.reconcile.books.invoice_texts import GOOD, documents_of, read_text, reasons_of, register_of


def _issued(*written: str) -> list[date]:
    rows = [
        GOOD.replace("13-09-2026", text).replace(";7;", f";{folio};") for folio, text in enumerate(written, start=1)
    ]
    return [document.issue_date for document in documents_of(read_text(register_of(*rows)))]


@pytest.mark.parametrize("written", ["05/Oct/2026", "5-oct-2026", "05 octubre 2026", "05/OCT./2026"])
def test_months_by_name_are_read(written: str) -> None:
    """A name cannot be taken for a day."""
    assert _issued(written) == [date(2026, 10, 5)]


@pytest.mark.parametrize(
    ("name", "month"), [("ene", 1), ("Jan", 1), ("abr", 4), ("ago", 8), ("Aug", 8), ("sept", 9), ("dic", 12)]
)
def test_months_have_spanish_and_english_names(name: str, month: int) -> None:
    """Both stand in exports of the two countries."""
    assert _issued(f"05/{name}/2026") == [date(2026, month, 5)]


def test_an_instant_is_the_day_it_was_in_the_country() -> None:
    """Two in the morning in UTC is the evening before in Chile."""
    assert _issued("2026-09-14T02:00:00.000Z", "2026-09-14T15:00:00Z") == [date(2026, 9, 13), date(2026, 9, 14)]
    assert _issued("2026-09-13 23:09:34 -0300") == [date(2026, 9, 13)]


def test_a_column_of_midnights_is_a_column_of_days() -> None:
    """Programs that know no plain day write midnight in UTC; one true hour makes the column instants."""
    assert _issued("2026-09-13T00:00:00.000Z", "2026-09-14T00:00:00Z") == [date(2026, 9, 13), date(2026, 9, 14)]
    assert _issued("2026-09-13T00:00:00Z", "2026-09-14T15:30:00Z") == [date(2026, 9, 12), date(2026, 9, 14)]


@pytest.mark.parametrize("written", ["09/13/2026", "05102026", "13/09/2026 03:04 p. m.", "ayer"])
def test_a_form_nobody_can_be_sure_of_is_refused(written: str) -> None:
    """The sentence names forms that are known."""
    reason = "is not a date in a form known here: write yyyy-mm-dd, or the day before the month as dd-mm-yyyy"
    (reject,) = reasons_of(read_text(register_of(GOOD.replace("13-09-2026", written))))
    assert reject[1:] == ("Fecha Docto", written, reason)
