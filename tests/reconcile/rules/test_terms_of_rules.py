"""The merchant's numbers: tariff and rules are read strictly, and each one counts."""

from typing import TYPE_CHECKING

import pytest

from reconcile.rules.terms import RulesError, TariffError, to_rules, to_tariff

if TYPE_CHECKING:
    from tests.reconcile.rules.conftest import Case


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ({"bank_transfer": {"bps": 135}}, "vat_bps is missing"),
        ({"vat_bps": 1900, "bank_transfer": {"percent": 1}}, "bank_transfer must be written"),
        ({"vat_bps": 1900, "bank_transfer": {"bps": 1.35}}, "bank_transfer.bps must be a whole number"),
        ({"vat_bps": 1900, "pac": {"flat": "much"}}, "pac.flat is not a number"),
        ({"vat_bps": -1}, "vat_bps must be zero or more"),
    ],
)
def test_a_tariff_that_cannot_be_used_says_which_key(raw: dict[str, object], message: str) -> None:
    """A bad value is refused with one line that names it."""
    with pytest.raises(TariffError, match=message):
        to_tariff(raw)


def test_no_tariff_is_no_tariff() -> None:
    """An absent table is no empty tariff."""
    assert to_tariff({}) is None


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ({"fee_band": 5}, "fee_band is not a rule"),
        ({"set_pool": "25"}, "set_pool must be a whole number"),
        ({"payer_error_bps": 0}, "payer_error_bps must be between 1 and 9999 hundredths of a percent, not 0"),
        ({"set_chance_bps": -1}, "set_chance_bps must be a whole number of zero or more, not -1"),
        ({"due_days": 36_501}, "due_days must be at most 36500 days, not 36501"),
        ({"days_to_bank": 10**30}, "days_to_bank must be at most 36500 days"),
        ({"set_size": 12, "set_pool": 30}, "set_size 12 of set_pool 30 documents are more than 1000000 sets"),
        ({"set_pool": 10**30}, "lower one of them"),
        ({"payout_schedule": "noon"}, "payout_schedule must be one of 14:00, 00:00"),
        ({"generic_tax_ids": "1-9"}, "generic_tax_ids must be a list"),
    ],
)
def test_a_rule_that_cannot_be_used_says_which_key(raw: dict[str, object], message: str) -> None:
    """Unknown rules and bad values are refused with one line."""
    with pytest.raises(RulesError, match=message):
        to_rules(raw)


@pytest.mark.parametrize(
    "raw",
    [
        {"due_days": 36_500},
        {"due_days": 0},
        {"set_chance_bps": 0},
        {"set_size": 5, "set_pool": 41},  # 749,398 sets of five; of six there were 4,496,388
        {"set_size": 1, "set_pool": 1_000_000},
    ],
)
def test_a_rule_at_its_bound_is_taken(raw: dict[str, int]) -> None:
    """The largest and the smallest value that may stand there are read as they are."""
    rules = to_rules(raw)
    assert {name: getattr(rules, name) for name in raw} == raw


@pytest.mark.parametrize("raw", [{"set_size": 5, "set_pool": 44}, {"set_size": 2, "set_pool": 1_415}])
def test_a_million_sets_are_the_most(raw: dict[str, int]) -> None:
    """1,086,008 sets of five documents of 44, and 1,000,405 pairs of 1,415, are too many."""
    with pytest.raises(RulesError, match="are more than 1000000 sets"):
        to_rules(raw)


def test_every_number_is_a_setting(case: "Case") -> None:
    """A wider band lets a higher rate pass."""
    case.rules = {"fee_band_bps": 700}
    case.invoice("1", 100_000)
    case.payment("pi_1", 100_000, payout_id="po_1", metadata='{"order_ref": "PED-1"}')
    case.payout("po_1", 94_000)
    assert case.run().found() == set()
