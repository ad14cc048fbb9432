"""Documents in units of account: never matched across, but shown at the rate of the payment's own day."""

from datetime import date
from typing import TYPE_CHECKING

import pytest

from reconcile.rules.verdicts import convert

if TYPE_CHECKING:
    from tests.reconcile.rules.conftest import Case


def _case(case: "Case", *days: tuple[date, str]) -> None:
    case.invoice("1", 12_345, currency="CLF")
    case.payment("pi_1", 48_298, metadata='{"order_ref": "PED-1"}')
    for on, value in days:
        case.add("rates", currency="CLF", on=on, value=value)


def test_the_days_rate_is_shown_and_matches_nothing(case: "Case") -> None:
    """1.2345 UF at 39,123.45 are 48,297.9 pesos: rounded half up they are the payment."""
    _case(case, (date(2026, 10, 5), "39123.45"), (date(2026, 10, 6), "39130"))
    run = case.run()
    assert run.line("pi_1", "outcome") == ("no_document",)
    assert run.found() == {("CURRENCY_DIFF", "resource:pi_1", 48_298)}
    evidence = run.finding("CURRENCY_DIFF").evidence
    assert {name: evidence[name] for name in ("rate", "rate_on", "document_at_that_rate", "difference")} == {
        "rate": "39123.45", "rate_on": "2026-10-05", "document_at_that_rate": 48_298, "difference": 0,
    }  # fmt: skip


def test_another_days_rate_is_never_taken(case: "Case") -> None:
    """Where rates are kept, the day without one is said, once for all its payments."""
    _case(case, (date(2026, 10, 2), "39100.01"))
    case.invoice("2", 5_000, currency="CLF")
    case.payment("pi_2", 19_000, metadata='{"order_ref": "PED-2"}')
    run = case.run()
    assert run.found() == {
        ("CURRENCY_DIFF", "resource:pi_1", 48_298),
        ("CURRENCY_DIFF", "resource:pi_2", 19_000),
        ("RATE_MISSING", "rate:CLF:2026-10-05", 0),
    }
    missing = run.finding("RATE_MISSING")
    assert (missing.severity, missing.evidence["payments"]) == ("info", ["pi_1", "pi_2"])


def test_who_keeps_no_rates_is_asked_for_none(case: "Case") -> None:
    """The currency difference says it all."""
    _case(case)
    assert case.run().found() == {("CURRENCY_DIFF", "resource:pi_1", 48_298)}


@pytest.mark.parametrize(
    ("amount", "rate", "pesos"),
    [
        (10_000, "39123.45", 39_123),
        (10_000, "39123.5", 39_124),
        (1, "4999", 0),
        (1, "5000", 1),
        (10_000, "4E+4", 40_000),
    ],
)
def test_units_become_pesos_half_up(amount: int, rate: str, pesos: int) -> None:
    """Whole numbers all the way."""
    assert convert(amount, "CLF", rate, "CLP") == pesos
