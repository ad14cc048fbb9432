"""Amounts as people of each country write them."""

import pytest

from reports.shapes.notation import format_amount


@pytest.mark.parametrize(
    ("amount", "currency", "language", "written"),
    [
        (-8_670, "CLP", "es-CL", "-$8.670"),
        (-123_450, "MXN", "es-MX", "-$1,234.50"),
        (-8_670, "CLP", "en", "-$8,670"),
        (8_670, "CLP", "es-CL", "$8.670"),
        (-15_000, "CLF", "es-CL", "-UF 1,5000"),
        (-100, "PEN", "en", "-PEN 1.00"),
    ],
)
def test_the_sign_stands_before_the_mark_of_the_currency(
    amount: int, currency: str, language: str, written: str
) -> None:
    """Everywhere alike: what is owed reads the same in every language."""
    assert format_amount(amount, currency, language, symbol=True) == written
