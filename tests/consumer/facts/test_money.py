"""Money: digits by currency, and text that cannot be read is refused."""

import pytest

from consumer.facts.money import MoneyError, format_decimal, to_minor


@pytest.mark.parametrize(
    ("amount", "currency", "text"),
    [
        (1500, "CLP", "1500"),
        (1500, "MXN", "15.00"),
        (5, "MXN", "0.05"),
        (-5, "MXN", "-0.05"),
        (140, "CLF", "0.0140"),
        (-1500, "clp", "-1500"),
        (0, "MXN", "0.00"),
        (1500, "UYU", "15.00"),
        (1500, "PYG", "1500"),
        (1500, "KWD", "1.500"),
    ],
)
def test_amounts_print_in_major_units(amount: int, currency: str, text: str) -> None:
    """Each currency prints its own number of decimals."""
    assert format_decimal(amount, currency) == text


@pytest.mark.parametrize(
    ("text", "currency", "amount"),
    [("1500", "CLP", 1500), ("1500.00", "CLP", 1500), ("15.1", "MXN", 1510), ("-0.05", "MXN", -5)],
)
def test_decimal_text_becomes_minor_units(text: str, currency: str, amount: int) -> None:
    """A fraction finer than the currency is accepted only when it is zero."""
    assert to_minor(text, currency) == amount


@pytest.mark.parametrize(
    ("text", "currency"),
    [("1.5", "CLP"), ("15.001", "MXN"), ("1,5", "MXN"), ("", "MXN"), ("1e3", "MXN"), ("NaN", "MXN"), ("1", "XXX")],
)
def test_text_that_needs_a_guess_is_refused(text: str, currency: str) -> None:
    """Nothing is invented: an unreadable amount or an unknown currency raises."""
    with pytest.raises(MoneyError):
        to_minor(text, currency)


def test_an_amount_that_no_column_holds_is_refused() -> None:
    """The largest one is read; one unit more, or digits of another script, are not."""
    assert to_minor("9223372036854775807", "CLP") == 9223372036854775807
    with pytest.raises(MoneyError, match="'9223372036854775808' is larger than any amount"):
        to_minor("9223372036854775808", "CLP")
    with pytest.raises(MoneyError, match="is larger than any amount"):
        to_minor("-92233720368547758.09", "MXN")
    with pytest.raises(MoneyError, match="is not a plain decimal number"):
        to_minor("１００", "CLP")
