"""On which days jobs are due: Chilean bank days, and the days of the tax office."""

from datetime import date
from pathlib import Path

import pytest

from consumer.job_table import bank_days_of, fiscal_streams, is_fiscal_day


@pytest.mark.parametrize(
    ("on", "is_due"),
    [
        (date(2026, 9, 17), True),
        (date(2026, 9, 18), False),
        (date(2026, 9, 19), False),
        (date(2026, 12, 31), False),
        (date(2026, 10, 5), True),
    ],
    ids=["a Thursday", "the national day", "a Saturday and holiday", "the banks' last day", "a Monday"],
)
def test_the_banking_cut_is_run_on_chilean_bank_days(tmp_path: Path, on: date, *, is_due: bool) -> None:
    """Weekends, public holidays and the banks' own 31 December have no cut."""
    assert bank_days_of(tmp_path, "cl")(on) is is_due


def test_the_merchant_s_own_days_count_from_when_they_are_written_down(tmp_path: Path) -> None:
    """A day that a new law closes has no cut, without a restart; an unreadable file leaves the library's days."""
    is_due, thursday = bank_days_of(tmp_path, "cl"), date(2026, 10, 15)
    file = tmp_path / "calendars" / "cl.toml"
    file.parent.mkdir()
    assert is_due(thursday)
    file.write_text('[[add]]\non = 2026-10-15\nreason = "Law 21.999"\n', encoding="utf-8")
    assert not is_due(thursday)
    file.write_text("= =", encoding="utf-8")
    assert is_due(thursday)


@pytest.mark.parametrize(
    ("on", "streams"),
    [
        (date(2026, 10, 1), ("tax-invoices",)),
        (date(2026, 10, 9), ("tax-invoices",)),
        (date(2026, 10, 10), ("tax-invoices", "tax-statements")),
        (date(2026, 10, 21), ("tax-invoices", "tax-statements")),
        (date(2026, 10, 22), ("tax-statements",)),
        (date(2026, 10, 28), ("tax-statements",)),
        (date(2026, 10, 29), ()),
        (date(2026, 11, 30), ("tax-invoices", "tax-returns", "tax-statements")),
    ],
)
def test_fiscal_streams_follow_the_tax_office_s_month(on: date, streams: tuple[str, ...]) -> None:
    """The register from day 1 to 21, the F29 from day 10 to 28, and everything on Mondays for rectified forms."""
    assert fiscal_streams(on) == streams
    assert is_fiscal_day(on) is bool(streams)
