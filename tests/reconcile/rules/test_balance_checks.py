"""The checks that stop a run whose books do not balance, and the exactness of small solvers."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from reconcile.rules.payouts import place_items
from reconcile.rules.pipeline import UnbalancedError, check_result, match_payments
from reconcile.rules.references import choose_pairs, group_components, keep_forced_pairs
from reconcile.rules.sets import find_sets

if TYPE_CHECKING:
    from tests.reconcile.rules.conftest import Case

KEY = '{"order_ref": "PED-1"}'


def _checked(case: "Case", **spoiled: Any) -> None:
    """Check the true result of a small case, with some of its frames spoiled."""
    case.invoice("1", 50_000)
    case.payment("pi_1", 50_000, payout_id="po_1", metadata=KEY)
    case.payment("pi_2", 20_000)
    case.payout("po_1", 49_000)
    inputs = case.inputs()
    rows, result = place_items(inputs), case.run().result
    ledger = match_payments(rows, inputs)
    frames = {name: change(getattr(result, name).copy()) for name, change in spoiled.items()}
    check_result(rows, ledger, ledger.applications(), replace(result, **frames))


def _set(column: str, value: Any) -> Any:
    def change(frame: Any) -> Any:
        frame.loc[0, column] = value
        return frame

    return change


def test_a_true_result_passes(case: "Case") -> None:
    """What balances is published."""
    _checked(case)


@pytest.mark.parametrize(
    ("frame", "change", "message"),
    [
        ("lines", lambda lines: lines.iloc[1:], "2 items went in and 1 came out"),
        ("lines", _set("resource_id", "pi_2"), "items have no line"),
        ("lines", _set("payout_id", "po_2"), "1 items have no line"),
        ("lines", _set("resource_type", "charge"), "1 items have no line"),
        ("lines", _set("outcome", "unexplained"), "an item was left unexplained"),
        ("lines", _set("amount_signed", 49_999), "CLP: 70000 in, 69999 out"),
        ("payouts", _set("computed_amount", 1), "payout po_1 is not the sum of its lines"),
        ("payouts", _set("difference", 1), "payout po_1 has a wrong difference"),
        ("documents", _set("paid", 1), "paid amount is not the sum"),
    ],
)
def test_a_result_that_does_not_balance_is_stopped(case: "Case", frame: str, change: Any, message: str) -> None:
    """Every spoiled figure is found, and the message says which."""
    with pytest.raises(UnbalancedError, match=message):
        _checked(case, **{frame: change})


def test_as_many_pairs_as_possible_are_chosen() -> None:
    """The greedy first pair would leave one without."""
    assert choose_pairs([(1, 7), (1, 8), (2, 7)]) == [(1, 8), (2, 7)]


def test_only_pairs_of_every_best_assignment_are_forced() -> None:
    """A pair that an equally good assignment can do without is not certain."""
    assert keep_forced_pairs([(1, 7), (1, 8), (2, 7)]) == [(1, 8), (2, 7)]
    assert keep_forced_pairs([(1, 7), (1, 8), (2, 7), (2, 8)]) == []
    assert keep_forced_pairs([(1, 7), (2, 7)]) == []


def test_components_hang_together() -> None:
    """Edges that share an end, also indirectly, are one component."""
    assert group_components([(5, 1), (2, 9), (2, 8), (3, 8)]) == [[(2, 8), (2, 9), (3, 8)], [(5, 1)]]
    assert group_components([]) == []


def test_all_sets_of_two_to_five_are_found() -> None:
    """The search is complete, so that one set is proved the only one; a single amount is no set."""
    amounts = np.array([10, 20, 30, 40, 50], dtype=np.int64)
    assert find_sets(amounts, 50, 5) == [(0, 3), (1, 2)]
    assert find_sets(amounts, 150, 5) == [(0, 1, 2, 3, 4)]
    assert find_sets(amounts, 150, 4) == []
    assert find_sets(amounts, 10, 5) == []
