"""Tax ids: the provider's forms and people's forms lead to one canonical text."""

import pytest

from consumer.facts.taxids import (
    GENERIC_RFCS,
    GENERIC_RUTS,
    TaxIdError,
    mask_account,
    mask_accounts,
    to_rfc,
    to_rut,
    to_tax_id,
)


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


@pytest.mark.parametrize("text", ["76192083-8", "", "K", "abc", "1" * 5_000])
def test_a_wrong_rut_is_refused(text: str) -> None:
    """A wrong check digit or no number raises."""
    with pytest.raises(TaxIdError):
        to_rut(text)


def test_an_rfc_is_upper_case_and_generic_ones_identify_nobody() -> None:
    """The public's RFC is accepted and known to name no single person."""
    assert to_rfc("xaxx 010101-000") == "XAXX010101000"
    assert to_tax_id("xaxx010101000", "mx") in GENERIC_RFCS
    assert to_tax_id("66.666.666-6", "cl") in GENERIC_RUTS
    assert to_tax_id("GODE561231GR8", "mx") not in GENERIC_RFCS


def test_an_account_number_shows_its_last_four() -> None:
    """People see enough to recognise an account and not enough to use it."""
    assert mask_account("646180157000000004") == "****0004"


def test_account_numbers_are_masked_wherever_a_body_holds_them() -> None:
    """Under every name they bear, in any depth; ids, tax ids, amounts and numbers of documents stay."""
    body = {
        "id": "evt_1",
        "data": {
            "object": "transfer",
            "amount": 20668,
            "counterparty": {"holder_id": "778868393", "account_number": "84112160839"},
            "account_number": {"object": "account_number", "id": "acno_1", "number": "000071402296"},
            "sender_account": {"holder_id": "182076023", "number": "42938751051"},
            "recipients": [{"recipient_account": {"number": "990013377"}}],
            "invoice": {"object": "invoice", "number": "A-00018"},
            "account_number_last4": "2296",
        },
    }
    assert mask_accounts(body) == {
        "id": "evt_1",
        "data": {
            "object": "transfer",
            "amount": 20668,
            "counterparty": {"holder_id": "778868393", "account_number": "****0839"},
            "account_number": {"object": "account_number", "id": "acno_1", "number": "****2296"},
            "sender_account": {"holder_id": "182076023", "number": "****1051"},
            "recipients": [{"recipient_account": {"number": "****3377"}}],
            "invoice": {"object": "invoice", "number": "A-00018"},
            "account_number_last4": "2296",
        },
    }
    assert mask_accounts("84112160839") == "84112160839"
    assert mask_accounts([1, None]) == [1, None]
