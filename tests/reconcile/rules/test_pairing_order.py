"""Equals paired with equals: the order of payments decides, however the options were gathered."""

from typing import TYPE_CHECKING

import pytest

from reconcile.rules.candidates import pair_in_order
from reconcile.rules.ledger import Ledger, Reason
from reconcile.rules.outcomes import Stage
from reconcile.rules.payouts import place_items
from reconcile.rules.pipeline import open_ledger

if TYPE_CHECKING:
    from tests.reconcile.rules.conftest import Case

ANA = "11111111-1"
EQUALS = Reason(Stage.CUSTOMER, "customer:interchangeable")


@pytest.fixture
def ledger(case: "Case") -> Ledger:
    """Three payments and two documents of one customer and amount, with nothing decided."""
    for folio in ("1", "2"):
        case.invoice(folio, 50_000)
    for number in range(3):
        case.payment(f"pi_{number}", 50_000, sender_tax_id=ANA)
    inputs = case.inputs()
    return open_ledger(place_items(inputs), inputs)[0]


def test_the_oldest_payments_are_paired_whatever_was_found_first(ledger: Ledger) -> None:
    """Of three payments for two documents the newest is left, though its options were listed first."""
    pair_in_order(ledger, {2: [0, 1], 1: [0, 1], 0: [0, 1]}, EQUALS)
    assert ledger.outcome.tolist() == ["interchangeable", "interchangeable", "unexplained"]
    assert ledger.paid.tolist() == [50_000, 50_000]


def test_the_document_due_first_is_taken_whatever_was_found_first(ledger: Ledger) -> None:
    """Of a payment's documents the one due first is taken, though the other was listed first."""
    pair_in_order(ledger, {1: [1, 0], 0: [1, 0]}, EQUALS)
    applied = ledger.applications()
    assert list(zip(applied["payment"], applied["doc"], strict=True)) == [(0, 0), (1, 1)]
