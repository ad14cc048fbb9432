"""What a wider tolerance or window, mirrored sides and mixed signs do at their edges."""

from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from reconcile.rules.references import keep_forced_pairs
from reconcile.rules.sets import find_sets

if TYPE_CHECKING:
    from tests.reconcile.rules.conftest import Case


@pytest.mark.parametrize(
    ("rules", "outcome"),
    [({}, "partial"), ({"amount_tolerance": 100}, "matched_with_difference")],
)
def test_a_tolerance_a_hundred_times_wider_is_seen(case: "Case", rules: dict[str, Any], outcome: str) -> None:
    """A rule that is off turns an expected row red."""
    case.rules = rules
    case.invoice("1", 50_000)
    case.payment("pi_1", 49_950, metadata='{"order_ref": "PED-1"}')
    assert case.match().line("pi_1", "outcome") == (outcome,)


@pytest.mark.parametrize(("rules", "outcome"), [({}, "no_document"), ({"days_after_due": 100}, "matched")])
def test_a_window_ten_times_wider_is_seen(case: "Case", rules: dict[str, Any], outcome: str) -> None:
    """A payment weeks after the window is matched only when the rule is off."""
    case.rules, case.as_of = rules, date(2026, 12, 1)
    case.invoice("1", 50_000)
    case.payment("pi_1", 50_000, sender_tax_id="11111111-1", occurred_at="2026-11-30T15:00:00Z")
    assert case.match().line("pi_1", "outcome") == (outcome,)


@pytest.mark.parametrize(
    "edges", [[(1, 1), (1, 2), (2, 1)], [(1, 1), (2, 2)], [(1, 1), (1, 2), (2, 1), (2, 2), (3, 3)]]
)
def test_sides_swapped_give_the_mirrored_pairs(edges: list[tuple[int, int]]) -> None:
    """The assignment knows no left and right: what is forced one way is forced the other."""
    mirrored = [(right, left) for left, right in edges]
    assert sorted((left, right) for right, left in keep_forced_pairs(mirrored)) == sorted(keep_forced_pairs(edges))


@pytest.mark.parametrize(("narrow", "wide"), [(0, 3), (3, 10), (10, 40)])
def test_a_wider_window_never_loses_a_candidate(case: "Case", narrow: int, wide: int) -> None:
    """Whatever was a rival, a suggestion or a match in a narrow window is still one of them in a wider one."""
    case.as_of = date(2026, 12, 20)
    for folio, due in (("1", date(2026, 10, 20)), ("2", date(2026, 10, 30)), ("3", date(2026, 11, 9))):
        case.invoice(folio, 50_000, due_date=due, issue_date=date(2026, 10, 1))
    case.payment("pi_1", 50_000, sender_tax_id="11111111-1", occurred_at="2026-11-11T15:00:00Z")
    case.payment("pi_2", 50_000, sender_tax_id="11111111-1", occurred_at="2026-11-12T15:00:00Z")
    found = [_candidates(case, {"days_after_due": days}) for days in (narrow, wide)]
    assert found[0] <= found[1]


# What a window of so many bank days before the issue holds of invoices issued 1, 3, 9 and 30 bank days after a payment.
_BEFORE_ISSUE = [(0, []), (1, ["1"]), (3, ["1", "2"]), (10, ["1", "2", "3"]), (40, ["1", "2", "3", "4"])]


@pytest.mark.parametrize(("days", "folios"), _BEFORE_ISSUE)
def test_a_wider_window_before_the_issue_never_loses_a_candidate(case: "Case", days: int, folios: list[str]) -> None:
    """Each day more adds documents to those payments before their invoices could mean, and takes none away."""
    _invoices_later(case)
    for number in range(4):
        case.payment(f"pi_{number}", 50_000, sender_tax_id="11111111-1")
    assert _candidates(case, {"days_before_issue": days}) == {f"cl:33::{folio}" for folio in folios}


@pytest.mark.parametrize(("days", "folios"), _BEFORE_ISSUE)
def test_a_wider_window_counts_more_documents_for_a_payer_nobody_knows(
    case: "Case", days: int, folios: list[str]
) -> None:
    """Without a tax id the evidence says how many documents of that amount there are."""
    _invoices_later(case)
    case.payment("pi_1", 50_000)
    case.rules = {"days_before_issue": days}
    assert case.run().finding("PAYMENT_NO_INVOICE").evidence["candidates"] == len(folios)


def _invoices_later(case: "Case") -> None:
    case.as_of = date(2026, 12, 10)
    days = (date(2026, 10, 6), date(2026, 10, 8), date(2026, 10, 19), date(2026, 11, 18))
    for folio, issue in enumerate(days, start=1):
        case.invoice(str(folio), 50_000, issue_date=issue, due_date=date(2026, 12, 18))


def _candidates(case: "Case", rules: dict[str, Any]) -> set[str]:
    case.rules = rules
    lines = case.run().result.lines
    return set(" ".join([*lines["doc_key"].dropna(), *lines["rivals"].dropna()]).split())


@pytest.mark.parametrize(("narrow", "wide"), [(0, 1), (1, 100), (100, 5_000)])
def test_a_wider_tolerance_never_loses_a_pair(case: "Case", narrow: int, wide: int) -> None:
    """Whatever was applied to a document within a narrow tolerance is applied to it within a wider one."""
    for number, amount in enumerate((50_000, 50_001, 49_950, 49_000, 55_500)):
        case.invoice(str(number), 50_000, customer_tax_id=f"1000000{number}-1")
        case.payment(f"pi_{number}", amount, metadata=f'{{"order_ref": "PED-{number}"}}')
    found = []
    for tolerance in (narrow, wide):
        case.rules = {"amount_tolerance": tolerance}
        lines = case.run().result.lines.dropna(subset=["applied_amount"])
        found.append(set(zip(lines["resource_id"], lines["doc_key"], strict=True)))
    assert len(found[0]) == 5
    assert found[0] <= found[1]


def test_sets_hold_mixed_signs_and_never_nothing() -> None:
    """A sum of nought is made by amounts that cancel out, never by no amounts at all."""
    assert find_sets(np.array([500, -500, 300]), 0, 5) == [(0, 1)]
    assert find_sets(np.array([500, 300]), 0, 5) == []
    assert find_sets(np.array([], dtype=np.int64), 0, 5) == []
