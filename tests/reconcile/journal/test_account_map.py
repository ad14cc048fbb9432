"""The account map: which account a key has, and what is refused by name."""

import pytest

from reconcile.journal.accounts import AccountsError, read_accounts
from reconcile.journal.postings import KEYS, KINDS

NAMES = ("main", "mexico")
LAYERED = """
chart = "cl"
[provider]
tax_id = "76.543.210-3"
[rounding]
CLP = "12"
[accounts]
customers = "1.10"
fee_expense = { code = "4.10", name = "Comisiones", cost_centre = "ADM" }
[means.credit_card]
customers = "1.11"
[connections.mexico]
chart = "mx"
[connections.mexico.accounts]
bank = "102.09"
"""


def test_the_nearest_account_holds() -> None:
    """An account of a means of payment comes before the general one, a merchant's own before the chart's."""
    found = read_accounts(LAYERED, "main", "cl", NAMES)
    asked = [("customers", "credit_card"), ("customers", "bank_transfer"), ("fee_expense", ""), ("clearing", "")]
    assert [str(getattr(found.find(*one), "code", None)) for one in asked] == ["1.11", "1.10", "4.10", "1.1.03.10"]
    expense = found.find("fee_expense")
    assert expense is not None
    assert (expense.name, expense.cost_centre) == ("Comisiones", "ADM")
    assert (found.rounding_limit("CLP"), found.provider_tax_id) == (12, "76543210-3")


def test_a_connection_has_accounts_of_its_own() -> None:
    """Another connection begins with its own tables and chart."""
    text = LAYERED.replace('[provider]\ntax_id = "76.543.210-3"\n', "")
    found = read_accounts(text, "mexico", "mx", NAMES)
    assert [str(getattr(found.find(key), "code", None)) for key in ("bank", "clearing", "vat_pending_mx")] == [
        "102.09",
        "107.05.01",
        "209.01.01",
    ]


@pytest.mark.parametrize("country", ["cl", "mx"])
def test_a_chart_has_every_account_of_its_country(country: str) -> None:
    """A merchant may begin with the one line that names the chart."""
    found = read_accounts(f'chart = "{country}"', "main", country, NAMES)
    wanted = {key for key in KEYS if country == "mx" or not key.endswith("_mx")}
    assert {account.key for _, account in found.all_accounts()} == wanted


def test_every_kind_posts_to_keys_of_the_map() -> None:
    """The table of postings names no account that a merchant could not give."""
    assert {key for sides in KINDS.values() for key in sides} <= KEYS.keys()
    assert all(sides.debit != sides.credit for sides in KINDS.values())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[accounts]\nclearings = "1"', "clearings is no account of the journal; known are clearing, in_transit"),
        ('[accounts]\nclearing = " "', "the account of clearing is empty"),
        ('[accounts]\nbank = { code = "1\\n" }', "the account of bank is empty or holds a character"),
        ("[accounts]\nbank = 5", "accounts.toml: accounts.bank is a number, which loses zeros: put it in quotes"),
        ("[means.credit_card]\ncustomers = { code = 1.10 }", "means.credit_card.customers.code is a number"),
        ('[acounts]\nbank = "5"', "unknown field `acounts`"),
        ('[accounts]\nbank = { code = "5", nome = "x" }', "unknown field `nome`"),
        ('[means.credit_card]\nbank = "5"', "bank cannot differ by means of payment (means.credit_card)"),
        ('chart = "ar"', "Invalid enum value 'ar'"),
        ("chart = ", "accounts.toml cannot be read"),
        ('[connections.north]\nchart = "cl"', "names connection north; there are main, mexico"),
        ('[rounding]\nCLP = "1.5"', "the rounding limit 1.5 of CLP"),
        ('[rounding]\nCLP = "-1"', "the rounding limit -1 of CLP"),
        ('[provider]\ntax_id = "76.543.210-4"', "the provider's tax_id is not a tax id of the country"),
        ('chart = "cl"\n[accounts]\nclearing = "1.1.04.10"', "1.1.04.10 is the account of clearing and of customers"),
        ('chart = "cl"\n[accounts]\nclearing = "1.1.04.10 "', "1.1.04.10 is the account of clearing and of customers"),
    ],
)
def test_what_is_wrong_is_said(text: str, words: str) -> None:
    """One sentence names the key and what is wrong with it."""
    with pytest.raises(AccountsError) as refused:
        read_accounts(text, "main", "cl", NAMES)
    assert words in str(refused.value)
