"""Fees of the imitated provider, to the peso."""

import pytest

from sandbox.scenarios.fees import CHILE_TARIFF, divide_half_up, fee_of


@pytest.mark.parametrize(
    ("subtype", "amount", "expected"),
    [
        ("bank_transfer", 1_000, (16, 3)),
        ("bank_transfer", 119_000, (1_912, 305)),
        ("refund", 45_000, (612, 98)),
        ("credit_card", 19_990, (595, 95)),
        ("pac", 10_000, (298, 48)),
    ],
)
def test_fee_and_vat_of_one_resource(subtype: str, amount: int, expected: tuple[int, int]) -> None:
    """Fee with VAT is rounded once, half up; VAT is what the rounded figure leaves above its net."""
    assert fee_of(CHILE_TARIFF, subtype, amount) == expected


def test_a_half_goes_up() -> None:
    """Also where rounding to even would go down."""
    assert (divide_half_up(285, 10), divide_half_up(265, 10), divide_half_up(264, 10)) == (29, 27, 26)
