"""Dates as invoice files write them: the day first, one way for the whole file."""

from datetime import date
from zoneinfo import ZoneInfo

import pytest

from reconcile.books.dates import DateError, to_date
from tests.reconcile.books.invoice_texts import only_document, read_text, reasons_of


@pytest.mark.parametrize(
    "written", ["2026-09-13", "13-09-2026", "13/09/2026", "13.09.2026", "2026/09/13", "20260913", "46278",
                "13/09/2026 10:05:00", "2026-09-13T10:05:00", "13-9-2026"],
)  # fmt: skip
def test_dates_are_read_day_first(written: str) -> None:
    """ISO, the usual local forms, stamps and Excel's serial numbers."""
    assert only_document(f"Tipo DTE;Folio;Fecha;Total\n33;1;{written};10").issue_date == date(2026, 9, 13)


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("09/13/2026", "is no day of the calendar (written dd/mm/yyyy)"),
        ("13/09/26", "has a year of two digits: write four"),
        ("2026-09-13", "is not a date written dd/mm/yyyy as the rest of the file"),
        ("30/02/2026", "is no day of the calendar (written dd/mm/yyyy)"),
        ("", "is empty"),
    ],
)
def test_a_date_unlike_the_rest_of_its_file_is_refused(written: str, reason: str) -> None:
    """One way of writing dates holds for the whole file."""
    rows = "\n".join(f"33;{folio};0{folio}/09/2026;10" for folio in (2, 3, 4))
    reading = read_text(f"Tipo DTE;Folio;Fecha;Total\n33;1;{written};10\n{rows}\n")
    assert reasons_of(reading) == [(2, "Fecha", written, reason)]


@pytest.mark.parametrize(
    ("terms", "due"),
    [
        ("30 días", date(2026, 10, 1)),
        ("Contado", date(2026, 9, 1)),
        ("Crédito 45 dias", date(2026, 10, 16)),
        ("", None),
    ],
)
def test_due_dates_may_be_written_as_terms(terms: str, due: date | None) -> None:
    """Days after issue, or at once."""
    text = f"Efecto;Folio;Fecha;Total;Condiciones\nI;1;2026-09-01;10.00;{terms}\n"
    assert only_document(text, country="mx").due_date == due


@pytest.mark.parametrize("written", ["0000-10-01", "9999-12-31", "0001-01-01", "1899-12-31", "2200-01-01"])
def test_what_programs_write_for_no_date_is_refused(written: str) -> None:
    """No calendar of banks reaches there, and a night that asks it would end."""
    with pytest.raises(
        DateError,
        match=r"^its year is not within 1900 to 2199, so it is no day of trade: leave it empty where there is none$",
    ):
        to_date(written, "yyyy-mm-dd", ZoneInfo("UTC"))


@pytest.mark.parametrize("written", ["9999-12-31", "0000-10-01", "31/12/9999"])
def test_a_file_whose_years_are_all_out_of_range_says_so(written: str) -> None:
    """Its style is known, so that the year is named and not the form."""
    ((_, _, value, reason),) = reasons_of(read_text(f"Tipo;Folio;Fecha;Total\n33;1;{written};10\n"))
    assert value == written
    assert reason == "its year is not within 1900 to 2199, so it is no day of trade: leave it empty where there is none"


@pytest.mark.parametrize("written", ["２０２６-10-05", "٢٠٢٦-10-05", "2026-10-05T25:00", "2026-10-05 10:61"])
def test_digits_of_other_scripts_and_hours_that_are_none_make_no_date(written: str) -> None:
    """A day that is only nearly written is refused, and never guessed."""
    reading = read_text(f"Tipo DTE;Folio;Fecha;Total\n33;1;{written};10\n33;2;2026-10-05;10\n")
    assert [reason for _, column, _, reason in reasons_of(reading) if column == "Fecha"] == [
        "is not a date written yyyy-mm-dd as the rest of the file"
    ]


def test_a_folio_in_digits_of_another_script_is_no_second_document() -> None:
    """Full width and Arabic digits look like the same folio, and would be kept as others."""
    rows = "\n".join(f"33;{folio};2026-10-05;10" for folio in ("345", "３４５", "٣٤٥"))
    reading = read_text(f"Tipo DTE;Folio;Fecha;Total\n{rows}\n")
    assert [(line, value) for line, _, value, _ in reasons_of(reading)] == [(3, "３４５"), (4, "٣٤٥")]
