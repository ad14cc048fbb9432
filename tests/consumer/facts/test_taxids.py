"""Tax ids: the provider's forms and people's forms lead to one canonical text."""

import pytest

from consumer.facts.taxids import GENERIC_RFCS, GENERIC_RUTS, TaxIdError, mask_account, to_rfc, to_rut, to_tax_id


@pytest.mark.parametrize(
    ("text", "rut"),
    [
        ("76.192.083-9", "76192083-9"),
        ("761920839", "76192083-9"),
        ("0076192083-9", "76192083-9"),
        ("76 192 083–9", "76192083-9"),
        ("1-9", "1-9"),
        ("6-k", "6-K"),
    ],
)
def test_every_form_of_a_rut_is_one(text: str, rut: str) -> None:
    """Dots, spaces, leading zeros and a small k do not make another person."""
    assert to_rut(text) == rut


@pytest.mark.parametrize("text", ["76192083-8", "", "K", "abc"])
def test_a_wrong_rut_is_refused(text: str) -> None:
    """A wrong check digit or no number raises."""
    with pytest.raises(TaxIdError):
        to_rut(text)


def test_an_rfc_is_upper_case_and_generic_ones_identify_nobody() -> None:
    """The public's RFC is accepted and known to be nobody in particular."""
    assert to_rfc("xaxx 010101-000") == "XAXX010101000"
    assert to_tax_id("xaxx010101000", "mx") in GENERIC_RFCS
    assert to_tax_id("66.666.666-6", "cl") in GENERIC_RUTS
    assert to_tax_id("GODE561231GR8", "mx") not in GENERIC_RFCS


def test_an_account_number_shows_its_last_four() -> None:
    """People see enough to recognise an account and not enough to use it."""
    assert mask_account("646180157000000004") == "****0004"
