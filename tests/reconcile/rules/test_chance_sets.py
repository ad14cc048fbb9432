"""Sets that would likely fit whatever was paid: the only one is no proof then; texts and instalments speak too."""

from typing import TYPE_CHECKING

import numpy as np
import pytest

from reconcile.rules.sets import estimate_chance

if TYPE_CHECKING:
    from tests.reconcile.rules.conftest import Case

ANA = "11111111-1"
NOWHERE = np.array([], dtype=np.int64)
# Ten round amounts: many of their sets lie near any round sum, and just one makes 1,020,000.
ROUND = (210_000, 290_000, 340_000, 430_000, 520_000, 610_000, 640_000, 690_000, 770_000, 880_000)
EXACT = (210_017, 290_031, 340_008, 430_059, 520_044, 610_083, 640_026, 690_071, 770_092, 880_005)


def _invoices(case: "Case", totals: tuple[int, ...]) -> None:
    for folio, total in enumerate(totals, start=1001):
        case.invoice(str(folio), total)


@pytest.mark.parametrize(
    ("amounts", "target", "chance"),
    [
        # {100, 200} alone is near 300, though 31 amounts of a thousand are.
        ([100_000, 200_000, 350_000], 300_000, 0),
        # Three sets lie from 270 to 330: 1,000 × 2 rivals × 10,000 / 60,001 amounts.
        ([100_000, 200_000, 130_000, 151_000], 300_000, 333),
        # The same to the peso: none of the rivals ends as the amount does.
        ([100_003, 200_004, 130_001, 151_001], 300_007, 0),
        # Prices that end in 990: of the sets near 579,980 only the three others of two documents end alike.
        ([49_990, 99_990, 149_990, 219_990, 339_990, 479_990], 579_980, 258),
    ],
)
def test_the_chance_counts_sets_near_the_amount(amounts: list[int], target: int, chance: int) -> None:
    """How many sets are near, by how many amounts of that grain are as near."""
    assert estimate_chance(np.array(amounts), target, 5, NOWHERE) == chance


def test_sets_without_a_named_document_are_no_rivals() -> None:
    """Three sets are near 300; two of them lack the document of 100, which the payment names."""
    amounts = np.array([100_000, 200_000, 130_000, 151_000])
    assert estimate_chance(amounts, 300_000, 5, NOWHERE) == 333
    assert estimate_chance(amounts, 300_000, 5, np.array([0])) == 0


def test_the_only_set_among_many_that_nearly_fit_is_left_to_a_person(case: "Case") -> None:
    """Ten round amounts make nearly every round sum: one exact set is no proof, and is shown."""
    _invoices(case, ROUND)
    case.payment("pi_1", 1_020_000, sender_tax_id=ANA)
    run = case.run()
    assert run.line("pi_1", "outcome", "match_rule") == ("ambiguous", "set:by_chance")
    assert run.found() == {("AMBIGUOUS", "resource:pi_1", 1_020_000)}
    evidence = run.finding("AMBIGUOUS").evidence
    assert evidence["sets"] == [["cl:33::1001", "cl:33::1002", "cl:33::1005"]]
    assert evidence["sets_by_chance"] == "0.8823"


def test_amounts_to_the_peso_prove_a_set(case: "Case") -> None:
    """As many documents of uneven amounts: a sum that is exact is no accident."""
    _invoices(case, EXACT)
    case.payment("pi_1", 1_250_159, sender_tax_id=ANA)
    assert {line[0] for line in case.match().lines("pi_1", "outcome")} == {"set"}


@pytest.mark.parametrize(("bound", "outcome"), [(8_822, "ambiguous"), (8_823, "set")])
def test_the_bound_is_a_rule(case: "Case", bound: int, outcome: str) -> None:
    """The merchant says how likely a chance fit may be; at the bound itself a set is matched."""
    case.rules = {"set_chance_bps": bound}
    _invoices(case, ROUND)
    case.payment("pi_1", 1_020_000, sender_tax_id=ANA)
    assert {line[0] for line in case.match().lines("pi_1", "outcome")} == {outcome}


def test_a_set_the_texts_name_is_no_accident(case: "Case") -> None:
    """Of the sets that hold both documents the payment names there is one near its amount in three."""
    _invoices(case, ROUND)
    case.payment("pi_1", 1_020_000, sender_tax_id=ANA, texts="facturas 1001, 1002 y 1005")
    assert {line[0] for line in case.match().lines("pi_1", "outcome")} == {"set"}


def test_a_set_without_a_document_the_texts_name_is_none(case: "Case") -> None:
    """The payment names an open document of its customer that the only exact set lacks."""
    case.invoice("1001", 100_000)
    case.invoice("1002", 200_000)
    case.invoice("1003", 40_000)
    case.payment("pi_1", 300_000, sender_tax_id=ANA, texts="abono 1003")
    assert case.match().line("pi_1", "outcome", "match_stage") == ("no_document", "none")


def test_instalments_are_no_set(case: "Case") -> None:
    """Who declares instalments pays a part of one document, not several whole ones."""
    case.invoice("1001", 100_000)
    case.invoice("1002", 200_000)
    case.payment("pi_1", 300_000, sender_tax_id=ANA, metadata='{"installments": 3}')
    assert case.match().line("pi_1", "outcome") == ("no_document",)
